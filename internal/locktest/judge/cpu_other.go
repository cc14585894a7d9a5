//go:build !unix

package judge

import "time"

var started = time.Now()

// processorTime is the time since the process has begun: the time that it uses of the
// processor is not known here.
func processorTime() time.Duration { return time.Since(started) }
