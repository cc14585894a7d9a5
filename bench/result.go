package main

import (
	"time"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// A result is one run of one lock. The names in JSON are fixed.
type result struct {
	Lock        string        `json:"lock"`
	Server      string        `json:"server"`
	Goroutines  int           `json:"goroutines"`
	Sessions    int           `json:"sessions"`
	Round       int           `json:"round"` // from 1
	Count       int           `json:"count"`
	Processes   int           `json:"processes"`
	Total       int           `json:"total"` // of all processes
	Elapsed     time.Duration `json:"elapsed_ns"`
	Requests    int64         `json:"requests"` // pings left out
	WatchEvents int64         `json:"watch_events"`
	Bytes       int64         `json:"bytes"` // both ways
	Error       string        `json:"error"` // "" if all went well

	Status       string           `json:"status"`
	Kinds        map[string]int64 `json:"requests_by_kind"`
	WakeUps      int64            `json:"wake_ups"`      // see wiretap.Counts
	Predicted    float64          `json:"predicted"`     // requests, by the step's formula; 0: none
	WaitP50      time.Duration    `json:"wait_p50_ns"`   // from asking for the lock to having it
	WaitP99      time.Duration    `json:"wait_p99_ns"`   //
	WaitMax      time.Duration    `json:"wait_max_ns"`   //
	Overtaken    float64          `json:"overtaken"`     // mean, see overtakings
	OvertakenMax int              `json:"overtaken_max"` // of the one who was overtaken most often
	Client       string           `json:"client"`        // library and version
	facts

	contestant contestant
	waits      []time.Duration // sorted
}

// What has become of a run. In all but the first Error says why.
const (
	statusOK      = "ok"
	statusFailed  = "failed"
	statusStopped = "stopped"    // it came to the limit
	statusSkipped = "skipped"    // a smaller one did
	statusNone    = "cannot run" // what it needs is not there
	statusWarmUp  = "warm-up"    // went well, and is reported apart
)

// fared notes what the contenders went through.
func (r *result) fared(turns []turn) {
	r.waits = waitTimes(turns)
	r.WaitP50, r.WaitP99, r.WaitMax = quantile(r.waits, 0.5), quantile(r.waits, 0.99), quantile(r.waits, 1)
	r.Overtaken, r.OvertakenMax = overtakings(turns)
}

// used notes what has crossed the wire.
func (r *result) used(c wiretap.Counts) {
	delete(c.Requests, jute.OpCloseSession) // the end of the client, not of the lock
	r.Requests, r.WatchEvents, r.WakeUps, r.Bytes = c.Total(), c.Events, c.WakeUps, c.BytesIn+c.BytesOut
	r.Kinds = make(map[string]int64)
	for op, k := range c.Requests {
		if op != jute.OpPing && op != jute.OpSetWatches { // as in Total
			r.Kinds[kind(op)] += k
		}
	}
}

// kind is what an operation is called here: variants that serve the same end
// have one name.
func kind(op jute.Op) string {
	switch op {
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return "create"
	case jute.OpGetChildren, jute.OpGetChildren2:
		return "children"
	case jute.OpGetData:
		return "get"
	}
	return op.String()
}
