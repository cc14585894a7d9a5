//go:build !unix

package bubble

import "time"

var started = time.Now()

// ProcessorTime is the time since the process has begun: the time that it uses of the processor is not known here.
func ProcessorTime() time.Duration { return time.Since(started) }
