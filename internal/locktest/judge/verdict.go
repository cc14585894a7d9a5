package judge

import "os/exec"

// A Verdict is the result of a case.
type Verdict struct {
	Case    string
	Words   string // of its failure; "" if it has not failed
	Skipped string
	Printed string // by the lock
	// Died means that the case has not come to its end: the process has ended, or, if
	// Stuck is set too, the watchdog has ended it.
	Died, Stuck bool
	Says        string // see Case.Says
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
