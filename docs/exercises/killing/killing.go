// Package killing has the locks on which exercise 11 plays a student's schedules:
// right ones, and ten that are wrong in one place. A good schedule passes on each
// right lock. It kills a mutant if it fails on it.
//
// All but one of the locks are of one type, and each is played on in a process of
// its own, so that a schedule can distinguish them only by what they do.
package killing

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	predecessor "example.com/zklock/03-sequential-predecessor"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/locktest/judge"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/stage"
)

// A rightLock is a lock without a mistake.
type rightLock struct {
	name language.Text // of the case
	help language.Text // the difference from step 3
	broken.Manner
}

var rights = []rightLock{
	{name: language.Say("no false alarm: step 3's lock", "没有误报：第 3 步的锁")}, // step 3 itself
	{
		language.Say("no false alarm: a right lock with other names, which sends more requests", "没有误报：一个正确的锁，名字不同，请求更多"),
		language.Say("its nodes are named otherwise and have data, its errors read otherwise, and it sends requests that it does not need", "节点名不同，还带有数据，错误信息的措辞不同，还会发送一些多余的请求"),
		broken.Manner{Names: "contender-", Says: "queue", Data: "x", More: true},
	},
	{
		language.Say("no false alarm: a right lock that watches with exists", "没有误报：一个正确的锁，用 exists 设置监听"),
		language.Say("it watches with exists, and lists the queue again if there was no node", "用 exists 设置监听，如果节点不存在，就重新读列表"),
		broken.Manner{Exist: true},
	},
	{
		language.Say("no false alarm: a right lock that lists the queue less often", "没有误报：一个正确的锁，读列表的次数较少"),
		language.Say("if the node that has gone was the only one before its own, it looks at its own node only", "消失的节点如果是前面唯一的一个，就只看自己的节点"),
		broken.Manner{Less: true},
	},
}

// A mutant is step 3 with one place changed.
type mutant struct {
	harm language.Text // what it does wrong, in the words of the case
	file string        // of the folder mutants: its bug in package broken, and the change of step 3's lock.go
}

var tenMutants = []mutant{
	{language.Say("a holder that dies keeps the lock", "持有者宕机，却一直占着锁"), "not-ephemeral"},
	{language.Say("a waiter that is woken takes the lock", "等待者一醒来就当作拿到锁"), "no-look-after-waking"},
	{language.Say("a release is missed between looking and watching", "查看之后、监听之前的释放会漏掉"), "look-first-watch-later"},
	{language.Say("a child that is not a contender is waited for", "不属于竞争者的子节点，也去等"), "every-child-is-a-contender"},
	{language.Say("a release wakes more than one waiter", "一次释放唤醒不止一个等待者"), "everybody-is-watched"},
	{language.Say("a waiter without a node gets in", "没有节点的等待者也能拿到锁"), "own-node-is-not-looked-for"},
	{language.Say("two hold the lock after a waiter has left in the wrong instant", "等待者恰在要紧的瞬间离开，出现两个持有者"), "gone-before-it-is-watched"},
	{language.Say("an Unlock that fails cannot be repeated", "Unlock 失败之后，不能再试一次"), "unlock-forgets-too-early"},
	{language.Say("a contender waits for itself", "竞争者在等自己"), "a-lost-create-is-sent-again"},
	{language.Say("a Lock that has failed blocks the queue", "Lock 失败之后，堵住了队列"), "a-broken-connection-is-taken-for-an-expired-session"},
}

const (
	// Count is how many mutants there are.
	Count = 10
	// Shown is how many of them a student sees.
	Shown = 4
	// MaxSchedules is how many schedules one attempt may have.
	MaxSchedules = 30

	play   = "a schedule" // the name of each test in which one is played
	listed = "names"      // what is asked for before
)

func dies(i int) language.Text {
	return language.Say("mutant %d dies: %s", "变异体 %d 已死：%s", i+1, tenMutants[i].harm)
}

// Cases are the names of all cases and of the basic ones, in the order in which
// Judge has them.
func Cases() (all, basic []language.Text) {
	for _, r := range rights {
		all = append(all, r.name)
	}
	for i := range tenMutants {
		all = append(all, dies(i))
	}
	return all, all[:len(rights)+Shown]
}

