//go:build !unix

package judge

import "time"

var started = time.Now()

// processorTime is the time since the process has begun: what it uses of the
// processor is not known here.
func processorTime() time.Duration { return time.Since(started) }
