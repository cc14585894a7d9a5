//go:build unix

package bubble

import (
	"syscall"
	"time"
)

// ProcessorTime is the time that this process has used.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