// names are those of cases, without their glosses.
func names(cases []language.Text) (list []string) {
	for _, c := range cases {
		list = append(list, c.En)
	}
	return list
}

// An Outcome is what became of a case.
type Outcome struct {
	Case    string
	Words   language.Text // why it has not passed; empty if it has
	Printed string
	Killed  language.Text // how a mutant has died, in a line
}

// Score says how many mutants have died.
func Score(killed int) language.Text {
	return language.Say("%d of %d mutants are dead", "%[2]d 个变异体，已死 %[1]d 个", killed, Count)
}

// Judge plays the schedules of a test of Run. Wanted are the cases that are to be
// judged, and each is called with what became of a case; if it returns false, the rest is
// left out. A schedule that fails on a right lock that is wanted kills no mutant.
func Judge(r *judge.Judge, wanted []string, each func(Outcome) bool) {
	v := r.AskAbout(play, listed)
	r.Close()
	names := strings.Split(v.Says, "\n")
	why := language.Text{}
	switch {
	case v.Failed():
		why = ofSchedule(v.Words)
	case v.Says == "":
		why = language.Say("there is no schedule: add one to Schedules", "还没有调度：请在 Schedules 里添加一个")
	case len(names) > MaxSchedules:
		why = language.Say("there are %d schedules, and %d are enough", "调度有 %d 个，其实 %d 个就够了", len(names), MaxSchedules)
	}
	liars := make(map[int]bool) // that fail on a right lock
	one := func(i, lock int) judge.Verdict {
		v := r.AskAbout(play, fmt.Sprint(lock, " ", i))
		if v.Died {
			v.Words = ofSchedule(v.Words)
		} else if v.Failed() {
			v.Words = said(v)
		}
		return v
	}
	all, _ := Cases()
	for n, c := range all {
		name := c.En
		if !slices.Contains(wanted, name) {
			continue
		}
		o := Outcome{Case: name, Words: why, Printed: v.Printed}
		if why.En == "" {
			play := func(i int) judge.Verdict { return one(i, n) }
			if n < len(rights) {
				o = falseAlarms(name, rights[n].help, names, play, liars)
			} else {
				o = killed(name, n-len(rights), names, play, liars)
			}
			r.Close() // the next lock has another process
		}
		if !each(o) {
			return
		}
	}
}

// ofStage matches a place that is not in a student's schedule.
var ofStage = regexp.MustCompile(`^(stage|held|gap|killing|museum|case)\.go:`)

// said is the message of a schedule that fails, in a line, with the place in the schedule.
// A message of the student's own is not translated.
func said(v judge.Verdict) language.Text {
	t := inOneLine(v.Words)
	if t.En == t.Zh {
		for _, a := range assertions {
			t.Zh = regexp.MustCompile(a.says).ReplaceAllString(t.Zh, a.zh)
		}
		t.Zh = "断言没有通过：" + t.Zh
	}
	for _, place := range strings.Split(v.Place, " < ") {
		if place != "" && !ofStage.MatchString(place) {
			return language.Say("%s, at %s", "%s（%s）", t, place)
		}
	}
	return t
}

// assertions are what testify says in a line, and the same in Chinese.
var assertions = []struct{ says, zh string }{
	{`Not equal: expected: (.*) actual ?: `, "不相等：期望 ${1}，实际 "}, {`Error message not equal: expected: (.*) actual ?: `, "错误信息不同：期望 ${1}，实际 "},
	{`Received unexpected error: `, "不应有错误，实际是："}, {`An error is expected but got nil\.`, "应有错误，实际是 nil"},
	{`Target error should be in err chain: expected: (.*) in chain:`, "错误应当包装 ${1}，实际是"},
	{`Target error should not be in err chain: found: (.*) in chain:`, "错误不应包装 ${1}，实际是"},
	{`Expected error with (.*) in chain but got nil\.`, "应有包装 ${1} 的错误，实际是 nil"}, {`Error (".*") does not contain (".*")$`, "错误 $1 里没有 $2"},
	{`Expected value not to be nil\.`, "不应为 nil"}, {`Expected nil, but got: `, "应为 nil，实际是 "}, {`Should be (true|false)$`, "应为 $1"},
	{`Should be empty, but was `, "应为空，实际是 "}, {`Should NOT be empty, but was.*`, "不应为空"},
	{`Should be zero, but was `, "应为零值，实际是 "}, {`Should not be(?: zero, but was|:) `, "不应为 "},
	{`(".*") should have (\d+) item\(s\), but has (\d+)`, "$1 应有 $2 个元素，实际有 $3 个"},
	{`"(.*)" is not greater than or equal to "(.*)"$`, "$1 应当大于或等于 $2"}, {`"(.*)" is not greater than "(.*)"$`, "$1 应当大于 $2"},
	{`"(.*)" is not less than or equal to "(.*)"$`, "$1 应当小于或等于 $2"}, {`"(.*)" is not less than "(.*)"$`, "$1 应当小于 $2"},
	{` should not contain `, " 里不应有 "}, {` does not contain `, " 里没有 "},
}

