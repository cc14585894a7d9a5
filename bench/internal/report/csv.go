package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

// csvColumns are the columns of -csv, named as in JSON, but that each kind of
// request has a column of its own, and the list of waits has none.
var csvColumns = []struct {
	name  string
	value func(Run) string
}{
	{"lock", func(r Run) string { return r.Lock }},
	{"server", func(r Run) string { return r.Server }},
	{"goroutines", func(r Run) string { return strconv.Itoa(r.Goroutines) }},
	{"sessions", func(r Run) string { return strconv.Itoa(r.Sessions) }},
	{"times", func(r Run) string { return strconv.Itoa(r.Times) }},
	{"round", func(r Run) string { return strconv.Itoa(r.Round) }},
	{"status", func(r Run) string { return r.Status }},
	{"count", func(r Run) string { return strconv.Itoa(r.Count) }},
	{"processes", func(r Run) string { return strconv.Itoa(r.Processes) }},
	{"total", func(r Run) string { return strconv.Itoa(r.Total) }},
	{"rtt_ns", func(r Run) string { return integer(r.RTT) }},
	{"elapsed_ns", func(r Run) string { return integer(r.Elapsed) }},
	{"attempts", func(r Run) string { return integer(r.Attempts) }},
	{"requests", func(r Run) string { return integer(r.Requests) }},
	{"predicted", func(r Run) string { return strconv.FormatFloat(r.Predicted, 'f', -1, 64) }},
	{"requests_create", func(r Run) string { return integer(r.Kinds["create"]) }},
	{"requests_children", func(r Run) string { return integer(r.Kinds["children"]) }},
	{"requests_get", func(r Run) string { return integer(r.Kinds["get"]) }},
	{"requests_delete", func(r Run) string { return integer(r.Kinds["delete"]) }},
	{"requests_other", func(r Run) string { return integer(r.OtherKinds()) }},
	{"watch_events", func(r Run) string { return integer(r.WatchEvents) }},
	{"wake_ups", func(r Run) string { return integer(r.WakeUps) }},
	{"bytes", func(r Run) string { return integer(r.Bytes) }},
	{"wait_p50_ns", func(r Run) string { return integer(r.WaitP50) }},
	{"wait_p99_ns", func(r Run) string { return integer(r.WaitP99) }},
	{"wait_max_ns", func(r Run) string { return integer(r.WaitMax) }},
	{"overtaken", func(r Run) string { return strconv.FormatFloat(r.Overtaken, 'f', -1, 64) }},
	{"overtaken_max", func(r Run) string { return strconv.Itoa(r.OvertakenMax) }},
	{"client", func(r Run) string { return r.Client }},
	{"servers", func(r Run) string { return strings.Join(r.Members, "; ") }},
	{"go", func(r Run) string { return r.Go }},
	{"os", func(r Run) string { return r.OS }},
	{"cpu", func(r Run) string { return r.CPU }},
	{"cpus", func(r Run) string { return strconv.Itoa(r.CPUs) }},
	{"began", func(r Run) string { return r.Began.Format(time.RFC3339) }},
	{"command", func(r Run) string { return r.Command }},
	{"error", func(r Run) string { return r.Error }},
}

func integer[T ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// WriteCSV writes every run, as comma-separated values.
func WriteCSV(w io.Writer, results []Run) error {
	records := [][]string{nil}
	for _, c := range csvColumns {
		records[0] = append(records[0], c.name)
	}
	for _, r := range results {
		var record []string
		for _, c := range csvColumns {
			record = append(record, c.value(r))
		}
		records = append(records, record)
	}
	return csv.NewWriter(w).WriteAll(records)
}
