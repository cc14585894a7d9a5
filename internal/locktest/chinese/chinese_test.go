package chinese_test

import (
	"errors"
	"fmt"
	"io/fs"
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

func TestWhatIsPutIntoASentenceIsTranslated(t *testing.T) {
	require.Equal(t, "\n持有者的 Lock 失败\n", book.Sprintf("\nLock of %s fails\n", "the holder"))
	require.Equal(t, "\nthe holder 的 Lock 失败\n", book.Sprintf("\nLock of %s fails\n", chinese.Verbatim("the holder")))
	require.Equal(t, "持有者的 Lock 失败：等待者", book.Sprintf("Lock of %s fails: %v", "the holder", errors.New("the waiter")))
	require.Equal(t, "5 of the holders", book.Sprintf("%d of %s", 5, "the holders"))

	require.Equal(t, "竞争者 3 的 Lock 失败", chinese.Messages.Text("Lock of contender 3 fails"), "a blank is between Chinese and other letters")

	err := book.Error(fmt.Errorf("no file %q%w", "x", fs.ErrNotExist))
	require.ErrorIs(t, err, fs.ErrNotExist, "it still wraps what the error wraps")
	require.NoError(t, book.Error(nil))
	require.EqualError(t, book.Error(errors.New(`no file "x y"`)), `没有文件 "x y"`)
}

func TestTheStepsOfAScheduleAreTranslated(t *testing.T) {
	const english = `two holders: B and C hold the lock at once, in this schedule:
   1. C: request      getData lock-0000000001 and watch
   2. A: expire       A is cut off until its session has expired; getChildren2 lock: the request is lost
                      C gets the event deleted of lock-0000000001; C gets an error: naive: not written yet
   3. a day passes
                      A known: holder outlives its session: A has not noticed that it has lost the lock, and B holds it
      client: request getChildren2 lock: lock-0000000000; B holds the lock`
	require.Equal(t, `两个持有者：B 和 C 同时持有锁。调度如下：
   1. C: request      getData lock-0000000001，并设置监听
   2. A: expire       A 断线，直到会话过期；getChildren2 lock：请求丢失
                      C 收到 lock-0000000001 的 deleted 事件；C 得到错误：naive：尚未编写
   3. a day passes
                      A（已知）：会话已结束，仍以为持有锁：A 仍以为自己持有锁，实际的持有者却是 B
      client: request getChildren2 lock: lock-0000000000；B 持有锁`, chinese.Messages.Text(english))
}

// TestWhatBecameOfALockOrAScheduleIsTranslated: the place in the code follows the sentence.
// Then a link that harms nothing, a choice that cannot be, and an assertion, in one line.
func TestWhatBecameOfALockOrAScheduleIsTranslated(t *testing.T) {
	for english, want := range map[string]string{
		"the lock panics: runtime error: index out of range [1], in _09-read-write.(*Lock).before":         "锁发生 panic：runtime error: index out of range [1]（_09-read-write.(*Lock).before）",
		`schedule "x" fails on a lock that is right: the holders of the lock, at schedule.go:12`:           `调度 "x" 在正确的锁上也失败了：锁的持有者（schedule.go:12）`,
		"the lock spins: it is busy, and sends nothing; it is in naive.Lock":                               "锁在空转：它一直忙着，却什么都不发；位置在 naive.Lock",
		"the schedule hangs: every goroutine waits for another one in kill.holderDies":                     "调度卡住了：所有 goroutine 都在互相等待（kill.holderDies）",
		"the process ends (exit status 1) after the case is over: the schedule calls os.Exit or log.Fatal": "用例结束之后进程退出了（exit status 1）：调度调用了 os.Exit 或 log.Fatal",
		"Unlock of client b does not return":                                                               "客户端 b 的 Unlock 没有返回",
		"a sentence that is in no book, at schedule.go:12":                                                 "a sentence that is in no book, at schedule.go:12",

		"A: holds the lock, unlocks, has unlocked, done; B: waiting":                                      "A：持有锁、正在释放锁、已释放锁、已结束；B：正在等待",
		"A: gets an error: zk: no node, outside":                                                          "A：得到错误：zk: no node、在锁外",
		"the link cannot be played: the schedule ends after 7 of 8 choices: copy it again from the lab":   "链接无法播放：调度有 8 个选择，但在第 7 个之后就结束了：请从实验室重新复制",
		`schedule "2 x": client C does not wait, at a.go:50 Not equal: expected: "waiting" actual : "in"`: `调度 "2 x"：客户端 C 没有在等待（a.go:50）；期望 "waiting"，实际 "in"`,
		"A: a sentence that is in no book":                                                                "A: a sentence that is in no book",
		"two holders: A and B2 and client hold the lock at once":                                          "两个持有者：A、B2 和 client 同时持有锁",
	} {
		require.Equal(t, want, chinese.Messages.Text(english))
	}
}

// TestEveryTwinTakesTheSameValues of the graders' book, and of the engine's.
func TestEveryTwinTakesTheSameValues(t *testing.T) {
	for _, table := range []map[string]string{chinese.Messages.Table(), chinese.Engine.Table()} {
		for english, twin := range table {
			require.NoError(t, chinese.Check(english, twin))
		}
	}
	require.Error(t, chinese.Check("%d of %s", "%s"))
	require.Error(t, chinese.Check("all", " "))
}
