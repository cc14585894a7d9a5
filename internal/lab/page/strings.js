// All words of the page, in two languages. A word that one language lacks is
// found by checkStrings, which the page runs when it opens. The engine's texts come in both:
// { en, zh }, or a string that is the same in both.
export const WORDS = {
  en: {
    title: "The lab",
    tagline: "The real locks, the real client library and a ZooKeeper server run in this page. Nothing is simulated; only the clock is.",
    lock: "Lock", versus: "beside", none: "nothing", contenders: "Contenders", sessions: "Sessions", apart: "one each", shared: "one for all",
    latency: "Latency", seed: "Seed", another: "Another order", more: "More settings",
    "group.steps": "The steps", "group.museum": "The articles' listings", "group.broken": "Broken on purpose", "group.exercises": "Exercises",
    watch: "Watch", schedule: "You are the scheduler", find: "Find it for me",
    "watch.tip": "Watch a run, and interfere", "schedule.tip": "Every packet waits for your click", "find.tip": "The explorer looks for a schedule that breaks the lock",
    play: "Play", pause: "Pause", stepBack: "One instant back", stepOn: "One instant on", eventBack: "To the event before", eventOn: "To the next event",
    holdBack: "To the hold before", holdOn: "To the next hold", violationOn: "To the next violation", violationBack: "To the violation before", toStart: "To the start", toEnd: "To the end",
    speed: "Speed", "speed.is": "1 s = {0}", "speed.tip": "So much of the run is shown in a second.", atMost: "at most ", time: "Time", event: "event", hold: "hold", violation: "violation",
    language: "中文", languageTip: "用中文", theme: "Light or dark", help: "Help and keys", share: "Copy link", shared_ok: "The link is copied. It holds the whole scene.", open: "Open a file", close: "Close",
    server: "ZooKeeper", requests: "requests", events: "events", wakeups: "wake-ups", wasted: "woken for nothing", took: "time", measured: "as measured", formula: "formula",
    "requests.tip": "Requests that the contenders have sent, pings aside", "events.tip": "Watch events that have arrived at clients", "wakeups.tip": "Contenders that an event has woken", "wasted.tip": "Contenders that an event has woken, and that woke again before they held the lock", "took.tip": "Until the last contender is done",
    "opening.all": "wake all", "opening.one": "wake one", "opening.leave": "Try it yourself ›", "opening.seconds": "{0} s",
    "of": "of",
    "state.outside": "outside", "state.waits": "waits", "state.holds": "holds", "state.unlocks": "unlocks", "state.done": "done", "state.failed": "failed", "state.gave up": "gave up",
    "conn.cut off": "cut off", "conn.closed": "closed", "conn.expired": "expired", "conn.stopped": "stopped", "conn.unconnected": "not connected",
    "lost.unaware": "lost, unaware", "lost.knows": "lost, notified",
    "sentence.outside": "{0} has not asked for the lock yet.", "sentence.waits": "{0} waits for the lock.", "sentence.holds": "{0} holds the lock.", "sentence.unlocks": "{0} gives the lock back.", "sentence.done": "{0} is done.", "sentence.failed": "{0} has failed: {1}",
    "sentence.connected": "{0} is connected.", "sentence.unconnected": "{0} is not connected yet.", "sentence.cut off": "{0} is cut off. Its session, and so its znodes, live on for now.", "sentence.closed": "{0} has closed its client, and its session has ended.", "sentence.expired": "The session of {0} has ended. Its znodes are gone.", "sentence.stopped": "{0} is stopped, as by a long garbage collection. Its session ends meanwhile.", "sentence.runs on": "{0} runs on. It has not noticed the time in between.",
    "sentence.unaware": "{0} has lost the lock and has not noticed.", "sentence.knows": "{0} has been notified that it has lost the lock.",
    "stale.stopped": "{0} is stopped, and its session has ended: it has lost the lock and cannot notice.", stale: "The session of {0} has ended: it has lost the lock and has not noticed.",
    "stale.token": "The next holder has a larger fencing token than {0}, whose token is {1}. From then on, writes of {0} are refused.", "stale.noToken": "This lock has no fencing token: nothing refuses writes of {0}.",
    "sentence.made": "The znode {1} of {0} is there.", "sentence.gone": "The znode {1} is gone.",
    "sentence.set": "{0} will get one event when {1} changes.", "sentence.setChildren": "{0} will get one event when the children of {1} change.", "sentence.unset": "The watch of {0} on {1} is used up.",
    "sentence.wakeup": "{0} wakes up.", "sentence.violation": "{0}", "sentence.start": "Nothing has happened yet.",
    "explain.create": "{0} asks for a znode of its own: {1}.", "explain.delete": "{0} asks to delete {1}.", "explain.exists": "{0} asks whether {1} exists.", "explain.getData": "{0} reads {1}.", "explain.getChildren": "{0} asks for the children of {1}: the queue.",
    "explain.setData": "{0} writes to {1}.", "explain.sync": "{0} asks its server to catch up with the leader.", "explain.setWatches": "{0} has connected again and sets its watches again.", "explain.multi": "{0} sends several changes that happen together or not at all.", "explain.closeSession": "{0} ends its session.", "explain.connect": "{0} connects.", "explain.other": "{0} sends {2} for {1}.",
    "explain.exists watched": "{0} asks whether {1} exists. It asks for one event when that changes.", "explain.getData watched": "{0} reads {1}. It asks for one event when that changes.", "explain.getChildren watched": "{0} asks for the children of {1}: the queue. It asks for one event when they change.",
    "reply.made": "{0} gets the reply: its znode was made: {1}.", "reply.ok": "{0} gets the reply: its {1} was carried out.", "reply.names0": "{0} gets the list of children: it is empty.", "reply.names1": "{0} gets the list of children, 1 name: {2}.", "reply.names": "{0} gets the list of children, {1} names: {2}",
    "reply.node exists": "{0} gets the reply: the node exists, so another contender holds the lock.", "reply.no node": "{0} gets the reply: there is no such node any more.", "reply.error": "{0} gets the reply: {1}.", "reply.exists": "{0} gets the reply: the node exists.",
    "event.deleted": "{0} gets the event: {1} was deleted. The watch is used up.", "event.created": "{0} gets the event: {1} was created. The watch is used up.", "event.childrenChanged": "{0} gets the event: the children of {1} have changed. The watch is used up.", "event.dataChanged": "{0} gets the event: the data of {1} has changed. The watch is used up.", "event.other": "{0} gets the event: {2} {1}. The watch is used up.",
    "lost.request": "This request is lost with the connection: the server never sees it.", "lost.reply": "This reply is lost with the connection: the server has done it, but {0} gets no answer.", "lost.event": "This event is lost with the connection.",
    "on.way": "Left at {0}, arrives at {1}.", "on.way.lost": "Left at {0}, lost at {1}.",
    interfere: "Interfere with {0} at {1}", "do.lose request": "Lose its request", "do.lose reply": "Lose the reply", "do.cut": "Cut its connection", "do.expire": "Let its session expire", "do.stop": "Stop it", "do.runs on": "Let it run on", "do.end ctx": "End its ctx",
    "tip.lose request": "The packet and its connection are lost. The server never sees the request.", "tip.lose reply": "The server carries the request out; the reply and the connection are lost.", "tip.cut": "The connection breaks; the session lives on, and the client connects again.", "tip.expire": "It is cut off for longer than its session timeout. Its znodes are deleted.", "tip.stop": "As by a long garbage collection. Its session ends meanwhile.", "tip.runs on": "It goes on as if no time had passed.", "tip.stall": "Its requests stay inside it until its session has expired.", "tip.time passes": "18 seconds pass for all. Requests meanwhile are carried out at once.", "tip.a day passes": "A day passes for all. Requests meanwhile are carried out at once.", "tip.refuse": "The clients are not connected at the start, and the first connection of one is refused. The client library tries again.", "tip.parent goes": "The server removes the queue's parent while it is empty, as it does with containers.", "tip.end ctx": "The caller stops waiting.",
    "do.reconnect": "Let it reconnect", "do.request": "Carry out its request", "do.reply": "Deliver the reply", "do.event": "Deliver the event", "do.unlock": "Let it unlock", "do.run on": "Let it run on", "do.stall": "Let nothing it sends get through", "do.time passes": "Let time pass", "do.a day passes": "Let a day pass", "do.refuse": "Refuse its connection", "do.parent goes": "Remove the empty parent", "do.unlock again": "Let it unlock again", "do.node goes": "Delete its node", "do.node is set": "Write its node again", "do.ctx ends after its next look": "End its ctx after its next look", "do.ctx ends after its next look but one": "End its ctx after its next look but one", "who.all": "all", "who.server": "server", "do.go on": "Let it go on",
    "name.lose request": "{0} loses a request", "name.lose reply": "{0} loses a reply", "name.cut": "{0} is cut off", "name.expire": "{0}'s session expires", "name.stop": "{0} stops", "name.runs on": "{0} runs on", "name.end ctx": "{0}'s ctx ends",
    runs: "Runs", asItComes: "as it comes", compare: "Compare with the original run", compareOff: "No comparison", undo: "Undo", rename: "Rename", nameOf: "Name of this run", without: "before", withit: "what if",
    whatIfHint: "Click a client or a packet to interfere: the run branches from this moment.",
    goal: "Goal", goalReached: "Goal reached", endsWith: "It ends with", levels: "Levels", "levels.tip": "A game with a lesson: the goals in their order", "levels.of": "Levels: {0} of {1}", nextLevel: "Next level",
    "levels.about": "In the first chapter you only watch. In every other level you decide what happens next, until the goal is reached. The last two cannot be won. In each chapter the goals that random play reaches most often come first.",
    "levels.alone": "reached", "levels.hints": "reached with hints", "levels.shown": "reached after it was shown", "levels.chance": "Random play reaches it in {0} % of the runs",
    "level.hint": "Hint {0} of {1}", "level.plays": ", which plays {0} choices", "level.watch": "Watch it break", "level.held": "It held.", "key.g": "the levels", "key.i": "a hint", choicesMade: "Your choices ({0})", yourTurn: "Your turn: what happens next?", over: "The run is over. Nothing broke.", broke: "Broken", brokeElse: "Broken, but not the goal", notTwo: "A holder whose session has ended does not count as one of the two.", undoChoice: "Take back", restart: "From the start", whatHappens: "what happens", packetsToo: "replies and events wait, too", noEnabled: "Nothing can happen any more.", showMe: "Show me", rest: "Let the rest happen", save: "Save the trace", choicesFound: "The schedule, as choices ({0})", fault1: "1 fault", faultN: "{0} faults", butKnown: "The faults that its page lists are shown below.", withCure: "The same with the lock that cures it", besideCure: "Beside the lock that cures it", withBug: "Back to the article's lock",
    faultKinds: "What may go wrong", howMany: "faults, at most", faultsAre: "{0}; at most {1}", faultsMade: "; {0} chosen", seconds: "s", start: "Search", stop: "Stop", searching: "Searching: {0} schedules, {1} a second", foundIt: "Found after {0} schedules: {1}", foundNone: "{0} schedules of {1} with {2} contenders and at most {3}: these are all schedules, and none breaks it.", foundNoneIncomplete: "{0} schedules of {1} with {2} contenders and at most {3}, then the time was over: none of them breaks it.", openTrace: "Watch it", stopped: "Stopped.", known: "Known, and on its page: {0}",
    findHint: "The explorer plays the orders of messages one after another, the real code each time, until one breaks the lock.",
    "kind.lose request": "a lost request", "kind.lose reply": "a lost reply", "kind.cut": "a broken connection", "kind.expire": "an expired session", "kind.stop": "a stopped client", "kind.stall": "a stalled client", "kind.end ctx": "an ended ctx", "kind.time passes": "time that passes", "kind.a day passes": "a day that passes", "kind.refuse": "a refused connection", "kind.parent goes": "a parent that goes", "kind.node goes": "a node that goes", "kind.node is set": "a node that is written", "kind.ctx ends after its next look": "a ctx that ends after a look", "kind.ctx ends after its next look but one": "a ctx that ends after two looks",
    loading: "The engine starts …", running: "{0} runs …", takesLong: "This run takes long.", stopRun: "Stop it", runStopped: "Stopped. Choose fewer contenders, or another lock.", engineError: "The engine says:", compileError: "Does not compile. The page still runs the last version that compiled.", building: "Building …", badFile: "{0} cannot be opened: {1}", badLink: "The address cannot be read: {0}", retry: "Try again", unknownLock: "There is no lock called {0}.",
    fromFile: "from {0}", recorded: "A recorded run", backToLocks: "Back to the locks",
    instant: "{0} of {1}", soFar: "{0} of {1} …", later: "{0} pass", legend: "What you see",
    "legend.request": "request", "legend.queued": "in line at the server", "legend.later": "right of the line: still to come", "legend.reply": "reply", "legend.event": "event: wakes", "legend.watch": "watch", "legend.lost": "lost", "legend.holds": "holds", "legend.unlocks": "releases", "legend.waits": "waits", "legend.unaware": "lost the lock, unaware",
    diagram: "Time, with the packets as lines between clients and server. Drag to move through time.", stage: "The stage: server above, clients below", zoomIn: "Closer", zoomOut: "Further away",
    keys: "Keys", about: "About this page",
    "about.1": "Each panel is a run of a real lock. The ZooKeeper server with the znodes of the queue is above, the clients are below. Packets travel between them. A thread is a watch: it leads from a waiter to the znode that it waits for.",
    "about.2": "Below each stage is the same run as a diagram: time runs to the right, one lane for each client, the server on top. Drag it, or the slider, through time, forwards and back.",
    "about.3": "Click a client or a packet to interfere: lose a reply, cut a connection, let a session expire. The run goes on from that moment, as a branch.",
    "about.code": "In the code a full letter is at the line at which that contender is, and a dotted one at the line that has called it. A hollow letter is a holder: it has left the lock's code, at that line.",
    "about.speed": "1× plays a request and its reply in about a second; beside the speed is how much of the run passes in one second.",
    "about.4": "The address holds everything you see. A link is a run.",
    "about.5": "A trace of the explorer or a recorded run (JSON) can be dropped onto the page.",
    "key.space": "play, pause", "key.arrows": "one instant back, on", "key.shift": "event before, next event", "key.h": "next hold (Shift: before)", "key.v": "next violation (Shift: before)", "key.home": "start, end", "key.speed": "slower, faster", "key.letter": "choose the next, the previous client", "key.packet": "choose the packet before, the next packet", "key.enter": "interfere with the chosen client or packet", "key.u": "undo this branch", "key.c": "compare with the original run", "key.l": "English, 中文", "key.d": "light, dark", "key.esc": "close", "key.q": "this help", "key.zoom": "diagram closer, further away", "key.digits": "scheduler: take the choice with this digit", "key.back": "scheduler: take back",
    "at": "at", fullStop: ".", colon: ": ", comma: ", ", sentenceGap: " ", names: "{0} names", packet: "packet", client: "client", nothingThere: "(gone)",
    inGap: "{0}, kept between two lines:",
    code: "Code", "code.tip": "The lock's source, and at which line each contender is", "key.k": "the lock's source", sourceOf: "The lock's source: {0}", file: "File",
    "story.tell": "Show its story", "story.was": "At {0}: ", "story.next": "Next ›", "story.back": "Back to the caption before", "story.start": "Next plays to the first caption. You can go back and forth in time.",
    predict: "Predict", "predict.tip": "Before each release: say what will happen, then watch it", "predict.now": "{0} is about to release the lock.", "predict.who": "Which contender wakes first?", "predict.n": "How many requests are sent until the next one holds it?", "predict.nobody": "none", "predict.play": "Play the answer", "predict.next": "To the next release",
    "predict.idle": "Play. Before each release, the page stops and asks.", "predict.none": "In this run no waiter gets the lock after a release.", "predict.wait": "The answer plays …", "predict.right": "{0}: right.", "predict.wrong": "{0}: wrong.", "predict.saidWho": "First to wake, {0}", "predict.saidN": "Requests, {0}", "predict.score": "{0} of {1} right",
    "predict.noEvent": "No event was sent: no waiter watched what the release has changed.", "predict.woke": "The release woke {0} of {1} waiters: {2}. The event about {4} reached {3} first.", "predict.woke1": "The release woke {0} of {1} waiters: only {3} watched {4}.", "predict.firstAtServer": "{0} holds the lock next, because its create was the first at the server.", "predict.firstInQueue": "{0} holds the lock next, because its node is the first in the queue.", "predict.sent": "Until {0} held the lock, {1} requests were sent: {2}.",
    inspect: "Inspect", "inspect.tip": "Look into a znode, a watch or a contender: click it", "inspect.node": "Znode", "inspect.watch": "Watch", "inspect.client": "Contender", "inspect.path": "path", "inspect.data": "data", "inspect.empty": "empty", "inspect.stock": "(number {0}, token {1})", "inspect.version": "version", "inspect.owner": "ephemeral owner", "inspect.ofSession": "session {0}", "inspect.persistent": "none: it is persistent", "inspect.made": "created", "inspect.before": "before the start", "inspect.watches": "watched by", "inspect.none": "none",
    "inspect.state": "state", "inspect.notThere": "does not exist at this instant", "inspect.usedUp": "gone: an event has used it up, or it is not set yet ({0})", "inspect.whose": "of", "inspect.kind": "kind", "inspect.of.node": "node: an event when it is deleted or its data changes", "inspect.of.children": "children: an event when the list changes", "inspect.set": "set", "inspect.since": "since", "inspect.connection": "connection", "inspect.session": "session", "inspect.token": "fencing token", "inspect.nodes": "its znodes", "inspect.itsWatches": "its watches", "conn.connected": "connected",
    cost: "Cost", "cost.tip": "What an acquisition costs, for 2 to 100 contenders", "cost.chart": "A chart: {0} per acquisition, by the number of contenders", "cost.point": "{0}, n = {1}: {2} requests, {3} events", "cost.counting": "Playing and counting …", "cost.broken": "this run breaks the lock, and does not count.", "cost.each": "{0} requests and {1} events per acquisition; {2} and {3} in all.", "cost.soFar": "Acquisitions so far: {0}, with {1} requests each.",
    "cost.hint": "Each point is a run that was played and counted. A curve is the formula of the lock's page: it is the most that is sent without a fault. The ring is the run below, up to the instant that is shown.",
    "packet.ok": "{0} ok", "packet.created": "created!", "packet.deleted": "deleted!", "packet.childrenChanged": "children!", "packet.dataChanged": "changed!", projector: "Projector", "projector.tip": "Large letters, one bar, and stage, diagram and code in one window", "projector.leave": "Back to the whole page", "key.f": "for a projector, and back",
    fate: "When was it too late?", "fate.start": "before the first choice", "fate.after": "after choice {0}, {1}", "fate.counting": "Random continuations of each beginning are played, with the faults that may still happen …", "fate.none": "“{0}” can no longer be reached: no continuation that was tried ends so. Take back a choice.", "fate.open": "It can still go well: not every continuation ends in “{0}”.", "fate.always": "From the start, every continuation ends in “{0}”.", "fate.sealed": "With choice {2} ({3}) “{0}” became certain; before it, {1} % of random continuations, with the faults that may still happen, ended so.", "fate.last": "The last moment when it could still go well", "fate.turned": "From choice {0} ({1}) on at least {2} % ended so.", "fate.turn": "Where the chances fell",
    filmIsFixed: "This run is a recording: it cannot be changed. Watch or You are the scheduler play a run that can.", validBeginning: "Only the first {0} of {1} choices are possible. They are shown.", onlyGoal: "Search only for: {0}",
    dropHere: "Drop a trace or a recorded run here",
  },
  zh: {
    title: "分布式锁实验室",
    tagline: "页面里运行的是真实的锁、真实的客户端库和 ZooKeeper 服务器。只有时钟是虚拟的，其余全是真的。",
    lock: "锁", versus: "对照", none: "无", contenders: "竞争者", sessions: "会话", apart: "各自一个", shared: "共用一个",
    latency: "延迟", seed: "种子", another: "换一种次序", more: "更多设置",
    "group.steps": "各步骤", "group.museum": "文章中的代码", "group.broken": "故意写错的", "group.exercises": "练习",
    watch: "观看", schedule: "由你调度", find: "替我找",
    "watch.tip": "观看一次运行，随时可以干预", "schedule.tip": "每个数据包都等你放行", "find.tip": "由探索器寻找让锁出错的调度",
    play: "播放", pause: "暂停", stepBack: "上一时刻", stepOn: "下一时刻", eventBack: "上一个事件", eventOn: "下一个事件",
    holdBack: "上一次持锁", holdOn: "下一次持锁", violationOn: "下一次违规", violationBack: "上一次违规", toStart: "到开头", toEnd: "到结尾",
    speed: "速度", "speed.is": "1 秒 = {0}", "speed.tip": "画面每播放一秒，运行推进这么多时间。", atMost: "至多 ", time: "时间", event: "事件", hold: "持锁", violation: "违规",
    language: "English", languageTip: "In English", theme: "切换浅色和深色", help: "帮助与快捷键", share: "复制链接", shared_ok: "链接已复制，整个场景都在链接里。", open: "打开文件", close: "关闭",
    server: "ZooKeeper", requests: "请求", events: "事件", wakeups: "唤醒", wasted: "无效唤醒", took: "用时", measured: "按实测", formula: "公式",
    "requests.tip": "竞争者发出的请求，不含 ping", "events.tip": "已到达客户端的监听事件", "wakeups.tip": "被事件唤醒的竞争者", "wasted.tip": "被唤醒却没有拿到锁、后来又被唤醒的次数", "took.tip": "到最后一个竞争者完成为止",
    "opening.all": "全部唤醒", "opening.one": "唤醒一个", "opening.leave": "自己动手 ›", "opening.seconds": "{0} 秒",
    "of": "/",
    "state.outside": "未参与", "state.waits": "等待", "state.holds": "持锁", "state.unlocks": "释放中", "state.done": "完成", "state.failed": "失败", "state.gave up": "已放弃",
    "conn.cut off": "断线", "conn.closed": "已关闭", "conn.expired": "已过期", "conn.stopped": "停顿", "conn.unconnected": "未连接",
    "lost.unaware": "已失去锁，尚不知情", "lost.knows": "已得知失去锁",
    "sentence.outside": "{0} 尚未请求锁。", "sentence.waits": "{0} 在等待锁。", "sentence.holds": "{0} 持有锁。", "sentence.unlocks": "{0} 正在释放锁。", "sentence.done": "{0} 已完成。", "sentence.failed": "{0} 失败：{1}",
    "sentence.connected": "{0} 已连接。", "sentence.unconnected": "{0} 还没有连接。", "sentence.cut off": "{0} 断线了，会话和节点暂时还在。", "sentence.closed": "{0} 关闭了客户端，会话随之结束。", "sentence.expired": "{0} 的会话已结束，节点随之删除。", "sentence.stopped": "{0} 停顿了，就像遇到一次很长的垃圾回收；会话在此期间结束。", "sentence.runs on": "{0} 继续运行，不知道自己错过了什么。",
    "sentence.unaware": "{0} 已经失去锁，自己却不知道。", "sentence.knows": "{0} 已得知自己失去了锁。",
    "stale.stopped": "{0} 停顿期间，会话已结束，锁随之失去，{0} 却无从得知。", stale: "{0} 的会话已结束，{0} 已经失去锁，自己却不知道。",
    "stale.token": "下一个持有者的 fencing token（隔离令牌）大于 {0} 的令牌 {1}，从此 {0} 的写入会遭到拒绝。", "stale.noToken": "这个锁没有 fencing token（隔离令牌），无法拒绝 {0} 的写入。",
    "sentence.made": "{0} 的节点 {1} 已创建。", "sentence.gone": "节点 {1} 已被删除。",
    "sentence.set": "{0} 在 {1} 上设置了监听，变化时会收到一次通知。", "sentence.setChildren": "{0} 监听 {1} 的子节点列表，变化时会收到一次通知。", "sentence.unset": "{0} 对 {1} 的监听已触发，随即失效。",
    "sentence.wakeup": "{0} 醒来。", "sentence.violation": "{0}", "sentence.start": "还没有任何动作。",
    "explain.create": "{0} 请求创建自己的节点：{1}。", "explain.delete": "{0} 请求删除 {1}。", "explain.exists": "{0} 询问 {1} 是否存在。", "explain.getData": "{0} 读取 {1}。", "explain.getChildren": "{0} 请求 {1} 的子节点列表，也就是队列。",
    "explain.setData": "{0} 写入 {1}。", "explain.sync": "{0} 请求所连的服务器与 leader 同步。", "explain.setWatches": "{0} 已重连，正在重新设置监听。", "explain.multi": "{0} 一次发出多个修改，要么全部生效，要么全不生效。", "explain.closeSession": "{0} 结束自己的会话。", "explain.connect": "{0} 建立连接。", "explain.other": "{0} 对 {1} 发出 {2}。",
    "explain.exists watched": "{0} 询问 {1} 是否存在，同时设置监听，变化时会收到一次通知。", "explain.getData watched": "{0} 读取 {1}，同时设置监听，变化时会收到一次通知。", "explain.getChildren watched": "{0} 请求 {1} 的子节点列表（也就是队列），同时设置监听，变化时会收到一次通知。",
    "reply.made": "{0} 得知节点已创建：{1}。", "reply.ok": "{0} 得知自己的 {1} 已执行。", "reply.names0": "{0} 得到子节点列表：空。", "reply.names1": "{0} 得到子节点列表，共 1 个：{2}。", "reply.names": "{0} 得到子节点列表，共 {1} 个：{2}",
    "reply.node exists": "{0} 得知节点已存在：锁被别的竞争者持有。", "reply.no node": "{0} 得知这个节点已不存在。", "reply.error": "{0} 得到错误：{1}。", "reply.exists": "{0} 得知节点存在。",
    "event.deleted": "{0} 得知 {1} 已删除。监听已触发，随即失效。", "event.created": "{0} 得知 {1} 已创建。监听已触发，随即失效。", "event.childrenChanged": "{0} 得知 {1} 的子节点有变化。监听已触发，随即失效。", "event.dataChanged": "{0} 得知 {1} 的数据有变化。监听已触发，随即失效。", "event.other": "{0} 收到事件 {2} {1}。监听已触发，随即失效。",
    "lost.request": "这个请求随连接丢失，服务器没有收到。", "lost.reply": "这个响应随连接丢失：服务器已经执行，{0} 却不知道。", "lost.event": "这个事件随连接丢失。",
    "on.way": "{0} 发出，{1} 到达。", "on.way.lost": "{0} 发出，{1} 丢失。",
    interfere: "在 {1} 干预 {0}", "do.lose request": "丢弃它的请求", "do.lose reply": "丢弃响应", "do.cut": "切断它的连接", "do.expire": "让它的会话过期", "do.stop": "让它停顿", "do.runs on": "让它继续运行", "do.end ctx": "结束它的 ctx",
    "tip.lose request": "数据包和连接一起丢失，服务器收不到这个请求。", "tip.lose reply": "服务器执行请求，但响应和连接一起丢失。", "tip.cut": "连接断开，会话还在，客户端会重连。", "tip.expire": "断线时间超过会话超时时间，节点被删除。", "tip.stop": "就像遇到一次很长的垃圾回收。会话在此期间结束。", "tip.runs on": "继续运行，好像时间没有过去。", "tip.stall": "请求都滞留在本地，直到会话过期。", "tip.time passes": "全局时间前进 18 秒，期间发出的请求立即执行。", "tip.a day passes": "全局时间前进一天，期间发出的请求立即执行。", "tip.refuse": "开始时客户端都未连接，其中一个的第一次连接遭到拒绝，客户端库会重试。", "tip.parent goes": "队列的父节点没有子节点时，服务器会删除它，与容器节点一样。", "tip.end ctx": "调用者不再等待。",
    "do.reconnect": "让它重连", "do.request": "执行它的请求", "do.reply": "送达响应", "do.event": "送达事件", "do.unlock": "让它释放锁", "do.run on": "让它继续运行", "do.stall": "让它的请求都发不出去", "do.time passes": "让时间流逝", "do.a day passes": "让一天过去", "do.refuse": "拒绝它的连接", "do.parent goes": "删除空的父节点", "do.unlock again": "让它再次释放锁", "do.node goes": "删除它的节点", "do.node is set": "把它的节点重写一遍", "do.ctx ends after its next look": "下次检查之后结束它的 ctx", "do.ctx ends after its next look but one": "再下次检查之后结束它的 ctx", "who.all": "全部", "who.server": "服务器", "do.go on": "让线程继续执行",
    "name.lose request": "{0} 丢失请求", "name.lose reply": "{0} 丢失响应", "name.cut": "{0} 断线", "name.expire": "{0} 的会话过期", "name.stop": "{0} 停顿", "name.runs on": "{0} 继续运行", "name.end ctx": "{0} 的 ctx 结束",
    runs: "运行", asItComes: "未干预", compare: "与原来的运行对照", compareOff: "不对照", undo: "撤销", rename: "重命名", nameOf: "这次运行的名字", without: "原来", withit: "假如",
    whatIfHint: "点击客户端或数据包即可干预：运行从这一刻分叉。",
    goal: "目标", goalReached: "目标达成", endsWith: "结局", levels: "关卡", "levels.tip": "边玩边学：按次序闯关", "levels.of": "关卡：{0} / {1}", nextLevel: "下一关",
    "levels.about": "第一章只需要看。其余各关，接下来发生什么由你决定，直到达成目标；最后两关赢不了。每一章里，随机试跑最容易达成的目标排在前面。",
    "levels.alone": "已通过", "levels.hints": "看提示通过", "levels.shown": "看过演示后通过", "levels.chance": "随机试跑，{0}% 能达成",
    "level.hint": "提示 {0} / {1}", "level.plays": "（会走 {0} 步）", "level.watch": "看它出错", "level.held": "锁没有出错。", "key.g": "关卡", "key.i": "提示", choicesMade: "你的选择（{0}）", yourTurn: "轮到你了：接下来执行哪个动作？", over: "运行结束，未发现违规。", broke: "锁出错了", brokeElse: "锁出错了，但这不是目标", notTwo: "会话已结束的持有者，不算两个持有者之一。", undoChoice: "撤回一步", restart: "从头开始", whatHappens: "接下来", packetsToo: "响应和事件也要等待调度", noEnabled: "没有可执行的动作了。", showMe: "演示给我看", rest: "让其余动作自动执行", save: "保存 trace", choicesFound: "这个调度的全部选择（{0}）", fault1: "1 次故障", faultN: "{0} 次故障", butKnown: "下面是这个锁的页面上已列出的遗留问题。", withCure: "换成已修复的锁", besideCure: "与已修复的锁并排播放", withBug: "回到文章中的锁",
    faultKinds: "允许的故障", howMany: "故障次数上限", faultsAre: "{0}；最多 {1}", faultsMade: "；已选 {0} 次", seconds: "秒", start: "开始搜索", stop: "停止", searching: "搜索中：已试 {0} 个调度，每秒 {1} 个", foundIt: "试了 {0} 个调度后找到：{1}", foundNone: "{1}，{2} 个竞争者，最多 {3}：全部 {0} 个调度都已试过，没有一个让锁出错。", foundNoneIncomplete: "{1}，{2} 个竞争者，最多 {3}：试了 {0} 个调度，时间用完，没有一个让锁出错。", openTrace: "观看", stopped: "已停止。", known: "已知问题，页面上有说明：{0}",
    findHint: "探索器逐一尝试消息的各种次序，每次都运行真实代码，直到某种次序让锁出错。",
    "kind.lose request": "请求丢失", "kind.lose reply": "响应丢失", "kind.cut": "连接断开", "kind.expire": "会话过期", "kind.stop": "客户端停顿", "kind.stall": "客户端卡住", "kind.end ctx": "ctx 结束", "kind.time passes": "时间流逝", "kind.a day passes": "一天过去", "kind.refuse": "连接被拒绝", "kind.parent goes": "父节点被删除", "kind.node goes": "节点被删除", "kind.node is set": "节点被重写", "kind.ctx ends after its next look": "ctx 在检查之后结束", "kind.ctx ends after its next look but one": "ctx 在两次检查之后结束",
    loading: "引擎启动中……", running: "{0} 运行中……", takesLong: "这次运行时间较长。", stopRun: "停止", runStopped: "已停止。请减少竞争者，或换一个锁。", engineError: "引擎报告：", compileError: "编译不通过。页面仍在运行上次编译成功的代码。", building: "构建中……", badFile: "无法打开 {0}：{1}", badLink: "无法读取地址：{0}", retry: "重试", unknownLock: "没有名为 {0} 的锁。",
    fromFile: "来自 {0}", recorded: "录像", backToLocks: "返回实验室的锁",
    instant: "{0} / {1}", soFar: "{0} / {1} …", later: "经过 {0}", legend: "图例",
    "legend.request": "请求", "legend.queued": "等待服务器处理", "legend.later": "竖线右边：还没发生", "legend.reply": "响应", "legend.event": "事件：唤醒", "legend.watch": "监听", "legend.lost": "丢失", "legend.holds": "持锁", "legend.unlocks": "正在释放", "legend.waits": "等待", "legend.unaware": "已失去锁，尚不知情",
    diagram: "时间图：客户端与服务器之间的线是数据包。左右拖动，可以前后移动时间。", stage: "舞台：上面是服务器，下面是客户端", zoomIn: "放大", zoomOut: "缩小",
    keys: "快捷键", about: "关于实验室",
    "about.1": "每个面板里，都是一个真实的锁的一次运行。上面是 ZooKeeper 服务器和队列的节点，下面是客户端，数据包在两者之间往来。细线是监听（watch）：从等待者连到它等待的节点。",
    "about.2": "舞台下方是同一次运行的时间图：时间从左到右，每个客户端一条泳道，服务器在最上面。拖动它或滑块，就可以让时间前进或后退。",
    "about.3": "点击客户端或数据包即可干预：丢弃响应、切断连接、让会话过期。运行从那一刻分叉，继续下去。",
    "about.code": "代码旁的实心字母表示竞争者正在这一行，虚线框字母在调用它的那一行。空心字母是持有者：它从这一行返回，已经离开锁的代码。",
    "about.speed": "1× 时，一个请求和它的响应大约播放一秒；速度旁边写着每秒推进多少运行时间。",
    "about.4": "地址里包含你看到的一切：一个链接就是一次运行。",
    "about.5": "可以把探索器的 trace 或录像（JSON）拖到页面上。",
    "key.space": "播放、暂停", "key.arrows": "上一时刻、下一时刻", "key.shift": "上一个、下一个事件", "key.h": "下一次持锁（Shift：上一次）", "key.v": "下一次违规（Shift：上一次）", "key.home": "开头、结尾", "key.speed": "减速、加速", "key.letter": "选择下一个、上一个客户端", "key.packet": "选择上一个、下一个数据包", "key.enter": "干预所选的客户端或数据包", "key.u": "撤销这个分支", "key.c": "与原来的运行对照", "key.l": "English、中文", "key.d": "浅色、深色", "key.esc": "关闭", "key.q": "本帮助", "key.zoom": "时间图放大、缩小", "key.digits": "调度：选择带这个数字的动作", "key.back": "调度：撤回一步",
    "at": "在", fullStop: "。", colon: "：", comma: "、", sentenceGap: "", names: "{0} 个节点", packet: "数据包", client: "客户端", nothingThere: "（不存在）",
    inGap: "{0} 停在两行代码之间：",
    code: "代码", "code.tip": "锁的源代码，以及每个竞争者执行到哪一行", "key.k": "锁的源代码", sourceOf: "锁的源代码：{0}", file: "文件",
    "story.tell": "讲解这个场景", "story.was": "{0} 时：", "story.next": "下一步 ›", "story.back": "返回上一处讲解", "story.start": "按“下一步”，播放到第一处讲解。时间可以随意前后移动。",
    predict: "预测", "predict.tip": "每次释放之前，先说出会发生什么，再看结果", "predict.now": "{0} 即将释放锁。", "predict.who": "哪个竞争者最先醒来？", "predict.n": "到下一个竞争者持有锁为止，一共发出多少个请求？", "predict.nobody": "没有竞争者醒来", "predict.play": "播放答案", "predict.next": "到下一次释放",
    "predict.idle": "请点“播放”。每次释放之前，页面会停下来提问。", "predict.none": "在这次运行中，没有哪个等待者在释放之后拿到锁。", "predict.wait": "正在播放答案……", "predict.right": "{0}：答对了。", "predict.wrong": "{0}：答错了。", "predict.saidWho": "最先醒来：{0}", "predict.saidN": "请求数：{0}", "predict.score": "答对 {0} / {1}",
    "predict.noEvent": "服务器没有发出事件：这次释放改变的节点，没有等待者在监听。", "predict.woke": "这次释放唤醒了 {1} 个等待者中的 {0} 个：{2}。{4} 的事件最先到达 {3}。", "predict.woke1": "这次释放只唤醒了 {1} 个等待者中的 {0} 个：只有 {3} 监听 {4}。", "predict.firstAtServer": "下一个持有锁的是 {0}：它的 create 最先到达服务器。", "predict.firstInQueue": "下一个持有锁的是 {0}：它的节点排在队列最前面。", "predict.sent": "到 {0} 持有锁为止，一共发出 {1} 个请求：{2}。",
    inspect: "查看", "inspect.tip": "点击节点、监听或竞争者，查看它的内容", "inspect.node": "节点", "inspect.watch": "监听", "inspect.client": "竞争者", "inspect.path": "路径", "inspect.data": "数据", "inspect.empty": "空", "inspect.stock": "（数值 {0}，令牌 {1}）", "inspect.version": "版本", "inspect.owner": "临时节点的所有者", "inspect.ofSession": "会话 {0}", "inspect.persistent": "无：这是持久节点", "inspect.made": "创建于", "inspect.before": "开始之前", "inspect.watches": "监听它的有", "inspect.none": "无",
    "inspect.state": "状态", "inspect.notThere": "此刻不存在", "inspect.usedUp": "此刻没有：已经触发并失效，或者还没有设置（{0}）", "inspect.whose": "属于", "inspect.kind": "种类", "inspect.of.node": "监听节点：节点删除或数据变化时通知一次", "inspect.of.children": "监听子节点：列表变化时通知一次", "inspect.set": "设置于", "inspect.since": "始于", "inspect.connection": "连接", "inspect.session": "会话", "inspect.token": "fencing token（隔离令牌）", "inspect.nodes": "它的节点", "inspect.itsWatches": "它的监听", "conn.connected": "已连接",
    cost: "代价", "cost.tip": "2 到 100 个竞争者时，每次加锁的代价", "cost.chart": "图：每次加锁的{0}数，随竞争者个数变化", "cost.point": "{0}，n = {1}：{2} 个请求，{3} 个事件", "cost.counting": "正在运行并计数……", "cost.broken": "这次运行出现违规，不计入。", "cost.each": "每次加锁 {0} 个请求、{1} 个事件；总共 {2} 个请求、{3} 个事件。", "cost.soFar": "到目前为止：加锁 {0} 次，平均每次 {1} 个请求。",
    "cost.hint": "每个点都来自一次真实的运行和计数。曲线是这个锁的说明里写的公式，也就是没有故障时的上限。圆环是下面这次运行到当前时刻为止的平均值。",
    "packet.ok": "{0} 成功", "packet.created": "已创建！", "packet.deleted": "已删除！", "packet.childrenChanged": "列表已变！", "packet.dataChanged": "数据已变！", projector: "投影", "projector.tip": "大字显示，只留一栏按钮，舞台、时间图和代码同屏", "projector.leave": "返回完整页面", "key.f": "进入或退出投影模式",
    fate: "从何时起无法挽回？", "fate.start": "第一个选择之前", "fate.after": "第 {0} 个选择（{1}）之后", "fate.counting": "正在随机试跑每一步之后的各种后续（允许的故障仍可能发生）……", "fate.none": "从这里已无法达成“{0}”：试过的后续都不会出现它。请撤回一个选择。", "fate.open": "仍有转机：并非每种后续都会出现“{0}”。", "fate.always": "从一开始，每种后续都会出现“{0}”。", "fate.sealed": "第 {2} 个选择（{3}）之后必然出现“{0}”；在此之前随机试跑（允许的故障仍可能发生），{1}% 会出现。", "fate.last": "最后的转机", "fate.turned": "从第 {0} 个选择（{1}）起，至少 {2}% 会出现。", "fate.turn": "从哪里开始变坏",
    filmIsFixed: "这是录像，不能更改。要干预，请用“观看”或“由你调度”。", validBeginning: "{1} 个选择中，只有前 {0} 个能够执行，这里显示到第 {0} 个为止。", onlyGoal: "只搜索：{0}",
    dropHere: "把 trace 或录像拖到这里",
  },
};

