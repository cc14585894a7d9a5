package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/wiretap"
)

const curator = "curator" // the name of article A's third lock

// A curatorPlayer plays article A's third lock, Curator's InterProcessMutex. A program in Java runs the same counter
// and takes the time. Each load has a JVM of its own, as each of the article's runs had. The first run of a JVM is
// reported separately, as round 0: a cold JVM is about half as fast.
type curatorPlayer struct {
	cfg    config
	lock   counter.Lock
	server *zookeeper.Server
	keep   func(cold report.Run) // adds the first run of a JVM to the results
	jvm    *jvm                  // nil if none runs
	load   counter.Load          // of the runs in this JVM
}

func (p *curatorPlayer) Lock() counter.Lock                             { return p.lock }
func (p *curatorPlayer) Server() i18n.Text                              { return p.server.Zoo().Says() }
func (p *curatorPlayer) Try(context.Context) error                      { return nil }        // for locks in Go
func (p *curatorPlayer) Warm(context.Context, report.Run) (bool, error) { return false, nil } // Run warms each JVM

func (p *curatorPlayer) Close() error {
	if p.jvm != nil {
		p.jvm.end()
		p.jvm = nil
	}
	return nil
}

// Run plays one round. If the load is another one than before, it starts a JVM for it and warms the JVM first.
func (p *curatorPlayer) Run(ctx context.Context, r *report.Run) error {
	if p.cfg.join {
		return counter.CannotRun{Why: i18n.Errorf("Curator does not take part with -join")}
	}

	r.RTT = p.cfg.rtt
	servers := p.server.Zoo().Servers()
	if p.cfg.rtt > 0 {
		far, stop, err := proxies(servers, p.server.DialFar)
		if err != nil {
			return err
		}
		defer stop()
		servers = far
	}
	load := counter.Load{N: r.Goroutines, Sessions: r.Sessions, Times: r.Times}
	if load != p.load {
		p.Close() // never fails
		p.load = load
	}
	if p.jvm == nil {
		cold, err := p.warmJVM(ctx, *r, servers)
		if err != nil {
			r.Count, r.Client = cold.Count, cold.Client // the row of the run says how far the JVM came
			return err
		}
		p.keep(cold)
	}

	err := p.round(ctx, r, servers)
	r.SetCounts(p.jvm.used) // in an unmeasured run: counting needs a proxy in between, and that takes time
	return err
}

// coldRunText is the row of docs/benchmark.md on what is reported apart.
var coldRunText = i18n.Text("the first run of a new JVM, which has compiled nothing yet. " +
	"Each of the article's runs was such a run. The other rows of Curator come after a warm-up of `-warmup`, and at least two runs")

// warmJVM starts a JVM. It runs the counter once in the cold JVM, on these servers, once through a proxy that counts
// the requests, and then until the JVM is warm. It returns the cold run, which is reported.
func (p *curatorPlayer) warmJVM(ctx context.Context, cold report.Run, servers []string) (report.Run, error) {
	cold.Round, cold.Status, cold.Predicted = 0, report.StatusWarmUp, 0 // it is not compared with others
	p.server.Say(i18n.Textf("a new JVM for %d threads warms up", cold.Goroutines))
	warmAt := time.Now().Add(p.cfg.warmup)
	var err error
	if p.jvm, err = startJVM(ctx); err != nil {
		return cold, err
	}
	if err := p.round(ctx, &cold, servers); err != nil {
		return cold, err
	}

	tap := new(wiretap.Tap)
	tapped, stop, err := proxies(p.server.Zoo().Servers()[:1], tap.Dialer(net.DialTimeout))
	if err != nil {
		return cold, err
	}
	counted := cold
	err = p.round(ctx, &counted, tapped)
	stop()
	if err != nil {
		return cold, err
	}
	p.jvm.used = tap.Counts()

	for time.Now().Before(warmAt) {
		again := cold
		if err := p.round(ctx, &again, p.server.Zoo().Servers()); err != nil {
			return cold, err
		}
	}
	return cold, nil
}

// round has the JVM run the counter once, and notes the result in r. CuratorCounter.java describes the lines.
func (p *curatorPlayer) round(ctx context.Context, r *report.Run, servers []string) error {
	r.Client, r.Count = p.jvm.versions, 0
	const ownNode = false
	_, path, err := p.server.Fresh(p.lock.Name, ownNode, r.Goroutines, r.Round)
	if err != nil {
		return err
	}
	line := fmt.Sprintln(strings.Join(servers, ","), path, r.Goroutines, r.Sessions, r.Times)
	if _, err := io.WriteString(p.jvm.stdin, line); err != nil {
		return p.jvm.died()
	}

	// limited ends at the limit of the run. It is ctx except between "began" and "done", the time that the JVM measures.
	limited := ctx
	var turns []report.Turn
	for {
		line, err := p.jvm.readLine(limited)
		if err != nil {
			return err
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "began":
			if p.cfg.limit > 0 {
				var stop context.CancelFunc
				limited, stop = context.WithTimeoutCause(ctx, p.cfg.limit, counter.Stopped{Limit: p.cfg.limit})
				defer stop()
			}
		case "at":
			_, err = fmt.Sscan(rest, &r.Count)
		case "done":
			limited = ctx
			_, err = fmt.Sscan(rest, (*int64)(&r.Elapsed), &r.Count)
		case "turn":
			var t report.Turn
			_, err = fmt.Sscan(rest, (*int64)(&t.Arrived), (*int64)(&t.Got), &t.Place)
			turns = append(turns, t)
		case "failed":
			return i18n.Errorf("%s", rest)
		case "end":
			r.SetTurns(turns)
			r.Total = r.Count
			if want := r.Goroutines * r.Times; r.Count != want {
				return i18n.Errorf("the count is %d, not %d: two threads held the lock at once", r.Count, want)
			}
			return nil
		}
		if err != nil {
			return i18n.Errorf("the JVM said %q: %w", line, err)
		}
	}
}

// proxies opens a proxy for each server, which clients outside this process can reach, and which connects to the server
// by dial. It returns their addresses. stop closes the proxies and all their connections.
func proxies(servers []string, dial wiretap.Dialer) (addrs []string, stop func(), err error) {
	var open []*proxy.Proxy
	stop = func() {
		for _, p := range open {
			p.Close()
		}
	}
	for _, server := range servers {
		p, err := proxy.Open(server, dial)
		if err != nil {
			stop()
			return nil, nil, err
		}
		open, addrs = append(open, p), append(addrs, p.Addr())
	}
	return addrs, stop, nil
}
