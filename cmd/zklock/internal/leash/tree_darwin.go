package leash

import (
	"syscall"
	"time"
)

var attributes = syscall.SysProcAttr{Setpgid: true} // the command is the leader of a group of processes

// adoptOrphans does nothing: on macOS, process 1 adopts them.
func adoptOrphans() error { return nil }

// eachBelow calls do for the command's group, and waits a moment: a process that was killed does not end at
// once, and stays if nobody reaps it. A process that has left the group is not found.
func eachBelow(group int, do func(pid int)) {
	if group != 0 && syscall.Kill(-group, 0) == nil {
		do(-group)
		late := time.Now().Add(200 * time.Millisecond)
		for syscall.Kill(-group, 0) == nil && time.Now().Before(late) {
			time.Sleep(time.Millisecond)
		}
	}
}
