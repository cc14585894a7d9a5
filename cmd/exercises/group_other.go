//go:build !linux && !darwin

package main

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// killGroup ends a process and, on Windows, those that it has started.
func killGroup(pid int) {
	if runtime.GOOS == "windows" {
		exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
	}
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
