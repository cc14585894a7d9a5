package locks

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/locktest/broken"
)

var brokenNote = Text{"A queue lock like step 3's, with one line wrong. Which?", "与第 3 步相同的队列锁，但有一行写错了。错在哪一行？"}

// brokenZh are the bugs' names in Chinese.
var brokenZh = map[string]string{
	"watches the parent":          "监听父节点",
	"watches the list":            "监听子节点列表",
	"not ephemeral":               "不是临时节点",
	"Unlock deletes the first":    "Unlock 删除第一个节点",
	"Unlock deletes the holder's": "Unlock 删除持有者的节点",
	"look first, watch later":     "先查看，后监听",
	"polls":                       "轮询",
	"polls without a pause":       "不停顿地轮询",
	"one list too many":           "多取一次列表",
	"everybody is first":          "每个竞争者都以为自己是第一",
	"TryLock leaves its node":     "TryLock 留下自己的节点",
	"every error means held":      "任何错误都当作锁被占用",
	"no look after waking":        "醒来后不再查看",
	"every child is a contender":  "把每个子节点都当作竞争者",
	"the last to come goes first": "后来者先拿到锁",
	"everybody is watched":        "监听所有节点",
	"no clean-up after an error":  "出错后不清理",
	"parents are not made":        "不创建父节点",
	"Unlock asks nobody":          "Unlock 不向服务器求证",
	"works once":                  "只能用一次",
	"gone before it is watched":   "还没监听，节点就已被删除",
	"own node is not looked for":  "不找自己的节点",
	"Unlock hides its error":      "Unlock 隐瞒错误",
	"Unlock forgets too early":    "Unlock 忘得太早",
	"the cause is hidden":         "隐瞒错误的原因",
	"no clean-up after TryLock":   "TryLock 之后不清理",
	"clean-up is tried once":      "清理只试一次",
	"parents made by others fail": "别人创建了父节点就失败",
	"the error names nothing":     "错误没有说明任何情况",
}

// slug is the name of a broken lock in addresses.
func slug(bug string) string {
	return "broken-" + strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(bug), " ", "-"), ",", ""), "'", "")
}

func brokenSubject(bug string) explore.Subject {
	return explore.Subject{
		Name:  slug(bug),
		Alone: true,
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(string) explore.Lock { return steps.FromPlain(broken.New(bug, conn, path)) }
		},
		NotLocked: func(err error) bool { return errors.Is(err, broken.ErrNotLocked) },
		Queue:     true,
	}
}
