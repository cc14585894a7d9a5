// What the engine and the page's own errors say, in Chinese. The engine speaks
// English: its texts are in traces, which are the same for every reader. So
// they are translated where they are shown. A test collects the texts from the
// sources, and from runs, and each of them must have a line here.

// A hole takes what its kind allows, and the translation has the same holes.
const HOLES = {
  who: "[A-Z]\\d*|client|another session", // a contender, a client
  names: "(?:[A-Z]\\d*|client)(?: and (?:[A-Z]\\d*|client))*",
  n: "-?\\d+",
  time: "-?[\\d.]+(?:ns|µs|ms|[smh])(?:[\\d.]+[ms])*",
  path: "[^\\s,]+",
  call: "lock|trylock|Lock|TryLock|Unlock",
  name: '"(?:[^"\\\\]|\\\\.)*"', // as Go quotes it
  list: "\\[.*\\]", // of choices or kinds of change, as Go quotes them
  do: "[a-z]+(?: [a-z]+)*", // a kind of change
  text: "[^]+", // one that has its own line
  violation: "[^]+", // its kind, a colon, and its text
  error: "[^]*", // an error of a lock, a library or a browser: it stays what it is
};

export const SENTENCES = [
  // Violations.
  ["{names} hold the lock at once", "{names} 同时持有锁"],
  ["{who} has not noticed that it has lost the lock, and {who2} holds it", "{who} 仍以为自己持有锁，实际的持有者却是 {who2}"],
  ["{who} has waited for {time}, and its Lock is to give up after {time2}", "{who} 已经等了 {time}，而它的 Lock 应在 {time2} 后放弃"],
  ["{who} waits for a lock that no other contender holds or asks for", "{who} 在等待锁，却没有别的竞争者持有或请求它"],
  ["{n} times a contender that called Lock later gets in before {who}", "有 {n} 次，比 {who} 更晚调用 Lock 的竞争者先拿到了锁"],
  ["the token of {who} is not above that of the holder before it", "{who} 的隔离令牌不大于前一个持有者的令牌"],
  ["{who} holds the lock, and its session has no node of the lock", "{who} 持有锁，它的会话却没有这个锁的节点"],
  ["{who} gets in with {path}, before {who2} with {path2}", "{who} 凭 {path} 拿到锁，抢在了 {who2} 的 {path2} 之前"],
  ["{names} waits, and nothing can happen any more", "{names} 在等待，但已没有可执行的动作"],
  ["{names} wait, and nothing can happen any more", "{names} 都在等待，但已没有可执行的动作"],
  ["{who} has left {path} behind", "{who} 留下了节点 {path}"],
  ["{path} stays, and no end of a session removes it", "{path} 残留下来，哪个会话结束都不会删除它"],
  ["the session of {who} still exists, though {who2} has unlocked", "{who2} 已经释放锁，{who} 的会话却仍然存在"],
  ["{n} requests, at most {n2} are predicted", "有 {n} 个请求，而预计最多 {n2} 个"],
  ["{n} watch events, at most {n2} are predicted", "有 {n} 个监听事件，而预计最多 {n2} 个"],
  ["{who} has left a watch on {path}", "{who} 在 {path} 上留下了一个监听"],
  ["{who} is not notified that it has lost the lock, though its session has expired", "{who} 的会话已过期，它却没有得知自己已失去锁"],
  ["{n} actions, and no end", "已有 {n} 个动作，仍没有结束"],
  ["{n} packets, and no end", "已有 {n} 个数据包，仍没有结束"],
  ["{who} deletes {path}, the node of {who2}", "{who} 删除了 {who2} 的节点 {path}"],
  ["{who} panics: {error}", "{who} 发生 panic：{error}"],
  ["{call} of {who} fails: {error}", "{who} 的 {call} 失败：{error}"],
  ["TryLock of {who} finds the lock held, and nobody else holds it or waits for it", "{who} 的 TryLock 报告锁被占用，却没有别人持有或等待这个锁"],
  ["{call} of {who} succeeds, though its session ended meanwhile", "{who} 的会话在此期间已结束，{call} 却成功了"],
  ["{call} of {who}, which holds the lock, fails: {error}", "{who} 持有锁，它的 {call} 却失败：{error}"],
  ["TryLock of {who}, which holds the lock, finds it held", "{who} 持有锁，它的 TryLock 却报告锁被占用"],
  ["Unlock of {who}, which has locked twice, fails: {error}", "{who} 加了两次锁，它的 Unlock 却失败：{error}"],
  ["Unlock of {who} reports success, but the lock was lost before", "{who} 的 Unlock 报告成功，其实锁在此之前已经丢失"],
  ["Unlock of {who} says that the lock was lost, though its session lives", "{who} 的会话还在，Unlock 却报告锁已丢失"],
  ["Unlock of {who}, which does not hold the lock, succeeds", "{who} 并不持有锁，它的 Unlock 却成功了"],
  ["Unlock of {who}, which does not hold the lock, says {error}", "{who} 并不持有锁，它的 Unlock 返回：{error}"],
  ["{n} holders have added one each, but the highest number that was written to /stock is {n2}: one addition is lost", "{n} 个持有者各加了一，写入 /stock 的最大数却是 {n2}：有一次加一丢失了"],
  ["{n} calls of Lock are on the stacks of two contenders", "两个竞争者的栈上共有 {n} 层 Lock 调用"],

  ["no kind of violation is named", "没有指明哪一种违例"],
  ["not a film: it has an instant that is not a number of nanoseconds from 0 to {n}", "不是一次录制的运行：其中有一个时刻不是 0 到 {n} 之间的纳秒数"],

  // What a lock is known to do wrong.
  ["the reply to create is lost, and the node stays until the session ends", "create 的应答丢失，节点一直留到会话结束"],
  ["Unlock looks, the session ends, and Unlock deletes the node of the next holder", "Unlock 刚查看完，会话就结束了，于是 Unlock 删除的是下一个持有者的节点"],
  ["the session is ended before its time, and Unlock hands the lock on before the client has noticed", "会话被提前结束，客户端还未得知，Unlock 就已在进程内交接了锁"],
  ["the numbers pass 2³¹-1, and then the names do not sort by number", "序号超过 2³¹-1 之后，按名字排序就不再是按序号排序"],

  // What a contender comes to.
  ["panics", "发生 panic"],
  ["gets an error: {error}", "得到错误：{error}"],
  ["finds the lock held", "发现锁被占用"],
  ["gets the lock in a new session", "在新会话里拿到锁"],
  ["holds the lock", "持有锁"],
  ["holds the lock once more", "再次拿到锁"],
  ["does not get it once more", "没能再次拿到锁"],
  ["has unlocked once", "释放了一次"],
  ["cannot unlock once", "释放一次失败"],
  ["unlocks", "正在释放锁"],
  ["has unlocked", "已释放锁"],
  ["finds that the lock was lost", "得知锁已丢失"],
  ["cannot unlock: {error}", "释放锁失败：{error}"],
  ["fails to unlock and tries again", "释放锁失败，再试一次"],
  ["Unlock fails, too: {error}", "Unlock 也失败：{error}"],

  // Notes of a film.
  ["is connected again", "重新连上了"],
  ["cannot connect", "无法连接"],
  ["is notified that its session has expired", "得知自己的会话已过期"],
  ["is connected, in a new session", "已连上，但会话是新的"],
  ["its ctx ends", "它的 ctx 结束"],
  ["{time} pass", "过去了 {time}"],
  ["gets no more requests through, until its session has expired", "它的请求都发不出去，直到会话过期"],
  ["{do} is not possible: {text}", "不能“{do}”：{text}"],
  ["it is not stopped", "它没有停顿"],
  ["it is stopped", "它正在停顿"],
  ["the lock takes no ctx", "这个锁的调用不带 ctx"],
  ["it does not wait", "它没有在等待"],
  ["it is cut off until its session has expired", "在会话过期之前，它一直断线"],
  ["it is not connected", "它没有连接"],

  // Errors of the engine.
  ["this is not a request: {error}", "引擎读不懂这个请求：{error}"],
  ["the engine has no request {name}", "引擎不认识 {name}"],
  ["there is no trace", "没有给出 trace"],
  ["there is no lock {name}", "没有名为 {name} 的锁"],
  ["the explorer plays no lock of the exercise {folder}", "探索器不运行练习 {folder} 的锁"],
  ["a latency of {error} ms is not possible: from 1 to 10000", "延迟不能是 {error} ms：应为 1 到 10000"],
  ["a latency of {time} is not possible", "延迟不能是 {time}"],
  ["{n} contenders are not possible here: from 1 to 6", "这里不能有 {n} 个竞争者：应为 1 到 6"],
  ["{n} contenders are not possible: from 1 to {n2}", "不能有 {n} 个竞争者：应为 1 到 {n2}"],
  ["{name} is not a change; these are: {list}", "{name} 不是一种干预；可用的有：{list}"],
  ["a change at {time} is not possible", "不能在 {time} 干预"],
  ["{name} is not a client or contender here", "这里没有名为 {name} 的客户端或竞争者"],
  ["the run does not end: {violation}", "这次运行不会结束：{violation}"],
  ["the schedule does not end: {violation}", "这个调度不会结束：{violation}"],
  ["choice {n} is {name}, but these are possible: {list}", "第 {n} 个选择是 {name}，但可选的只有：{list}"],
  ["choice {n} had {n2} possibilities, and now {list}", "第 {n} 个选择原有 {n2} 种可能，现在是：{list}"],
  ["the schedule ends after {n} of {n2} choices", "这个调度有 {n2} 个选择，但在第 {n} 个之后就结束了"],
  ["the trace does not repeat: {text}", "这个 trace 不能重现：{text}"],
  ["line {n} was {name}, and now there is none", "第 {n} 行原来是 {name}，现在没有这一行"],
  ["line {n} was {name} and is {name2}", "第 {n} 行原来是 {name}，现在是 {name2}"],
  ["there are {n} lines, and were {n2}", "现在有 {n} 行，原来有 {n2} 行"],
  ["the run was ended by the test that it runs in", "所在的测试中止了这次运行"],
  ["panic: {error}", "发生 panic：{error}"],

  // Errors of the page.
  ["not a time: {error}", "不是时间：{error}"],
  ["too long a time: {error}", "时间太长：{error}"],
  ["not a change: {error}", "不是一种干预：{error}"],
  ["not an address: {error}", "不是地址：{error}"],
  ["not JSON: {error}", "不是 JSON：{error}"],
  ["neither a film nor a trace", "既不是一次录制的运行，也不是 trace"],
  ["not a film: it needs clients, packets and marks", "不是一次录制的运行：它必须有 clients、packets 和 marks"],
  ["the worker does not start", "worker 无法启动"],
  ["engine.wasm: {n} {error}", "取不到 engine.wasm：{n} {error}"],
  ["the engine has ended{error}", "引擎已退出{error}"],
];

