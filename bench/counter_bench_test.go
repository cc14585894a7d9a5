package main

import (
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
)

// BenchmarkCounter is the benchmark in Go's form, for benchstat: an
// operation is one whole run, in which n goroutines each lock once. Only what
// the table calls elapsed is in ns/op.
//
//	go test -run '^$' -bench Counter -count 10 ./bench | tee new.txt
//	benchstat -col /lock new.txt
func BenchmarkCounter(b *testing.B) {
	for _, c := range onZooKeeper() {
		if c.Name == "curator" {
			continue // it has a JVM to start, and to warm up
		}
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("lock=%s/n=%d", c.Name, n), func(b *testing.B) { benchmarkLock(b, c.Name, n) })
		}
	}
}

func benchmarkLock(b *testing.B, lock string, n int) {
	cfg := testenv.Must(parseFlags([]string{"-locks", lock, "-n", strconv.Itoa(n), "-warmup", "0s"}, io.Discard))(b)
	zoo := testenv.Must(ensemble.Open(b.Context(), cfg.zk))(b)
	defer zoo.Close()
	var elapsed time.Duration
	var requests, events, bytes float64
	for b.Loop() {
		results := testenv.Must(cfg.measure(b.Context(), zoo, &stdoutWriter{Writer: io.Discard}, io.Discard))(b)
		r := results[0]
		elapsed += r.Elapsed
		requests += float64(r.Requests)
		events += float64(r.WatchEvents)
		bytes += float64(r.Bytes)
	}
	acquisitions := float64(b.N * n)
	b.ReportMetric(float64(elapsed)/float64(b.N), "ns/op")
	b.ReportMetric(requests/acquisitions, "requests/acq")
	b.ReportMetric(events/acquisitions, "events/acq")
	b.ReportMetric(bytes/acquisitions, "bytes/acq")
}
