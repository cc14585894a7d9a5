package chinese

import "sync"

// Engine is the book of what the explorer, the lab's engine and the lab's page say. The
// command docs/lab writes it into the page, where chinese.js translates with it.
var Engine = &Book{twins: sync.OnceValue(func() map[string]string {
	return joined(violations, known, happenings, engineErrors, pageErrors)
})}

// violations are what goes wrong in a schedule. The graders say it, too.
var violations = map[string]string{
	"two holders: %s":                              "两个持有者：%s",
	"hang: %s":                                     "永远等待：%s",
	"endless: %s":                                  "永不结束：%s",
	"token does not grow: %s":                      "令牌没有增大：%s",
	"order overturned: %s":                         "插队：%s",
	"node left: %s":                                "残留节点：%s",
	"watch left: %s":                               "残留监听：%s",
	"goroutine left: %s":                           "残留 goroutine：%s",
	"error not allowed: %s":                        "不应出现的错误：%s",
	"loss not reported: %s":                        "失去锁却未报告：%s",
	"loss reported too late: %s":                   "失去锁，报告太迟：%s",
	"deletes another's node: %s":                   "删除了别人的节点：%s",
	"holder without a node: %s":                    "持有者没有节点：%s",
	"more requests or wake-ups than predicted: %s": "超出公式的预测：%s",
	"waits too long: %s":                           "等待太久：%s",
	"starves: %s":                                  "饿死：%s",
	"session left: %s":                             "残留会话：%s",
	"own check fails: %s":                          "自检失败：%s",
	"holder outlives its session: %s":              "会话已结束，仍以为持有锁：%s",

	"%s hold the lock at once":                                                     "%s 同时持有锁",
	"%s has not noticed that it has lost the lock, and %s holds it":                "%s 仍以为自己持有锁，实际的持有者却是 %s",
	"%s has waited for %v, and its Lock is to give up after %v":                    "%s 已经等了 %v，而它的 Lock 应在 %v 后放弃",
	"%s waits for a lock that no other contender holds or asks for":                "%s 在等待锁，却没有别的竞争者持有或请求它",
	"%d times a contender that called Lock later gets in before %s":                "有 %d 次，比 %s 更晚调用 Lock 的竞争者先拿到了锁",
	"the token of %s is not above that of the holder before it":                    "%s 的隔离令牌不大于前一个持有者的令牌",
	"%s holds the lock, and its session has no node of the lock":                   "%s 持有锁，它的会话却没有这个锁的节点",
	"%s gets in with %s, before %s with %s":                                        "%s 凭 %s 拿到锁，抢在了 %s 的 %s 之前",
	"%s waits, and nothing can happen any more":                                    "%s 在等待，但已没有可执行的动作",
	"%s wait, and nothing can happen any more":                                     "%s 都在等待，但已没有可执行的动作",
	"%s has left %s behind":                                                        "%s 留下了节点 %s",
	"%s stays, and no end of a session removes it":                                 "%s 残留下来，哪个会话结束都不会删除它",
	"the session of %s still exists, though %s has unlocked":                       "%[2]s 已经释放锁，%[1]s 的会话却仍然存在",
	"%d requests, at most %d are predicted":                                        "有 %d 个请求，而预计最多 %d 个",
	"%d watch events, at most %d are predicted":                                    "有 %d 个监听事件，而预计最多 %d 个",
	"%s has left a watch on %s":                                                    "%s 在 %s 上留下了一个监听",
	"%s is not notified that it has lost the lock, though its session has expired": "%s 的会话已过期，它却没有得知自己已失去锁",
	"%d actions, and no end":                                                       "已有 %d 个动作，仍没有结束",
	"%d packets, and no end":                                                       "已有 %d 个数据包，仍没有结束",
	"%s deletes %s, the node of %s":                                                "%[1]s 删除了 %[3]s 的节点 %[2]s",
	"%s panics: %s":                                                                "%s 发生 panic：%s",
	"lock of %s fails: %s":                                                         "%s 的 Lock 失败：%s",
	"trylock of %s fails: %s":                                                      "%s 的 TryLock 失败：%s",
	"Lock of %s, which holds the lock, fails: %s":                                  "%s 持有锁，它的 Lock 却失败：%s",
	"TryLock of %s, which holds the lock, fails: %s":                               "%s 持有锁，它的 TryLock 却失败：%s",
	"lock of %s succeeds, though its session ended meanwhile":                      "%s 的会话在此期间已结束，Lock 却成功了",
	"trylock of %s succeeds, though its session ended meanwhile":                   "%s 的会话在此期间已结束，TryLock 却成功了",
	"Unlock of %s fails: %s":                                                       "%s 的 Unlock 失败：%s",
	"TryLock of %s finds the lock held, and nobody else holds it or waits for it":  "%s 的 TryLock 报告锁被占用，却没有别人持有或等待这个锁",
	"TryLock of %s, which holds the lock, finds it held":                           "%s 持有锁，它的 TryLock 却报告锁被占用",
	"Unlock of %s, which has locked twice, fails: %s":                              "%s 加了两次锁，它的 Unlock 却失败：%s",
	"Unlock of %s reports success, but the lock was lost before":                   "%s 的 Unlock 报告成功，其实锁在此之前已经丢失",
	"Unlock of %s says that the lock was lost, though its session lives":           "%s 的会话还在，Unlock 却报告锁已丢失",
	"Unlock of %s, which does not hold the lock, succeeds":                         "%s 并不持有锁，它的 Unlock 却成功了",
	"Unlock of %s, which does not hold the lock, says %s":                          "%s 并不持有锁，它的 Unlock 返回：%s",
	"%d holders have added one each, but the highest number that was written to /stock is %d: one addition is lost": "%d 个持有者各加了一，写入 /stock 的最大数却是 %d：有一次加一丢失了",
	"%d calls of Lock are on the stacks of two contenders":                                                          "两个竞争者的栈上共有 %d 层 Lock 调用",
	"choice %d is %q, but these are possible: %s":                                                                   "第 %d 个选择是 %q，但可能的选择只有：%s",
	"the schedule ends after %d of %d choices":                                                                      "调度有 %[2]d 个选择，但在第 %[1]d 个之后就结束了",
	"panic: %s": "panic：%s",
}

