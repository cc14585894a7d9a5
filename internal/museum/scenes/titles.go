package scenes

import (
	"regexp"
	"strings"

	"example.com/zklock/internal/explore"
)

// titles are the headings of docs/bugs.md, and the same in Chinese.
var titles = map[string][2]string{
	"A1":  {"every error means held, and the stack grows", "任何错误都被当成“锁被占用”，调用栈越来越深"},
	"A2":  {"unlock deletes its successor's node", "unlock 删除了后来者的节点"},
	"A3":  {"each lost race adds a frame to the stack", "每抢输一次，调用栈就多一层"},
	"A4":  {"a waiter whose session is gone never wakes", "会话已失效的等待者永远不会被唤醒"},
	"A5":  {"the reply to create is lost: the client waits for itself", "create 的应答丢失：客户端在等自己"},
	"A6":  {"waiters have no order: a slow one starves", "等待者没有次序：慢的那个会饿死"},
	"A11": {"an exception while it waits: lock() just returns", "等待时发生异常：lock() 直接返回"},
	"A7":  {"a release before the latch exists is lost", "latch 创建之前的释放通知会丢失"},
	"A8":  {"a waiter whose own node is gone panics", "自己的节点被删除后，等待者会崩溃"},
	"A9":  {"the second lock() on the same object panics", "同一对象第二次 lock() 会崩溃"},
	"A10": {"lock() throws if the parent does not exist", "父节点不存在时，lock() 抛出异常"},
	"B1":  {"the sequence number is taken for the number of children", "把序号当成了子节点的个数"},
	"C2":  {"the lock call fails just when its node becomes the first", "节点刚排到第一，加锁调用却失败了"},
	"D1":  {"a watch on a deleted node never fires", "对已删除节点的监听永远不会触发"},
	"D2":  {"a notify that comes before the wait is lost", "先于 wait 的 notify 会丢失"},
	"D3":  {"a waiter that is woken does not read the list again", "等待者被唤醒后不再重新读取列表"},
	"D4":  {"two clients create the parent at once: one gets false", "两个客户端同时创建父节点：其中一个得到 false"},
	"D5":  {"a missing session is taken for a held lock", "没有会话，却当成锁被占用"},
	"D6":  {"a waiter that is woken queues again, behind its own node", "等待者被唤醒后再次排队，排到了自己的节点后面"},
	"D7":  {"the node before is gone: the waiter takes the lock", "前驱节点没了，等待者就当作拿到了锁"},
	"D8":  {"each wake-up starts the wait time again", "每次唤醒都重新计算等待时间"},
	"D9":  {"lock b waits for lock a", "锁 b 在等锁 a"},
	"D10": {"close() after a failed lock() deletes path null", "lock() 失败后的 close() 删除路径 null"},
	"C1":  {"a thread that failed to lock is counted as the holder", "加锁失败的线程被记为持有者"},
	"B2":  {"anybody may delete the row, and it has no expiry", "谁都能删除这一行，而且它永不过期"},
	"B3":  {"after a crash, a key without a time to live stays", "崩溃之后，没有过期时间的键一直留着"},
	"B4":  {"a slow holder deletes its successor's key", "动作慢的持有者删除了后来者的键"},
	"D11": {"the heartbeat outlives the lock, as a hot loop", "释放锁之后，心跳线程仍空转不停"},
	"D12": {"the heartbeat writes, and does not keep the lock", "心跳只是不停地写，保不住锁"},
	"E1":  {"a paused holder writes after the next one has started", "暂停过的持有者在后来者开始之后才写入"},
	"E2":  {"compare and delete protects the key, not the resource", "先比较再删除，保护的是键，不是资源"},
}

// Title is the heading of a bug in docs/bugs.md, without its ID, and the same in
// Chinese.
func Title(id string) (en, zh string) { return titles[id][0], titles[id][1] }

// stands says which lock is shown where no article has a listing for it.
var stands = map[string][2]string{
	"E1": {
		"The lock is step 3's, which is the article's chain without a mistake. Each holder reads a number from /stock, and writes it back with one added.",
		"这里的锁是第 3 步的，也就是文章里的链条，而且没有写错。每个持有者从 /stock 读一个数，加一后写回。",
	},
	"E2": {
		"The lock is step 1's, in place of the article's on Redis: its Unlock compares and deletes, too. Each holder reads a number from /stock, and writes it back with one added.",
		"这里的锁是第 1 步的，代替文章里 Redis 上的锁：它的 Unlock 同样先比较再删除。每个持有者从 /stock 读一个数，加一后写回。",
	},
}

// goals say what to reach, for a person who chooses the schedule.
var goals = map[explore.Kind][2]string{
	explore.Endless:       {"Make it send requests without end.", "让它没完没了地发请求。"},
	explore.ForeignDelete: {"Make one client delete another's node.", "让一个客户端删除别人的节点。"},
	explore.OwnCheck:      {"Make the calls of lock() pile up on the stack.", "让 lock() 的调用在栈上越堆越深。"},
	explore.Hang:          {"Make a contender wait forever.", "让一个竞争者永远等下去。"},
	explore.Starves:       {"Let A get in three times while B waits.", "让 A 在 B 等待期间连续三次拿到锁。"},
	explore.TwoHolders:    {"Make two hold the lock at once.", "让两个竞争者同时持有锁。"},
	explore.Crash:         {"Make lock() panic.", "让 lock() 崩溃。"},
	explore.Failure:       {"Make lock() fail although nothing forbids it.", "让 lock() 无缘无故地失败。"},
	explore.TooLong:       {"Make a contender wait longer than the time it asked for.", "让一个竞争者的等待超过它指定的时间。"},
	explore.SessionLeft:   {"Leave a session behind.", "留下一个没有关闭的会话。"},
	explore.Outlived:      {"Make a holder outlive its session.", "让持有者在会话结束之后仍以为持有锁。"},
}

// Goal says what to reach in a scene, in English and in Chinese.
func (s Scene) Goal() (en, zh string) {
	if s.Stands[0] != "" {
		return "Let two holders add one each to /stock, and make one addition get lost.", "让两个持有者各给 /stock 加一，却丢失其中一次。"
	}
	g := goals[s.Kinds[0]]
	return g[0], g[1]
}

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Anchor returns the anchor that GitHub gives a heading, such as that of a bug
// in docs/bugs.md.
func Anchor(heading string) string {
	return strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
