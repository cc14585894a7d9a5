package report

import (
	"fmt"
	"io"
	"strconv"
)

// A Live prints each run in a line of its own, as soon as it has ended. What compares
// runs, as the ratios do, is in the table that comes at the end.
type Live struct {
	w      io.Writer
	lock   int // the width of the first column
	rounds bool
	begun  bool
}

// NewLive prints to w. Names are those of the locks.
func NewLive(w io.Writer, names []string, rounds int) *Live {
	l := &Live{w: w, lock: len("lock"), rounds: rounds > 1}
	for _, name := range names {
		if name == "curator" {
			name += " cold"
		}
		l.lock = max(l.lock, len(name))
	}
	return l
}

// Say prints a line between the rows.
func (l *Live) Say(text string) {
	l.begin()
	fmt.Fprintln(l.w, text)
}

func (l *Live) begin() {
	if !l.begun {
		l.begun = true
		fmt.Fprint(l.w, "Each run as it ends; the table that compares them comes last.\n\n")
		l.row("lock", "N", "round", fmt.Sprintf("%7s  %9s  %12s  %10s", "count", "elapsed", "requests/acq", "events/acq"))
	}
}

func (l *Live) row(lock, n, round, rest string) {
	if l.rounds {
		n += fmt.Sprintf("  %5s", round)
	}
	fmt.Fprintf(l.w, "%-*s  %5s  %s\n", l.lock, lock, n, rest)
}

// Run prints a run that has ended.
func (l *Live) Run(r Run) {
	l.begin()
	g := group([]Run{r})[0]
	rest := r.Error
	switch {
	case r.Status == StatusFailed:
		rest = "FAILED"
	case g.ok():
		events := "-"
		if r.About.System == "" {
			events = g.perAcquisition(func(r Run) int64 { return r.WatchEvents })
		}
		count := strconv.Itoa(r.Count)
		if r.About.Unsafe != "" {
			count = "no lock"
		}
		rest = fmt.Sprintf("%7s  %9s  %12s  %10s", count, milliseconds(r.Elapsed), g.perAcquisition(func(r Run) int64 { return r.Requests }), events)
	}
	l.row(g.name(), strconv.Itoa(r.Goroutines), strconv.Itoa(r.Round), rest)
}

// End is the empty line between the rows and the table.
func (l *Live) End() {
	if l.begun {
		fmt.Fprintln(l.w)
	}
}