// known is what a lock is known to do wrong.
var known = map[string]string{
	"the reply to create is lost, and the node stays until the session ends":                           "create 的应答丢失，节点一直留到会话结束",
	"Unlock looks, the session ends, and Unlock deletes the node of the next holder":                   "Unlock 刚查看完，会话就结束了，于是 Unlock 删除的是下一个持有者的节点",
	"the session is ended before its time, and Unlock hands the lock on before the client has noticed": "会话被提前结束，客户端还未得知，Unlock 就已在进程内交接了锁",
	"the numbers pass 2³¹-1, and then the names do not sort by number":                                 "序号超过 2³¹-1 之后，按名字排序就不再是按序号排序",
}

// happenings are what becomes of a contender or a client, whose name is before it, and
// why a change is not possible.
var happenings = map[string]string{
	"panics":                          "发生 panic",
	"gets an error: %s":               "得到错误：%s",
	"finds the lock held":             "发现锁被占用",
	"gets the lock in a new session":  "在新会话里拿到锁",
	"holds the lock":                  "持有锁",
	"holds the lock once more":        "再次拿到锁",
	"does not get it once more":       "没能再次拿到锁",
	"has unlocked once":               "释放了一次",
	"cannot unlock once":              "释放一次失败",
	"unlocks":                         "正在释放锁",
	"has unlocked":                    "已释放锁",
	"finds that the lock was lost":    "得知锁已丢失",
	"cannot unlock: %s":               "释放锁失败：%s",
	"fails to unlock and tries again": "释放锁失败，再试一次",
	"Unlock fails, too: %s":           "Unlock 也失败：%s",

	"is connected again":                       "重新连上了",
	"cannot connect":                           "无法连接",
	"is notified that its session has expired": "得知自己的会话已过期",
	"is connected, in a new session":           "已连上，但会话是新的",
	"its ctx ends":                             "它的 ctx 结束",
	"%v pass":                                  "过去了 %v",
	"gets no more requests through, until its session has expired": "它的请求都发不出去，直到会话过期",
	"%s is not possible: %s":                      "不能“%s”：%s",
	"it is not stopped":                           "它没有停顿",
	"it is stopped":                               "它正在停顿",
	"the lock takes no ctx":                       "这个锁的调用不带 ctx",
	"it does not wait":                            "它没有在等待",
	"it is cut off until its session has expired": "在会话过期之前，它一直断线",
	"it is not connected":                         "它没有连接",
}

var engineErrors = map[string]string{
	"no kind of violation is named":                       "没有指明哪一种违例",
	"this is not a request: %s":                           "引擎读不懂这个请求：%s",
	"the engine has no request %q":                        "引擎不认识 %q",
	"there is no trace":                                   "没有给出 trace",
	"there is no lock %q":                                 "没有名为 %q 的锁",
	"the explorer plays no lock of the exercise %s":       "探索器不运行练习 %s 的锁",
	"a latency of %s ms is not possible: from 1 to 10000": "延迟不能是 %s ms：应为 1 到 10000",
	"a latency of %v is not possible":                     "延迟不能是 %v",
	"%d contenders are not possible here: from 1 to 6":    "这里不能有 %d 个竞争者：应为 1 到 6",
	"%d contenders are not possible: from 1 to %d":        "不能有 %d 个竞争者：应为 1 到 %d",
	"%q is not a change; these are: %s":                   "%q 不是一种干预；可用的有：%s",
	"a change at %v is not possible":                      "不能在 %v 干预",
	"%q is not a client or contender here":                "这里没有名为 %q 的客户端或竞争者",
	"the run does not end: %s":                            "这次运行不会结束：%s",
	"the schedule does not end: %s":                       "这个调度不会结束：%s",
	"choice %d had %d possibilities, and now %s":          "第 %d 个选择原有 %d 种可能，现在是：%s",
	"the trace does not repeat: %s":                       "这个 trace 不能重现：%s",
	"line %d was %q, and now there is none":               "第 %d 行原来是 %q，现在没有这一行",
	"line %d was %q and is %q":                            "第 %d 行原来是 %q，现在是 %q",
	"there are %d lines, and were %d":                     "现在有 %d 行，原来有 %d 行",
	"the run was ended by the test that it runs in":       "所在的测试中止了这次运行",
}

var pageErrors = map[string]string{
	"not a time: %s":             "不是时间：%s",
	"too long a time: %s":        "时间太长：%s",
	"not a change: %s":           "不是一种干预：%s",
	"not an address: %s":         "不是地址：%s",
	"not JSON: %s":               "不是 JSON：%s",
	"neither a film nor a trace": "既不是一次录制的运行，也不是 trace",
	"not a film: it has an instant that is not a number of nanoseconds from 0 to %d": "不是一次录制的运行：其中有一个时刻不是 0 到 %d 之间的纳秒数",
	"not a film: it needs clients, packets and marks":                                "不是一次录制的运行：它必须有 clients、packets 和 marks",
	"the worker does not start":                                                      "worker 无法启动",
	"engine.wasm: %d %s":                                                             "取不到 engine.wasm：%d %s",
	"the engine has ended%s":                                                         "引擎已退出%s",
}
