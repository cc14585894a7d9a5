package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/zklock/internal/i18n"
)

// A Live prints each run in a line of its own, as soon as it has ended. What compares
// runs, as the ratios do, is in the table that comes at the end.
type Live struct {
	w      io.Writer
	l      i18n.Language
	lock   int // the width of the first column
	rounds bool
	begun  bool
}

// NewLive prints to w. Names are those of the locks.
func NewLive(w io.Writer, names []string, rounds int, in i18n.Language) *Live {
	l := &Live{w: w, l: in, lock: len("lock"), rounds: rounds > 1}
	for _, name := range names {
		if name == "curator" {
			name += " cold"
		}
		l.lock = max(l.lock, len(name))
	}
	return l
}

// Say prints a line between the rows.
func (l *Live) Say(text i18n.Text) {
	l.begin()
	fmt.Fprintln(l.w, text.In(l.l))
}

func (l *Live) begin() {
	if !l.begun {
		l.begun = true
		fmt.Fprint(l.w, i18n.Textf("Each run as it ends; the table that compares them comes last.\n\n", "每次运行结束就显示一行；最后是用于比较的表。\n\n").In(l.l))
		h := strings.Split(i18n.Textf("lock|N|round|count|elapsed|requests/acq|events/acq", "锁|N|轮|计数|耗时|请求/次|事件/次").In(l.l), "|")
		l.row(h[0], h[1], h[2], figures(h[3], h[4], h[5], h[6]))
	}
}

func figures(count, elapsed, requests, events string) string {
	return padded(count, 7) + "  " + padded(elapsed, 9) + "  " + padded(requests, 12) + "  " + padded(events, 10)
}

func (l *Live) row(lock, n, round, rest string) {
	if l.rounds {
		n += "  " + padded(round, 5)
	}
	fmt.Fprintf(l.w, "%s  %5s  %s\n", padded(lock, -l.lock), n, rest)
}

// Run prints a run that has ended.
func (l *Live) Run(r Run) {
	l.begin()
	g := group([]Run{r})[0]
	rest := r.why(l.l)
	switch {
	case r.Status == StatusFailed:
		rest = failed.In(l.l)
	case g.ok():
		count := strconv.Itoa(r.Count)
		if r.About.Unsafe.En != "" {
			count = noLock.In(l.l)
		}
		rest = figures(count, milliseconds(r.Elapsed), g.perAcquisition(func(r Run) int64 { return r.Requests }),
			g.perAcquisition(func(r Run) int64 { return r.WatchEvents }))
	}
	l.row(g.name(), strconv.Itoa(r.Goroutines), strconv.Itoa(r.Round), rest)
}

// End is the empty line between the rows and the table.
func (l *Live) End() {
	if l.begun {
		fmt.Fprintln(l.w)
	}
}
