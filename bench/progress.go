package main

import (
	"fmt"
	"io"
	"sync"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// progress shows what is being done, a line each. The line of a run stays, and ends with the
// time of the run. On a terminal, any other line is replaced by the next one.
type progress struct {
	w      io.Writer
	lang   i18n.Language
	rounds int
	total  int       // how many runs are measured
	runs   int       // how many have begun
	run    i18n.Text // the line of the run that is under way

	mu   sync.Mutex // held while something is shown
	line i18n.Text  // the last line, if it has not ended
}

var isTerminal = report.IsTerminal // a variable, for a test, which has no terminal

const eraseLine = "\r\x1b[K"

func (p *progress) Begin(j counter.Job) {
	p.runs++
	p.run = i18n.Textf("%d/%d %s, %s", p.runs, p.total, j.Lock().Name, j.Text())
	if p.rounds > 1 {
		p.run = i18n.Textf("%s, round %d of %d", p.run, j.Round, p.rounds)
	}
	p.Say(p.run)
}

func (p *progress) Say(text i18n.Text) { p.show(text, text.In(p.lang)+" …") }

// End ends the line of the run that is under way with its outcome.
func (p *progress) End(r report.Run) {
	if p.run.String() == "" || r.Status == report.StatusWarmUp {
		return
	}
	if p.line != p.run { // another line has been shown since; during a run only this goroutine shows any
		p.Say(p.run)
	}
	fmt.Fprintln(p.w, "", r.Outcome(p.lang))
	p.run, p.line = "", ""
}

func (p *progress) finish() { p.show("", "") }

// show ends the last line, and begins the given one, which is shown as text.
func (p *progress) show(line i18n.Text, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.line.String() == "":
	case isTerminal(p.w):
		text = eraseLine + text
	default:
		text = "\n" + text
	}
	fmt.Fprint(p.w, text)
	p.line = line
}
