//go:build linux || darwin

package main

import "syscall"

// killGroup ends a process and the group that it leads.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
