package main

import "syscall"

// executable is this program, also if its file has been replaced since.
func executable() string { return "/proc/self/exe" }

// attributes has the kernel kill the command's first process when this one's main thread ends,
// in case this process and both guards are killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
