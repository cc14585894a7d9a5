package leash

import (
	"syscall"
	"time"
)

// The command is the leader of a group of processes.
var attributes = syscall.SysProcAttr{Setpgid: true}

// adopt: nothing here gives a process that has lost its parent to one of ours.
func adopt() error { return nil }

// below calls do for the command's group, and waits a moment: a process that was killed does not end at
// once, and stays if nobody reaps it. A process that has left the group is not found.
func below(group int, do func(pid int)) {
	if group != 0 && syscall.Kill(-group, 0) == nil {
		do(-group)
		for began := time.Now(); syscall.Kill(-group, 0) == nil && time.Since(began) < 200*time.Millisecond; {
			time.Sleep(time.Millisecond)
		}
	}
}