// inOneLine is a message of several lines, without testify's comparison of long values.
func inOneLine(t language.Text) language.Text {
	in := func(words string) string {
		words, _, _ = strings.Cut(words, "\n    Diff:")
		return strings.Join(strings.Fields(words), " ")
	}
	return language.Text{En: in(t.En), Zh: in(t.Zh)}
}

// ofSchedule says of a schedule what package locktest says of a lock.
func ofSchedule(t language.Text) language.Text {
	return language.Text{En: strings.Replace(t.En, "the lock", "the schedule", 1), Zh: strings.Replace(t.Zh, "锁", "调度", 1)}
}

func falseAlarms(name string, help language.Text, names []string, play func(i int) judge.Verdict, liars map[int]bool) Outcome {
	o := Outcome{Case: name}
	var all []language.Text
	for i, schedule := range names {
		v := play(i)
		if !v.Failed() {
			continue
		}
		liars[i] = true
		if o.Printed == "" {
			o.Printed = v.Printed
		}
		why := language.Say("schedule %q fails on a lock that is right: %s", "调度 %q 在正确的锁上也失败了：%s", schedule, v.Words)
		if help.En != "" {
			why = language.Say(
				"%s\n    This lock differs from step 3 in this: %s. Assert what a lock promises, not how it does it.", "%s\n    这个锁与第 3 步的不同之处：%s。请断言锁承诺了什么，而不是它怎样做到。", why, help)
		}
		all = append(all, why)
	}
	o.Words = language.Join(all, "\n")
	return o
}

func killed(name string, i int, names []string, play func(i int) judge.Verdict, liars map[int]bool) Outcome {
	o := Outcome{Case: name}
	passed := 0
	var not []language.Text
	for j, schedule := range names {
		if liars[j] {
			not = append(not, language.Say("schedule %q does not count, for it fails on a right lock", "调度 %q 不算数，因为它在正确的锁上也失败", schedule))
			continue
		}
		v := play(j)
		switch {
		case !v.Failed():
			passed++
		case v.Died:
			not = append(not, language.Say(
				"schedule %q does not come to its end: %s. That kills no mutant; say with an assertion what is wrong", "调度 %q 没有运行完：%s。这样消灭不了变异体；请用断言说明错在哪里", schedule, v.Words))
			o.Printed = v.Printed
		default:
			o.Killed = language.Say("schedule %q: %s", "调度 %q：%s", schedule, v.Words)
			o.Printed = ""
			return o
		}
	}
	words := []language.Text{language.Say("mutant %d lives: %d of %d schedules pass on it", "变异体 %[1]d 还活着：%[3]d 个调度，通过了 %[2]d 个", i+1, passed, len(names))}
	for _, t := range not {
		words = append(words, language.Say("    %s", "    %s", t))
	}
	if i < Shown {
		words = append(words, language.Same(Diff(i)))
	} else {
		words = append(words, language.Say(
			"    Its harm: %s. Which line of step 3 prevents that? Write the order of events in which the line is needed.",
			"    危害：%s。第 3 步的哪一行防止了它？请写出需要这一行的事件次序。", tenMutants[i].harm))
	}
	o.Words = language.Join(words, "\n")
	return o
}

