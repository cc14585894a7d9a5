//go:build !linux && !darwin

package main

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// Where there are no process groups, a process is limited by the clock, and by what
// locktest watches inside of it.
func confine(*exec.Cmd, limits) {}

func limited([]string) {}

// killGroup ends a process and, on Windows, those that it has started.
func killGroup(pid int) {
	if runtime.GOOS == "windows" {
		exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
	}
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
