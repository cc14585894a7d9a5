package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows where a long run stands: a bar on a terminal, a line per
// run elsewhere.
type progress struct {
	w   io.Writer
	bar *progressbar.ProgressBar // nil: no terminal
	cfg config
}

func newProgress(w io.Writer, cfg config) *progress {
	p := &progress{w: w, cfg: cfg}
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	total := 0
	for _, n := range cfg.sizes {
		total += n * cfg.rounds * len(cfg.locks)
	}
	p.bar = progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100e6), // ns
		progressbar.OptionSetWidth(30),
		progressbar.OptionClearOnFinish())
	return p
}

func (p *progress) warmUp() { p.say(fmt.Sprintf("warming up for %v", p.cfg.warmup)) }

func (p *progress) start(lock string, n, round int) {
	text := fmt.Sprintf("%s, %d goroutines", lock, n)
	if p.cfg.rounds > 1 {
		text += fmt.Sprintf(", round %d of %d", round, p.cfg.rounds)
	}
	p.say(text)
}

func (p *progress) say(text string) {
	if p.bar == nil {
		fmt.Fprintf(p.w, "%s …\n", text)
		return
	}
	p.bar.Describe(text)
}

// step counts one acquisition.
func (p *progress) step() {
	if p.bar != nil {
		p.bar.Add(1)
	}
}

// finish takes the bar away.
func (p *progress) finish() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
