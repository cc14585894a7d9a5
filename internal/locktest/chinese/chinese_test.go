package chinese_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest/chinese"
)

var book = chinese.New(map[string]string{
	"the waiter":            "等待者",
	"the holder":            "持有者",
	"Lock of %s fails":      "%s的 Lock 失败",
	"Lock of %s fails: %v":  "%s的 Lock 失败：%v",
	"%s polls %d times%s":   "%[1]s轮询了 %[2]d 次%[3]s",
	"%d of %d cases":        "%[2]d 个用例，通过 %[1]d 个",
	"wrap it with %%w, %s":  "请用 %%w 包装，%s",
	"the nodes: %s":         "节点：%s",
	"first %s\n    then %d": "先 %s\n    后 %d",
	"no file %q":            "没有文件 %q",
})

func TestAFinishedMessageIsFoundByItsFormat(t *testing.T) {
	for english, want := range map[string]string{
		"Lock of the holder fails":                                 "持有者的 Lock 失败",
		"Lock of the holder fails: EOF":                            "持有者的 Lock 失败：EOF", // the format with more words of its own
		"the waiter polls 12 times":                                "等待者轮询了 12 次",
		"3 of 44 cases":                                            "44 个用例，通过 3 个",
		"wrap it with %w, the waiter":                              "请用 %w 包装，等待者",
		"the waiter (cases.go:12 < world.go:3)":                    "等待者 (cases.go:12 < world.go:3)",
		"the waiter polls 12 times:\n    the nodes: a, b\n    EOF": "等待者轮询了 12 次：\n    节点：a, b\n    EOF",
		"first x\n    then 2":                                      "先 x\n    后 2",
		"the waiters":                                              "the waiters", // not in the book
		"":                                                         "",
	} {
		require.Equal(t, want, book.Text(english))
	}
}

func TestTheStepsOfAScheduleAreTranslated(t *testing.T) {
	const english = `   1. C: request      getData lock-0000000001 and watch
   2. A: expire       A is cut off until its session has expired; getChildren2 lock: the request is lost
                      C gets the event deleted of lock-0000000001; C gets an error: naive: not written yet
   3. a day passes
                      A known: holder outlives its session: A has not noticed that it has lost the lock, and B holds it
      client: request getChildren2 lock: lock-0000000000; B holds the lock`
	require.Equal(t, `   1. C: request      getData lock-0000000001，并设置监听
   2. A: expire       A 断线，直到会话过期；getChildren2 lock：请求丢失
                      C 收到 lock-0000000001 的 deleted 事件；C 得到错误：naive: not written yet
   3. a day passes
                      A（已知）：会话已结束，仍以为持有锁：A 仍以为自己持有锁，实际的持有者却是 B
      client: request getChildren2 lock: lock-0000000000；B 持有锁`, chinese.Steps(english))
}

// TestWhatBecameOfAScheduleIsTranslated: an assertion in one line with its place, and what the engine says.
func TestWhatBecameOfAScheduleIsTranslated(t *testing.T) {
	for english, want := range map[string]string{
		"the holders of the lock, at schedule.go:12":                                      "锁的持有者（schedule.go:12）",
		"a sentence that is in no book, at schedule.go:12":                                "a sentence that is in no book, at schedule.go:12",
		`client C does not wait, at a.go:50 Not equal: expected: "waiting" actual : "in"`: `客户端 C 没有在等待（a.go:50）；期望 "waiting"，实际 "in"`,
	} {
		require.Equal(t, want, chinese.Schedules.Text(english))
	}
	for english, want := range map[string]string{
		"A: holds the lock, unlocks, has unlocked, done; B: waiting": "A：持有锁、正在释放锁、已释放锁、已结束；B：正在等待",
		"A: gets an error: zk: no node, outside":                     "A：得到错误：zk: no node、在锁外",
		"A: a sentence that is in no book":                           "A: a sentence that is in no book",
		"the schedule ends after 7 of 8 choices":                     "调度有 8 个选择，但在第 7 个之后就结束了",
		"two holders: A and B2 and client hold the lock at once":     "两个持有者：A、B2 和 client 同时持有锁",
	} {
		require.Equal(t, want, chinese.Engine.Text(english))
	}
}

// TestEveryTwinTakesTheSameValues of the graders' book, and of the engine's.
func TestEveryTwinTakesTheSameValues(t *testing.T) {
	for _, table := range []map[string]string{chinese.Schedules.Table(), chinese.Engine.Table()} {
		for english, twin := range table {
			require.NoError(t, chinese.Check(english, twin))
		}
	}
	require.Error(t, chinese.Check("%d of %s", "%s"))
	require.Error(t, chinese.Check("all", " "))
}
