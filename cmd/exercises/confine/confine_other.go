//go:build !linux && !darwin

package confine

import "os/exec"

// Limit does nothing: where there are no process groups, a process is limited by the clock, and by
// what locktest watches inside of it.
func Limit(*exec.Cmd, int, int64) {}
