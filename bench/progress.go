package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// progress shows which run is under way: on a terminal in a line that goes when it has ended,
// elsewhere in a line per run.
type progress struct {
	w        io.Writer
	lang     i18n.Language
	rounds   int
	jobs     []counter.Job
	terminal bool
	runs     int          // begun so far
	live     *report.Live // nil: only the table is printed

	mu sync.Mutex // held while something is shown
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
	p.doing(said)
}

// doing shows what is being done.
func (p *progress) doing(text i18n.Text) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		fmt.Fprintf(p.w, "%s …\n", text.In(p.lang))
		return
	}
	fmt.Fprint(p.w, eraseLine, p.fitting(text.In(p.lang)), " …")
}

const eraseLine = "\r\x1b[K"

// fitting cuts a text off so that it fits in a line: one that wraps cannot be erased.
func (p *progress) fitting(text string) string {
	room := cmp.Or(report.TerminalWidth(p.w), 80) - 3 // what follows, and the cursor
	for i18n.Wide(text) > room {
		text = text[:strings.LastIndexFunc(text, func(rune) bool { return true })]
	}
	return text
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
		fmt.Fprint(p.w, eraseLine)
	}
}
