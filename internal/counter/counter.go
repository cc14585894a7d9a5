// Package counter is article A's benchmark: contenders that lock, add one to a plain variable and
// unlock. A count that is not the number of holds is a failure, and so are two holders at once.
//
// A [Lock] is a name and what the tables say of it. A [Player] plays it on a server; that of a lock on ZooKeeper is in
// package zookeeper. A [Benchmark] tries each lock, lets all of them run in turn, and has a row for each run:
//
//	b := &counter.Benchmark{Players: players, Loads: loads, Rounds: 1, Watcher: watcher}
//	err := b.Run(ctx)
//	report.PrintTable(os.Stdout, b.Results, 0, i18n.English)
//
// A lock that is not on ZooKeeper has a Player of its own. Its Run makes one [Contender] for each goroutine and gives
// them to a [Race], which counts and times. What the lock has sent, only its client knows: the player counts the
// requests in a hook of the client, such as an interceptor, and sets [Race.Sent] to a function that returns the number
// so far. At the limit, the race takes a lock that still sends for slow, and one that does not for hung. If contenders
// ask several times, as those that poll do, the player sets Run.Attempts, too.
package counter

import (
	"context"
	"time"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

type Lock struct {
	Name    string
	What    i18n.Text             // a sentence for the pages on what the lock is
	System  string                // the server program that the lock runs on; "": ZooKeeper
	Article map[int]time.Duration // article A's times, by the number of threads
	Unsafe  i18n.Text             // what a yardstick, which is not a lock, does in place of excluding; "": a lock
	Formula Formula               // predicts the requests; the zero Formula predicts nothing
}

// A Formula predicts the requests of N contenders that lock once each, and all queue before the first one unlocks.
type Formula struct {
	Text     string                  // for one acquisition; "": N alone does not decide it
	From     i18n.Text               // where these requests come from
	Requests func(n float64) float64 // of all N contenders
	Growth   float64                 // the time of a long run grows with about this power of N; 0 where no run is long
}

// Predict returns the number of requests of n contenders, or 0 if there is no formula.
func (f Formula) Predict(n int) float64 {
	if f.Requests == nil {
		return 0
	}
	return f.Requests(float64(n))
}

// cost returns how many requests n contenders send per acquisition if those are many. Otherwise, and without a formula,
// it returns 0: such a lock runs before those that have a cost, and its time is not announced.
func (l Lock) cost(n int) float64 {
	const few = 200
	perAcquisition := l.Formula.Predict(n) / float64(n)
	if perAcquisition <= few {
		return 0
	}
	return perAcquisition
}

func (l Lock) About() report.About {
	return report.About{Article: l.Article, Unsafe: l.Unsafe, Formula: l.Formula.Text, System: l.System}
}

// A Player plays a lock on a server.
type Player interface {
	Lock() Lock
	// Server says which server it is, as people read it beside a figure.
	Server() i18n.Text
	// Try looks for faults before anything is measured; see [Trial].
	Try(ctx context.Context) error
	// Warm runs the lock once unmeasured, with the load of r. It returns false if the lock needs no such run.
	Warm(ctx context.Context, r report.Run) (bool, error)
	// Run plays one round. The caller has set its load and its number in r, and Run fills in the rest.
	Run(ctx context.Context, r *report.Run) error
	Close() error
}

// A Watcher is told how the benchmark goes on.
type Watcher interface {
	Begin(Job)
	Say(i18n.Text)  // what is being done
	End(report.Run) // its row
}

// A Load is the work that a run gives to a lock.
type Load struct {
	N        int  // goroutines
	Sessions int  // that they share
	Times    int  // how many times each of them locks
	Aside    bool // its rows are in the second table, as those of Everyday
}

// Everyday are the loads of the second table, which count to the same number: a program alone, and one of many.
var Everyday = []Load{
	{N: 1, Sessions: 1, Times: 50, Aside: true},
	{N: 50, Sessions: 50, Times: 1, Aside: true},
}

// Count is the count that the goroutines reach if the lock excludes.
func (l Load) Count() int { return l.N * l.Times }

func (l Load) Text() i18n.Text {
	text := i18n.Textf("%d goroutines", l.N)
	if l.N == 1 {
		text = "1 goroutine"
	}
	if l.Aside && l.Sessions > 1 {
		text = i18n.Textf("%s with a session each", text)
	}
	if l.Times > 1 {
		text = i18n.Textf("%s locking %d times", text, l.Times)
	}
	return text
}

// of reports whether a result is of this load.
func (l Load) of(r report.Run) bool { return r.Goroutines == l.N && r.Aside == l.Aside }
