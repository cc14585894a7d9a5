// Package report has the results of the benchmark, and their outputs: the tables on
// the terminal, JSON, and a page with charts.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// A Run is one run of one lock. The names in JSON are fixed.
type Run struct {
	Lock        string        `json:"lock"`
	Server      string        `json:"server"`
	Goroutines  int           `json:"goroutines"`
	Sessions    int           `json:"sessions"`
	Times       int           `json:"times"` // how many times each goroutine locks
	Round       int           `json:"round"` // from 1
	Count       int           `json:"count"` // what the goroutines of this process have counted to
	Processes   int           `json:"processes"`
	RTT         time.Duration `json:"rtt_ns"` // put between the clients and the server
	Total       int           `json:"total"`  // the count of all processes
	Elapsed     time.Duration `json:"elapsed_ns"`
	Requests    int64         `json:"requests"` // pings left out
	WatchEvents int64         `json:"watch_events"`
	Bytes       int64         `json:"bytes"` // both ways
	Error       string        `json:"error"` // "" if all went well

	Attempts     int64            `json:"attempts"` // to get the lock; on ZooKeeper: nodes that were asked for
	Status       string           `json:"status"`
	Kinds        map[string]int64 `json:"requests_by_kind"`
	WakeUps      int64            `json:"wake_ups"`      // see wiretap.Counts
	Predicted    float64          `json:"predicted"`     // requests, by the step's formula; 0: none
	WaitP50      time.Duration    `json:"wait_p50_ns"`   // the median, from the call of Lock to its return
	WaitP99      time.Duration    `json:"wait_p99_ns"`   // the 99th percentile
	WaitMax      time.Duration    `json:"wait_max_ns"`   // the longest
	Overtaken    float64          `json:"overtaken"`     // mean, see overtakings
	OvertakenMax int              `json:"overtaken_max"` // of the contender that was overtaken most often
	Client       string           `json:"client"`        // library and version
	Facts

	// Waits are the quantiles 0, 1/20, 2/20 and so on to 1 of the contenders' waits.
	Waits []time.Duration `json:"waits_ns"`

	Says  i18n.Text `json:"-"` // Error in both languages, if the benchmark has said it
	Where i18n.Text `json:"-"` // Server in both languages, if it is ours
	About About     `json:"-"`
	Aside bool      `json:"-"` // it is in the second table
}

// An About is the tables' text on a lock besides its figures.
type About struct {
	Article map[int]time.Duration // article A's times, by the number of threads
	Unsafe  i18n.Text             // of one that is not a lock: what it does in place of one
	Formula string                // of the requests for one acquisition; "": none
	System  string                // that the lock is on; "": ZooKeeper
}

// The values of Run.Status. With all but StatusOK and StatusWarmUp, Error says why.
const (
	StatusOK      = "ok"
	StatusFailed  = "failed"
	StatusStopped = "stopped"    // it reached the limit
	StatusSkipped = "skipped"    // a run with fewer goroutines reached the limit
	StatusNotRun  = "not run"    // another one failed before
	StatusNone    = "cannot run" // something that it needs is missing
	StatusWarmUp  = "warm-up"    // it went well, and is reported apart
)

func (r Run) why(l i18n.Language) string { return cmp.Or(r.Says.In(l), r.Error) }

// waitSteps is how many steps the line of a lock has in a chart of the waits.
const waitSteps = 20

// SetTurns sets how the contenders have waited.
func (r *Run) SetTurns(turns []Turn) {
	waits := waitTimes(turns)
	r.WaitP50, r.WaitP99, r.WaitMax = quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 1)
	r.Waits = nil
	for i := range waitSteps + 1 {
		r.Waits = append(r.Waits, quantile(waits, float64(i)/waitSteps))
	}
	r.Overtaken, r.OvertakenMax = overtakings(turns)
}

// SetCounts sets what has crossed the wire.
func (r *Run) SetCounts(c wiretap.Counts) {
	delete(c.Requests, jute.OpCloseSession) // the end of the client, not of the lock
	r.Requests, r.WatchEvents, r.WakeUps, r.Bytes = c.Total(), c.Events, c.WakeUps, c.BytesIn+c.BytesOut
	r.Kinds = make(map[string]int64)
	for op, k := range c.Requests {
		if op != jute.OpPing && op != jute.OpSetWatches { // as in Total
			r.Kinds[kindName(op)] += k
		}
	}
	r.Attempts = r.Kinds["create"]
}

// kindName is the name of an operation in the tables: variants with the same purpose have one name.
func kindName(op jute.Op) string {
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

// Distinct returns what of returns for some runs or groups, each value once and without the zero value.
func Distinct[T any, V comparable](all []T, of func(T) V) (values []V) {
	var zero V
	for _, one := range all {
		if v := of(one); v != zero && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// WriteJSON writes every run, as an array.
func WriteJSON(w io.Writer, results []Run) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(results)
}

// Facts describe the server and the machine that a figure was measured on.
type Facts struct {
	Members []string  `json:"servers"` // version and mode of each
	Go      string    `json:"go"`
	OS      string    `json:"os"`
	CPU     string    `json:"cpu"`
	CPUs    int       `json:"cpus"`
	Began   time.Time `json:"began"`
	Command string    `json:"command"`
}

// GatherFacts asks the system. Members are the ZooKeeper servers.
func GatherFacts(members []string) Facts {
	return Facts{
		Members: members,
		Go:      runtime.Version(),
		OS:      valueIn("/etc/os-release", "PRETTY_NAME=", runtime.GOOS) + ", " + runtime.GOARCH,
		CPU:     valueIn("/proc/cpuinfo", "model name", "of unknown make"),
		CPUs:    runtime.NumCPU(),
		Began:   time.Now().Truncate(time.Second),
	}
}

// valueIn returns what follows a key at the beginning of a line, which only some systems have.
func valueIn(file, key, otherwise string) string {
	b, _ := os.ReadFile(file) // a file that is not there has no lines
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key); ok {
			return strings.Trim(v, "\t\n :\"")
		}
	}
	return otherwise
}

// GoClient is the client library of all but Curator, with its version if the program's build information has it.
var GoClient = func() string {
	const module = "github.com/go-zookeeper/zk"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return "go-zookeeper " + dep.Version
			}
		}
	}
	return "go-zookeeper"
}()

// CheckFile says why WriteFile could not write a file, and leaves it as it is.
func CheckFile(name string) error {
	_, missing := os.Lstat(name) // an error if there is no such file
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	f.Close()
	if missing != nil {
		return os.Remove(name)
	}
	return nil
}

// WriteFile replaces a file's text by what write writes. If write fails, the file stays as it was; on a full disk, not.
func WriteFile(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}