// Diff shows the i-th mutant, from 0, as a change of step 3's lock.go.
func Diff(i int) string {
	c := change(i)
	old, changed := strings.Split(c.old, "\n"), strings.Split(c.new, "\n")
	same := 0
	for same < len(old) && same < len(changed) && old[same] == changed[same] {
		same++
	}
	var lines []string
	line := func(mark, text string) { lines = append(lines, "    "+mark+" "+strings.TrimSpace(text)) }
	for n := range same {
		line(" ", old[n])
	}
	for _, text := range old[same:] {
		line("-", text)
	}
	for _, text := range changed[same:] {
		line("+", text)
	}
	return strings.Join(lines, "\n")
}

// List lists the mutants for a page in a language.
func List(l language.Language) string {
	var b strings.Builder
	for i, m := range tenMutants {
		harm := []rune(m.harm.In(l))
		fmt.Fprintf(&b, "%d. %s%s\n", i+1, strings.ToUpper(string(harm[:1])), string(harm[1:]))
		if i < Shown {
			fmt.Fprintf(&b, "\n   ```diff\n%s\n   ```\n\n", strings.ReplaceAll("\n"+Diff(i), "\n    ", "\n   ")[1:])
		}
	}
	return b.String()
}

// Patched is step 3's lock.go with the change of a mutant, by its place among
// them, from 0.
func Patched(i int, step3 string) (string, error) { return change(i).Of(step3) }

// Mutant makes contenders of a mutant, by its place among them, from 0.
func Mutant(i int) stage.NewLock { return makes(len(rights) + i) }

// makes returns a function that makes contenders of a lock, by its place among the
// cases. A schedule cannot find out from a type, name or address which lock it has.
func makes(n int) stage.NewLock {
	return func(conn *zk.Conn, path string) stage.Lock {
		var l stage.Lock
		switch {
		case n == 0:
			l = predecessor.New(conn, path)
		case n < len(rights):
			l = broken.With(rights[n].Manner, "none", conn, path)
		default:
			l = broken.New(change(n-len(rights)).Head, conn, path)
		}
		return stage.Calls{CallLock: func() error { return l.Lock() }, CallUnlock: func() error { return l.Unlock() }}
	}
}

// Run judges schedules in a test: one case each as a subtest. The plays run in
// processes of the same binary, so that one that loops or ends its process costs
// its case and no more.
func Run(t *testing.T, schedules []stage.Schedule) {
	t.Helper()
	museum.NeedsEmbedded(t)
	r := judge.New(t, func(c *judge.Case) { serve(c, schedules) })
	if r == nil {
		return
	}
	all, _ := Cases()
	killed, reads := 0, language.Of("")
	Judge(r, names(all), func(o Outcome) bool {
		t.Run(o.Case, func(t *testing.T) {
			if o.Printed != "" {
				t.Log(language.Say("the schedule has printed:\n%s", "调度打印了：\n%s", o.Printed).In(reads))
			}
			if o.Words.En != "" {
				t.Error(o.Words.In(reads))
			}
			if o.Killed.En != "" {
				killed++
				t.Log(o.Killed.In(reads))
			}
		})
		return true
	})
	t.Log(Score(killed).In(reads))
}

// serve runs in the process that plays.
func serve(c *judge.Case, schedules []stage.Schedule) {
	if c.About == listed {
		var names []string
		for i, s := range schedules {
			names = append(names, strings.Join(strings.Fields(fmt.Sprintf("%d %s", i+1, s.Name)), " "))
		}
		c.Says(strings.Join(names, "\n"))
		return
	}
	a, b, _ := strings.Cut(c.About, " ")
	lock, err := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil || n >= len(schedules) || lock >= len(rights)+Count {
		c.Failf("no play is called %q", "没有 %q 这样的运行", c.About)
	}
	fails := func(t *testing.T) require.TestingT { return c.In(t) }
	stage.Play(c.T, stage.Setting{Lock: makes(lock), Fails: fails}, func(s *stage.Stage) {
		c := c.In(s.T) // of the bubble
		defer c.Left()
		c.Observe(s.Server)
		defer c.Bound()()
		c.Call(schedules[n].Name, func() { schedules[n].Play(s) })
	})
}
