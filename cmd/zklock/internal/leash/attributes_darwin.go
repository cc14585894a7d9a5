package leash

import "syscall"

// The command is the leader of a group of processes.
var attributes = syscall.SysProcAttr{Setpgid: true}