let language = "en";
export function setLanguage(l) { language = Object.hasOwn(WORDS, l) ? l : "en"; }
export function getLanguage() { return language; }

// say returns a text in the language of the page; {0}, {1} … are filled in.
export function say(key, ...values) {
  const text = WORDS[language][key] ?? WORDS.en[key];
  if (text === undefined) return key;
  return text.replace(/\{(\d)\}/g, (_, i) => values[i] ?? "");
}

// has says whether there is a text for a key.
export function has(key) { return WORDS.en[key] !== undefined; }

// translated is a text in the language of the page, inEnglish in English.
export function translated(text) {
  const said = text?.[language] ?? text ?? "";
  return language === "zh" ? glossed(said) : said;
}
export const inEnglish = text => text?.en ?? text ?? "";

// failure is an error that can be said in both languages, and reason says one.
export const failure = (en, zh) => Object.assign(new Error(en), { zh });
export const reason = e => translated(e.zh ? { en: e.message, zh: e.zh } : e.message);

// glossed says in Chinese what a Chinese text quotes: a choice, or a kind of change.
const glossed = zh => zh.replace(/"((?:[^"\\]|\\.)*)"|“([a-z ]+)”/g, (quote, choice, change) => {
  const words = choice === undefined ? WORDS.zh["do." + change] : choiceInChinese(choice);
  return !words ? quote : choice === undefined ? "“" + words + "”" : quote + "（" + words + "）";
});

