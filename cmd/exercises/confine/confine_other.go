//go:build !linux && !darwin

package confine

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// Limit does nothing: without process groups, only the clock and what locktest watches inside limit a process.
func Limit(_ *exec.Cmd, seconds int, memory int64) {}

// KillGroup ends a process and, on Windows, those that it has started.
func KillGroup(pid int) {
	if runtime.GOOS == "windows" {
		exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
	}
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
