package runner

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
)

// A Failure is what a case says of itself when it fails.
type Failure struct {
	i18n.Text
	Place string // in the case's code, for its authors: "cases.go:99 < world.go:12"
}

func (f Failure) String() string { return f.In(i18n.Of("")) + inBrackets(f.Place) }

func inBrackets(place string) string {
	if place == "" {
		return ""
	}
	return " (" + place + ")"
}

// A Verdict is the result of a case.
type Verdict struct {
	Case    string
	Words   i18n.Text // of its failure; empty if it has not failed
	Place   string    // of its first failure, in the case's code
	Skipped string
	Printed string // by the lock
	// Died means that the case has not come to its end: the process has ended, or, if
	// Stuck is set too, the watchdog has ended it.
	Died, Stuck bool
	// Trace is the schedule that has failed, as an address of the lab; "" if the case
	// has no such schedule. See Case.Fail.
	Trace string

	again string // see Case.Again
}

// A Launcher starts the processes of a Judge, and ends them.
type Launcher struct {
	// Command prepares a process of the test binary with the arguments, and with
	// the variables added to its environment.
	Command func(args, env []string) (*exec.Cmd, error)
	// Started is called with a process that has been started.
	Started func(cmd *exec.Cmd)
	// Kill ends a process and all that it has started. It is called for each,
	// perhaps more than once, also when the process itself has ended.
	Kill func(cmd *exec.Cmd)
}

// Remote returns the judge of a test function of another test binary: no lock can
// end it, for it is not part of the process that the lock is in. The test must call
// New once only, or for the wanted cases first.
func Remote(test string, l Launcher) *Judge {
	return &Judge{start: func() (*worker, error) {
		w, err := startWorker(test, "1 "+test, l)
		if err == nil {
			w.sweep = true
		}
		return w, err
	}}
}

// Failed reports whether the case has failed.
func (v Verdict) Failed() bool { return v.Words.En != "" }

// In returns the words of a failure and their place, for a reader of the case's code.
func (v Verdict) In(l i18n.Language) string { return v.Words.In(l) + inBrackets(v.Place) }

func (v *Verdict) fails(failures []Failure) {
	var words []i18n.Text
	for _, f := range failures {
		words = append(words, f.Text)
	}
	v.Words, v.Place = i18n.Join(words, "\n"), failures[0].Place
}

// died returns why a process has ended in the middle of a case.
func died(output string, state *os.ProcessState, left bool) i18n.Text {
	why, rest := "", ""
	for line := range strings.Lines(output) {
		if why == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
			why = strings.TrimSpace(line)
		} else if why != "" {
			rest += line
		}
	}
	switch {
	case strings.Contains(why, "main bubble goroutine has exited"):
		return i18n.Textf(
			"the lock leaks a goroutine: the case is over, every contender has let go, and the goroutine still waits%s", "锁泄漏了 goroutine：用例已经结束，所有竞争者都已释放锁，这个 goroutine 还在等待%s", leakedAt(rest))
	case strings.Contains(why, "all goroutines in bubble are blocked"):
		return i18n.Textf("the lock hangs: every goroutine waits for another one%s", "锁卡住了：所有 goroutine 都在互相等待%s", leakedAt(rest))
	case why != "":
		at := i18n.Text{}
		if place := stackOf(rest, func(string) bool { return true }); place != "" {
			at = i18n.Textf(", in %s", "（%s）", place)
		}
		return i18n.Textf("the lock panics: %s%s", "锁发生 panic：%s%s", strings.TrimPrefix(why, "panic: "), at)
	case left:
		return i18n.Textf("the process ends (%v) after the case is over: the lock calls os.Exit or log.Fatal", "用例结束之后进程退出了（%v）：锁调用了 os.Exit 或 log.Fatal", state)
	}
	return i18n.Textf(
		"the process ends (%v) in the middle of the case: the lock calls os.Exit or log.Fatal; return an error", "用例中途进程退出了（%v）：锁调用了 os.Exit 或 log.Fatal；请返回错误", state)
}

// leakedAt returns where a goroutine that is left waits.
func leakedAt(stacks string) i18n.Text {
	if place := stackOf(stacks, func(block string) bool {
		return strings.Contains(block, "synctest bubble") && !strings.Contains(block, "testing/synctest.Test(")
	}); place != "" {
		return i18n.Textf(" in %s", "（%s）", place)
	}
	return i18n.Text{}
}

// Leaked returns where a goroutine of the lock waits now.
func Leaked() i18n.Text { return leakedAt(bubble.Stacks()) }

// stackOf finds the first goroutine that wanted is true of, and in it the first function that is
// neither of the standard library, the client nor this package.
func stackOf(stacks string, wanted func(block string) bool) string {
	for block := range strings.SplitSeq(stacks, "\n\n") {
		_, frames, ok := strings.Cut(block, "]:\n")
		if !ok || !wanted(block) {
			continue
		}
		lines := strings.Split(frames, "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			function, file := lines[i], strings.TrimSpace(lines[i+1])
			if i := strings.LastIndex(function, "("); i > 0 {
				function = function[:i]
			}
			file, _, _ = strings.Cut(file, " +0x")
			if function == "" || strings.HasPrefix(function, "created by ") || ofOthers(function) {
				continue
			}
			return fmt.Sprintf("%s (%s)", function[strings.LastIndex(function, "/")+1:], file[strings.LastIndexAny(file, `/\`)+1:])
		}
	}
	return ""
}

// ofOthers reports whether a function is of the standard library, whose import paths
// have no dot, or of what a lock is tested with.
func ofOthers(function string) bool {
	first, _, slash := strings.Cut(function, "/")
	if !slash {
		first, _, _ = strings.Cut(function, ".")
		return first != "main" && first != "command-line-arguments"
	}
	if !strings.Contains(first, ".") || strings.HasPrefix(function, "github.com/go-zookeeper/") || strings.HasPrefix(function, "github.com/stretchr/") {
		return true
	}
	function, ours := strings.CutPrefix(function, "example.com/zklock/")
	return ours && slices.ContainsFunc([]string{
		"internal/locktest.", "internal/locktest/runner.", "internal/locktest/stage.", "internal/locktest/leases.", "internal/grader/suites.",
		"zkserver.", "internal/wiretap.", "internal/jute.", "internal/ensemble.", "zklock/zkconn.",
	}, func(tested string) bool { return strings.HasPrefix(function, tested) })
}