// choiceWords is a choice of a trace, which an address and a file keep as it is.
export function choiceWords(choice) { return language === "zh" ? choiceInChinese(choice) ?? choice : choice; }

function choiceInChinese(choice) {
  const m = /^([^:]+): (.+)$/.exec(choice), what = m && WORDS.zh["do." + m[2]];
  return what && (WORDS.zh["who." + m[1]] || gapInChinese(m[1])) + "：" + what;
}

// A gap is a place in a listing where the scheduler may let others run.
const gapInChinese = who => who.replace(/^gap /, "代码间隙 ");

// whoWords names what acts in a choice: a contender, a client, the server, all, or a gap.
export function whoWords(who) { return has("who." + who) ? say("who." + who) : language === "zh" ? gapInChinese(who) : who; }

// checkStrings returns the keys that one language has and another lacks.
export function checkStrings() {
  const wrong = [];
  for (const a of Object.keys(WORDS)) for (const b of Object.keys(WORDS)) {
    for (const key of Object.keys(WORDS[a])) if (!(key in WORDS[b])) wrong.push(b + " lacks " + key);
  }
  return wrong;
}

// An instant for people: as many digits as packets need.
export function clockText(ns) {
  const ms = ns / 1e6;
  return ms < 9999.95 ? ms.toFixed(1) + " ms" : (ms / 1000).toFixed(3) + " s";
}

