package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/schollz/progressbar/v3"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/language"
)

// progress shows how far a long run has come: on a terminal a bar with the count
// and the next lock, elsewhere a line per run.
type progress struct {
	w        io.Writer
	lang     language.Language
	rounds   int
	jobs     []counter.Job
	terminal bool
	bar      *progressbar.ProgressBar // of the present run, on a terminal
	runs     int                      // begun so far
	again    func()                   // shows the present run again, after say
	live     *report.Live             // nil: only the table is printed
	mu       sync.Mutex               // held while a text is shown that is not counted
}

func newProgress(w io.Writer, cfg config) *progress {
	return &progress{w: w, lang: cfg.lang, rounds: cfg.rounds, terminal: report.IsTerminal(w)}
}

// Begin shows which of the measured runs begins.
func (p *progress) Begin(j counter.Job) {
	p.runs++
	said := language.Say("%d/%d %s, %s", "%d/%d %s，%s", p.runs, len(p.jobs), j.Lock().Name, j.Text())
	if p.rounds > 1 {
		said = language.Say("%s, round %d of %d", "%s，第 %d 轮（共 %d 轮）", said, j.Round, p.rounds)
	}
	text := said.In(p.lang)
	if next := p.next(); next != "" && p.terminal {
		text += then.In(p.lang) + next
	}
	p.show(text, j.Count())
	p.again = func() {
		if p.terminal {
			p.show(text, j.Count())
		}
	}
}

var then = language.Say("; then ", "；然后是 ")

// next is the run after this one: its lock, and its number of goroutines if
// that changes.
func (p *progress) next() string {
	if p.runs >= len(p.jobs) {
		return ""
	}
	next := p.jobs[p.runs]
	if next.Load != p.jobs[p.runs-1].Load {
		return fmt.Sprintf("%s %d", next.Lock().Name, next.N)
	}
	return next.Lock().Name
}

// doing shows something that is not counted.
func (p *progress) doing(text language.Text) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		fmt.Fprintf(p.w, "%s …\n", text.In(p.lang))
		return
	}
	p.finish()
	p.bar = nil
	fmt.Fprint(p.w, p.fitting(text.In(p.lang), 3)+" …")
}

// show shows the present run of n acquisitions.
func (p *progress) show(text string, n int) {
	if !p.terminal {
		p.doing(language.Same(text))
		return
	}
	p.finish()
	p.bar = progressbar.NewOptions(n,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(p.fitting(text, besideTheText)),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(false), // it would be far off for the naive lock
		progressbar.OptionThrottle(100e6),       // ns
		progressbar.OptionSetWidth(10),
		progressbar.OptionClearOnFinish())
	p.bar.RenderBlank()
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
	if language.Wide(text) <= room {
		return text
	}
	// The next lock is cut first, then the end.
	if text, _, _ = strings.Cut(text, then.In(p.lang)); language.Wide(text) > room {
		for language.Wide(text) > room-1 {
			text = text[:strings.LastIndexFunc(text, func(rune) bool { return true })]
		}
		text += "…"
	}
	return text
}

// Step counts one acquisition.
func (p *progress) Step() {
	if p.bar != nil {
		p.bar.Add(1)
	}
}

// Say shows a line that stays.
func (p *progress) Say(text language.Text) {
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
	if r.Status == report.StatusWarmUp {
		p.again() // the run that it was before goes on
	}
}

// finish erases the line on the terminal.
func (p *progress) finish() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
