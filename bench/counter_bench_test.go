package main

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest"
)

// BenchmarkCounter is the benchmark in Go's form, for benchstat: an
// operation is one whole run, in which n goroutines each lock once. Only what
// the table calls elapsed is in ns/op.
//
//	go test -run '^$' -bench Counter -count 10 ./bench | tee new.txt
//	benchstat -col /lock new.txt
func BenchmarkCounter(b *testing.B) {
	zoo := locktest.Real(b)
	if zoo == nil {
		var err error
		zoo, err = ensemble.Open(b.Context(), ensemble.SpecEmbedded)
		if err != nil {
			b.Fatal(err)
		}
		defer zoo.Close()
	}
	for _, c := range slices.Concat(contestants, peers) {
		if c.name == "curator" {
			continue // it has a JVM to start, and to warm up
		}
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("lock=%s/n=%d", c.name, n), func(b *testing.B) { benchmarkLock(b, zoo, c, n) })
		}
	}
}

func benchmarkLock(b *testing.B, zoo *ensemble.Ensemble, c contestant, n int) {
	cfg := config{locks: []contestant{c}, loads: []load{{n: n, sessions: 1, times: 1}}, rounds: 1, procs: 1, path: "/zklock-bench"}
	var elapsed time.Duration
	var requests, events, bytes float64
	for b.Loop() {
		bench := &benchmark{cfg: cfg, zoo: zoo, progress: newProgress(io.Discard, cfg)}
		if err := bench.openPlayers(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := bench.runAll(b.Context()); err != nil {
			b.Fatal(err)
		}
		r := bench.results[0]
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
