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
	require.Equal(t, "\nthe holder的 Lock 失败\n", book.Sprintf("\nLock of %s fails\n", chinese.Verbatim("the holder")))
	require.Equal(t, "持有者的 Lock 失败：等待者", book.Sprintf("Lock of %s fails: %v", "the holder", errors.New("the waiter")))
	require.Equal(t, "5 of the holders", book.Sprintf("%d of %s", 5, "the holders"))

	err := book.Error(fmt.Errorf("no file %q%w", "x", fs.ErrNotExist))
	require.ErrorIs(t, err, fs.ErrNotExist, "it still wraps what the error wraps")
	require.NoError(t, book.Error(nil))
	require.EqualError(t, book.Error(errors.New(`no file "x y"`)), `没有文件 "x y"`)
}

func TestTheStepsOfAScheduleAreTranslated(t *testing.T) {
	const english = `two holders: B and C hold the lock at once, in this schedule:
   1. C: request      getData lock-0000000001 and watch
   2. A: expire       A is cut off until its session has expired; getChildren2 lock: the request is lost
                      C gets the event deleted of lock-0000000001; C holds the lock
   3. a day passes
      client: request getChildren2 lock: lock-0000000000; B holds the lock`
	require.Equal(t, `两个持有者：B 和 C 同时持有锁。调度如下：
   1. C: request      getData lock-0000000001，并设置监听
   2. A: expire       A 断线，直到会话过期；getChildren2 lock：请求丢失
                      C 收到 lock-0000000001 的 deleted 事件；C 持有锁
   3. a day passes
      client: request getChildren2 lock: lock-0000000000；B 持有锁`, chinese.Messages.Text(english))
}

func TestTheEnvironmentSaysTheLanguage(t *testing.T) {
	for _, c := range []struct {
		flag, lcAll, lang string
		want              bool
	}{
		{"", "", "", false}, {"", "", "zh_CN.UTF-8", true}, {"", "", "ZH_TW", true}, {"", "en_US.UTF-8", "zh_CN.UTF-8", false},
		{"", "zh_CN.UTF-8", "C", true}, {"en", "zh_CN.UTF-8", "zh_CN.UTF-8", false}, {"zh", "C", "C", true},
	} {
		t.Setenv("LC_ALL", c.lcAll)
		t.Setenv("LANG", c.lang)
		require.Equal(t, c.want, chinese.Wanted(c.flag), "%v", c)
	}
}

// TestEveryTwinTakesTheSameValues of the graders' book.
func TestEveryTwinTakesTheSameValues(t *testing.T) {
	for english, twin := range chinese.Table() {
		require.NoError(t, chinese.Check(english, twin))
	}
	require.Error(t, chinese.Check("%d of %s", "%s"))
	require.Error(t, chinese.Check("all", " "))
}
