package counter

import (
	"cmp"
	"slices"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// A Load is the work that a run gives to a lock.
type Load struct {
	N        int  // goroutines
	Sessions int  // that they share
	Times    int  // that each of them locks
	Aside    bool // its rows are in the second table
}

// Everyday are the loads of the second table: what a lock costs a program that
// is alone, and one of many processes. Both count to the same number.
var Everyday = []Load{
	{N: 1, Sessions: 1, Times: 50, Aside: true},
	{N: 50, Sessions: 50, Times: 1, Aside: true},
}

// Count is how far a lock that excludes lets them count.
func (l Load) Count() int { return l.N * l.Times }

// Text names the load.
func (l Load) Text() i18n.Text {
	text := i18n.Textf("%d goroutines", "%d 个 goroutine", l.N)
	if l.N == 1 {
		text = i18n.Textf("1 goroutine", "1 个 goroutine")
	}
	if l.Aside && l.Sessions > 1 {
		text = i18n.Textf("%s with a session each", "%s，各用一个会话", text)
	}
	if l.Times > 1 {
		text = i18n.Textf("%s locking %d times", "%s，各加锁 %d 次", text, l.Times)
	}
	return text
}

// A Job is one of the runs that are measured.
type Job struct {
	Player
	Load
	Round int
}

// Jobs are all of them, in their order. Each round begins with the next lock:
// none always runs after the same neighbour, or while the machine is still busy
// with what came before the benchmark. Those that take long come last, so that the
// rows of the others are there soon.
func (b *Benchmark) Jobs() (jobs []Job) {
	for _, l := range b.Loads {
		for round := range b.Rounds {
			first := round % len(b.Players)
			players := slices.Concat(b.Players[first:], b.Players[:first])
			slices.SortStableFunc(players, func(x, y Player) int { return cmp.Compare(x.Lock().heavy(l.N), y.Lock().heavy(l.N)) })
			for _, p := range players {
				jobs = append(jobs, Job{p, l, round + 1})
			}
		}
	}
	return jobs
}

// of reports whether a result is of this load.
func (l Load) of(r report.Run) bool { return r.Goroutines == l.N && r.Aside == l.Aside }