const OPS = { create: "create", create2: "create", createContainer: "create", createTTL: "create", delete: "delete", exists: "exists", getData: "getData", getChildren: "getChildren", getChildren2: "getChildren", setData: "setData", sync: "sync", setWatches: "setWatches", setWatches2: "setWatches", multi: "multi", closeSession: "closeSession", connect: "connect" };

// The kind of an operation, whatever its version.
export function plainOp(op) { return OPS[op] || op || ""; }

// The server's error codes that have no text in a film.
const ERRORS = { "error -102": "no auth", "error -103": "bad version", "error -108": "no children allowed", "error -111": "not empty", "error -112": "session expired" };
const errorOf = p => ERRORS[p.error] || p.error;

// A word for a packet that fits beside it.
export function packetWord(p) {
  if (p.kind === "event") return has("packet." + p.event) ? say("packet." + p.event) : (p.event || "event") + "!";
  const op = { getChildren: "children", getData: "get", closeSession: "close" }[plainOp(p.op)] || plainOp(p.op);
  if (p.kind === "reply") return p.error ? errorOf(p) : p.names ? say("names", p.names.length) : say("packet.ok", op);
  return op;
}

// A name in a list: its number, if it ends in one as the server makes it.
const tailOf = path => { const m = /(\d{6,})$/.exec(path); return m ? "#" + Number(m[1]) : path; };

