package main

import (
	"cmp"
	"slices"
	"time"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/language"
)

// A load is the work that a run gives to a lock.
type load struct {
	n        int  // goroutines
	sessions int  // that they share
	times    int  // that each of them locks
	aside    bool // its rows are in the second table
}

// everyday are the loads of the second table: what a lock costs a program that
// is alone, and one of many processes. Both count to the same number.
var everyday = []load{
	{n: 1, sessions: 1, times: 50, aside: true},
	{n: 50, sessions: 50, times: 1, aside: true},
}

// count is how far a lock that excludes lets them count.
func (l load) count() int { return l.n * l.times }

func (l load) text() language.Text {
	text := language.Say("%d goroutines", "%d 个 goroutine", l.n)
	if l.n == 1 {
		text = language.Say("1 goroutine", "1 个 goroutine")
	}
	if l.aside && l.sessions > 1 {
		text = language.Say("%s with a session each", "%s，各用一个会话", text)
	}
	if l.times > 1 {
		text = language.Say("%s locking %d times", "%s，各加锁 %d 次", text, l.times)
	}
	return text
}

// A job is one of the runs that are measured.
type job struct {
	contestant
	load
	round int
}

// jobs are all of them, in their order. Each round begins with the next lock:
// none always runs after the same neighbour, or while the machine is still busy
// with what came before the benchmark. Those that take long come last, so that the
// rows of the others are there soon.
func (cfg config) jobs() (jobs []job) {
	for _, l := range cfg.loads {
		for round := range cfg.rounds {
			first := round % len(cfg.locks)
			locks := slices.Concat(cfg.locks[first:], cfg.locks[:first])
			slices.SortStableFunc(locks, func(a, b contestant) int { return cmp.Compare(a.heavy(l.n), b.heavy(l.n)) })
			for _, c := range locks {
				jobs = append(jobs, job{c, l, round + 1})
			}
		}
	}
	return jobs
}

// of reports whether a result is of this load.
func (l load) of(r report.Run) bool { return r.Goroutines == l.n && r.Aside == l.aside }

// A span of time on the command line, which says what is wrong with a number
// that has no unit.
type duration struct {
	*time.Duration
	unit string // that a bare number most likely means
}

func (d duration) String() string {
	if d.Duration == nil { // package flag asks a zero value
		return ""
	}
	return d.Duration.String()
}

func (d duration) Set(text string) (err error) {
	*d.Duration, err = time.ParseDuration(text)
	if err != nil {
		if _, e := time.ParseDuration(text + d.unit); e == nil {
			return language.Errorf("it has no unit: write %s%s", "没有写单位：请写成 %s%s", text, d.unit)
		}
		return language.Errorf("it is not a time such as 5%s", "不是 5%s 这样的时间", d.unit)
	}
	return nil
}
