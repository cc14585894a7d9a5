package runner

import (
	"os/exec"

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

// A Verdict is how a case has ended.
type Verdict struct {
	Case    string
	Words   i18n.Text // of its failure; empty if it has not failed
	Place   string    // of its first failure, in the case's code
	Skipped string
	Printed string // by the lock
	// Died means that the process has ended before the case; if Stuck is set too, the watchdog has ended it.
	Died, Stuck bool
	// Trace is the schedule that has failed, as an address of the lab; "" if the case has no such schedule. See Case.Fail.
	Trace string
	again string // if the case is to run again, what About returns in the new process
}

func (v Verdict) Failed() bool { return v.Words.String() != "" }

// In returns the words of a failure and their place, for a reader of the case's code.
func (v Verdict) In(l i18n.Language) string { return v.Words.In(l) + inBrackets(v.Place) }

// fails fills in the words of some failures, and the place of the first.
func (v *Verdict) fails(failures []Failure) {
	var words []i18n.Text
	for _, f := range failures {
		words = append(words, f.Text)
	}
	v.Words, v.Place = i18n.Join(words, "\n"), failures[0].Place
}

// A Launcher starts the processes of a Judge, and ends them.
type Launcher struct {
	// Command prepares a process of the test binary with the arguments, and with the variables added to its environment.
	Command func(args, env []string) (*exec.Cmd, error)
	// Started is called with a process that has been started.
	Started func(cmd *exec.Cmd)
	// Kill ends a process and all that it has started. It is called at least once for each, also for one that has ended.
	Kill func(cmd *exec.Cmd)
}

// Remote returns the judge of a test function of another test binary. No lock can end this judge, because the lock is
// in another process. If the test calls New more than once, the first call must be that for the wanted cases.
func Remote(test string, l Launcher) *Judge {
	return &Judge{start: func() (*worker, error) {
		w, err := startWorker(test, "1 "+test, l)
		if err == nil {
			w.sweep = true
		}
		return w, err
	}}
}