// explain says in a sentence or two what a packet is.
export function explain(p) {
  const who = p.client, path = p.path || "";
  let text;
  if (p.kind === "request") {
    const key = "explain." + plainOp(p.op) + (p.watch ? " watched" : "");
    text = has(key) ? say(key, who, path) : say("explain.other", who, path, p.op);
  } else if (p.kind === "reply") {
    if (p.error) text = plainOp(p.op) === "create" && p.error === "node exists" ? say("reply.node exists", who) : p.error === "no node" ? say("reply.no node", who) : say("reply.error", who, errorOf(p));
    else if (p.made) text = say("reply.made", who, p.made);
    else if (plainOp(p.op) === "getChildren") {
      const names = p.names || [], shown = names.slice(0, 6).map(tailOf).join(", ") + (names.length > 6 ? ", …" : names.length > 1 ? say("fullStop") : "");
      text = say(names.length === 0 ? "reply.names0" : names.length === 1 ? "reply.names1" : "reply.names", who, names.length, shown);
    } else if (plainOp(p.op) === "exists") text = say("reply.exists", who);
    else text = say("reply.ok", who, p.op);
  } else {
    text = has("event." + p.event) ? say("event." + p.event, who, path) : say("event.other", who, path, p.event);
  }
  if (p.lost) text += say("sentenceGap") + say("lost." + p.kind, who);
  return text;
}

