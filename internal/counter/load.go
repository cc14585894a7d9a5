package counter

import (
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// A Load is the work that a run gives to a lock.
type Load struct {
	N        int  // goroutines
	Sessions int  // that they share
	Times    int  // how many times each of them locks
	Aside    bool // its rows are in the second table
}

// Everyday are the loads of the second table: what a lock costs a program that
// is alone, and one of many processes. Both count to the same number.
var Everyday = []Load{
	{N: 1, Sessions: 1, Times: 50, Aside: true},
	{N: 50, Sessions: 50, Times: 1, Aside: true},
}

// Count is the count that the goroutines reach if the lock excludes.
func (l Load) Count() int { return l.N * l.Times }

// Text names the load.
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
