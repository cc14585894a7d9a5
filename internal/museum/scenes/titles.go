package scenes

import (
	"regexp"
	"strings"

	"example.com/zklock/internal/explore"
)

// Title is the heading of a bug in docs/bugs.md, without its ID, and the same in
// Chinese.
func Title(id string) (en, zh string) { return titles[id][0], titles[id][1] }

// substitutes says which lock is shown where no article has a listing for it.
var substitutes = map[string][2]string{
	"E1": {
		"The lock is step 3's, which is the article's chain without a mistake. Each holder reads a number from /stock, and writes it back with one added.",
		"这里的锁是第 3 步的，也就是文章里的链条，而且没有写错。每个持有者从 /stock 读一个数，加一后写回。",
	},
	"E2": {
		"The lock is step 1's, in place of the article's on Redis: its Unlock compares and deletes, too. Each holder reads a number from /stock, and writes it back with one added.",
		"这里的锁是第 1 步的，代替文章里 Redis 上的锁：它的 Unlock 同样先比较再删除。每个持有者从 /stock 读一个数，加一后写回。",
	},
}

// goals are the ends to reach, for a person who chooses the schedule.
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

// Goal returns what to reach in a scene, in English and in Chinese.
func (s Scene) Goal() (en, zh string) {
	if s.Substitute[0] != "" {
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