// explainMark says in a sentence what a mark is; "" if it is not worth one.
export function explainMark(m) {
  if (m.text && (m.kind === "client" || m.kind === "node")) return (m.kind === "client" ? m.who + say("colon") : "") + translated(m.text);
  switch (m.kind) {
    case "state": return m.state === "outside" && m.text && inEnglish(m.text) !== "has unlocked" ? m.who + say("colon") + translated(m.text) : say("sentence." + m.state, m.who, translated(m.text));
    case "client": return say("sentence." + m.state, m.who);
    case "lost": return say(m.knows ? "sentence.knows" : "sentence.unaware", m.who);
    case "node": return m.made ? m.owner ? say("sentence.made", m.owner, m.path) : "" : say("sentence.gone", "", m.path);
    case "watch": return m.set ? say(m.of === "children" ? "sentence.setChildren" : "sentence.set", m.client, m.path) : "";
    case "wakeup": return say("sentence.wakeup", m.who);
    case "violation": return violationText(m.violation) + (m.text ? say("colon") + translated(m.text) : "");
    case "note": return (m.who ? m.who + say("colon") : "") + translated(m.text);
  }
  return "";
}

// The kinds of violation are the explorer's; main.js brings them.
const kinds = {};
export const nameKinds = all => Object.assign(kinds, all);
export const isKind = kind => kind in kinds;
export function violationText(kind) {
  const text = translated(kinds[kind]) || kind || "";
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
