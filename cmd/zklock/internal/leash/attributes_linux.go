package leash

import "syscall"

// The command is the leader of a group of processes. The kernel kills it when the main thread of
// this process ends, in case this process and both guards are killed.
var attributes = syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