const hole = /\{([a-z]+)(\d*)\}/g;
let compiled = null;

function compile() {
  compiled = SENTENCES.map(([en, zh]) => {
    const holes = [];
    const pattern = en.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(hole, (all, kind) => { holes.push([all, kind]); return "(" + HOLES[kind] + ")"; });
    return { pattern: new RegExp("^" + pattern + "$"), holes, zh };
  });
}

// inChinese returns a text of the engine in Chinese, undefined if it has no
// line. Words are the page's own, in Chinese: the engine's texts name kinds of
// violation and of change, which have words already.
export function inChinese(text, words) {
  if (!compiled) compile();
  for (const s of compiled) {
    const m = s.pattern.exec(text);
    if (!m) continue;
    const values = new Map();
    let all = true;
    s.holes.forEach(([name, kind], i) => {
      const value = fill(kind, m[i + 1], words);
      if (value === undefined) all = false;
      values.set(name, value);
    });
    if (all) return s.zh.replace(hole, name => values.get(name));
  }
  return undefined;
}

function fill(kind, value, words) {
  switch (kind) {
    case "who": return value === "another session" ? "另一个会话" : value;
    case "names": return value.split(" and ").join("、");
    case "do": return words["do." + value];
    case "text": return inChinese(value, words);
    case "list": return value.slice(1, -1).replace(new RegExp(HOLES.name, "g"), name => {
      const choice = choiceInChinese(name.slice(1, -1), words);
      return choice ? name + "（" + choice + "）" : name;
    }).replaceAll('" "', '"、"').replaceAll('） "', '）、"');
    case "violation": {
      const i = value.indexOf(": "), known = words["violation." + value.slice(0, i)], text = inChinese(value.slice(i + 2), words);
      return known && text && known + "：" + text;
    }
  }
  return value;
}

// whoInChinese names what acts in a choice: a contender, a client, the server, all,
// or a gap, which is a place in a listing where the scheduler may let others
// run.
export function whoInChinese(who, words) { return words["who." + who] || who.replace(/^gap /, "代码间隙 "); }

// choiceInChinese returns a choice of a trace in Chinese, undefined if it is
// none.
export function choiceInChinese(choice, words) {
  const m = /^([^:]+): (.+)$/.exec(choice), what = m && words["do." + m[2]];
  return what && whoInChinese(m[1], words) + "：" + what;
}
