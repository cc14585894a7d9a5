package locktest

import (
	"os/exec"
	"strings"
)

// A Verdict is what became of a case.
type Verdict struct {
	Case    string
	Words   string // of its failure; "" if it has not failed
	Skipped string
	Printed string // by the lock
	// Died says that the case has not come to its end: the process has ended, or the
	// watchdog has ended it.
	Died bool
	Says string // what a case of another package says; see Case.Says
	// Trace is the schedule that has failed, as an address of the lab; "" if the case
	// has no such schedule. See Case.Fail.
	Trace string
}

// A Remote has the cases of a test run by a test binary: a judge that is not
// part of the process that the lock is in, and that no lock can end. The test
// must run one suite only, or the wanted one first.
type Remote struct{ g grader }

// A Launcher starts the processes of a Remote, and ends them.
type Launcher struct {
	// Command prepares a process of the test binary with the arguments, and with
	// the variables added to its environment.
	Command func(args, env []string) (*exec.Cmd, error)
	// Started is told of a process that has been started.
	Started func(cmd *exec.Cmd)
	// Kill ends a process and all that it has started. It is called for each,
	// perhaps more than once, also when the process itself has ended.
	Kill func(cmd *exec.Cmd)
}

// NewRemote returns a Remote for a test function.
func NewRemote(test string, l Launcher) *Remote {
	return &Remote{grader{start: func() (*worker, error) {
		w, err := startWorker(test, "1 "+test, l)
		if err == nil {
			w.sweep = true
		}
		return w, err
	}}}
}

// Ask has one case run, which must be one of the test's suite.
func (r *Remote) Ask(name string) Verdict { return r.AskAbout(name, "") }

// AskAbout has a case of another package run, and tells it more than the name.
func (r *Remote) AskAbout(name, about string) Verdict {
	v := r.g.ask(request{Case: name, About: about})
	return Verdict{name, strings.Join(v.failures, "\n"), v.skipped, v.output, v.stuck || v.died, v.says, v.trace}
}

// Close ends the process that runs the cases. The next case begins a new one.
func (r *Remote) Close() { r.g.close() }
