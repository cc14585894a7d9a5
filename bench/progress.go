package main

import (
	"fmt"
	"io"
	"sync"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// progress shows what is being done. The line of a run stays, and ends with its time; on a
// terminal the other lines go.
type progress struct {
	w      io.Writer
	lang   i18n.Language
	rounds int
	total  int       // of the runs that are measured
	runs   int       // begun so far
	run    i18n.Text // that is under way

	mu   sync.Mutex // held while something is shown
	line i18n.Text  // that has not ended
}

// isTerminal is another function in a test, which has no terminal.
var isTerminal = report.IsTerminal

const eraseLine = "\r\x1b[K"

// Begin shows which of the measured runs begins.
func (p *progress) Begin(j counter.Job) {
	p.runs++
	p.run = i18n.Textf("%d/%d %s, %s", "%d/%d %s，%s", p.runs, p.total, j.Lock().Name, j.Text())
	if p.rounds > 1 {
		p.run = i18n.Textf("%s, round %d of %d", "%s，第 %d 轮（共 %d 轮）", p.run, j.Round, p.rounds)
	}
	p.Say(p.run)
}

// Say shows what is being done.
func (p *progress) Say(text i18n.Text) {
	p.show(text, text.In(p.lang)+" …")
}

// End shows how the run has ended that is under way.
func (p *progress) End(r report.Run) {
	if p.run.En == "" || r.Status == report.StatusWarmUp {
		return
	}
	if p.line != p.run {
		p.Say(p.run) // again: it has said something else since
	}
	fmt.Fprintln(p.w, "", r.Outcome(p.lang))
	p.run, p.line = i18n.Text{}, i18n.Text{}
}

// finish ends the line.
func (p *progress) finish() { p.show(i18n.Text{}, "") }

// show ends the line, and begins another.
func (p *progress) show(line i18n.Text, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line.En != "" && isTerminal(p.w) {
		text = eraseLine + text
	} else if p.line.En != "" {
		text = "\n" + text
	}
	fmt.Fprint(p.w, text)
	p.line = line
}
