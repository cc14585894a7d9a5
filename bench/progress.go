package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// progress shows how far a long run has come: on a terminal a bar with the count,
// elsewhere a line per run.
type progress struct {
	w        io.Writer
	lang     i18n.Language
	rounds   int
	jobs     []counter.Job
	terminal bool
	runs     int          // begun so far
	live     *report.Live // nil: only the table is printed

	mu    sync.Mutex   // held while something is shown
	bar   *bar         // of the present run, on a terminal; nil: none is shown
	done  atomic.Int64 // acquisitions of the present run
	drawn atomic.Int64 // when the bar was drawn last, in ns
}

func newProgress(w io.Writer, cfg config) *progress {
	return &progress{w: w, lang: cfg.lang, rounds: cfg.rounds, terminal: report.IsTerminal(w)}
}

// Begin shows which of the measured runs begins.
func (p *progress) Begin(j counter.Job) {
	p.runs++
	said := i18n.Textf("%d/%d %s, %s", "%d/%d %s，%s", p.runs, len(p.jobs), j.Lock().Name, j.Text())
	if p.rounds > 1 {
		said = i18n.Textf("%s, round %d of %d", "%s，第 %d 轮（共 %d 轮）", said, j.Round, p.rounds)
	}
	if !p.terminal {
		p.doing(said)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.Store(0)
	p.bar = &bar{text: p.fitting(said.In(p.lang), besideTheText), count: j.Count(), began: time.Now()}
	p.draw()
}

// doing shows something that is not counted.
func (p *progress) doing(text i18n.Text) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		fmt.Fprintf(p.w, "%s …\n", text.In(p.lang))
		return
	}
	p.bar = nil
	fmt.Fprint(p.w, eraseLine, p.fitting(text.In(p.lang), 3)+" …")
}

const eraseLine = "\r\x1b[K"

// A bar shows how much of a run has been done.
type bar struct {
	text  string
	count int
	began time.Time
}

const (
	barWidth = 10
	barEvery = 100 * time.Millisecond
)

// draw shows the bar. p.mu is held.
func (p *progress) draw() {
	if p.bar == nil {
		return
	}
	done := int(p.done.Load())
	full := barWidth * done / p.bar.count
	fmt.Fprintf(p.w, "%s%s [%s%s] %d/%d %v", eraseLine, p.bar.text, strings.Repeat("█", full), strings.Repeat(" ", barWidth-full),
		done, p.bar.count, time.Since(p.bar.began).Round(time.Second))
}

// besideTheText is what the bar, the count and the time need of a line.
const besideTheText = 50

// fitting cuts a text off so that it fits in a line beside the bar: a line that
// wraps cannot be erased.
func (p *progress) fitting(text string, beside int) string {
	width := report.TerminalWidth(p.w)
	if width <= 0 {
		width = 80
	}
	room := max(width-beside, 8)
	if i18n.Wide(text) <= room {
		return text
	}
	for i18n.Wide(text) > room-1 {
		text = text[:strings.LastIndexFunc(text, func(rune) bool { return true })]
	}
	return text + "…"
}

// Step counts one acquisition.
func (p *progress) Step() {
	p.done.Add(1)
	now, last := time.Now().UnixNano(), p.drawn.Load()
	if !p.terminal || now-last < int64(barEvery) || !p.drawn.CompareAndSwap(last, now) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw()
}

// Say shows a line that stays.
func (p *progress) Say(text i18n.Text) {
	p.finish()
	if p.live != nil {
		p.live.Say(text)
	} else {
		fmt.Fprintln(p.w, text.In(p.lang))
	}
}

// End shows a run that has ended.
func (p *progress) End(r report.Run) {
	if p.live != nil && r.Status != report.StatusNotRun {
		p.finish()
		p.live.Run(r)
	}
}

// finish erases the line on the terminal.
func (p *progress) finish() {
	if p.terminal {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.bar = nil
		fmt.Fprint(p.w, eraseLine)
	}
}
