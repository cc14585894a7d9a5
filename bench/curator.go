package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/wiretap"
)

// runCurator is one run of article A's third lock, Curator's
// InterProcessMutex: the same counter, in Java, timed there. Each number of
// threads has a JVM of its own, as each of the article's runs had. Its first run is
// reported separately, as round 0: a cold JVM is about half as fast.
func (b *benchmark) runCurator(ctx context.Context, c contestant, r report.Run, step func()) (report.Run, error) {
	if b.group != nil {
		return r, errCannotRun{errors.New("cannot run: Curator does not take part with -join")}
	}
	if b.curator == nil {
		cold, err := b.warmCurator(ctx, c, r)
		if err != nil {
			r.Count, r.Client = cold.Count, cold.Client
			return r, err
		}
		b.results = append(b.results, cold)
		b.progress.again()
	}
	servers, closeProxies, err := b.reach(b.zoo.Servers())
	if err != nil {
		return r, err
	}
	defer closeProxies()
	err = b.curator.round(ctx, b, c, &r, servers, step)
	// Counted in an earlier run: counting needs a proxy in between, and that takes
	// time.
	r.Used(b.curator.used)
	return r, err
}

// whatColdIs is the row of docs/benchmark.md on what is reported apart.
const whatColdIs = "the first run of a new JVM, which has compiled nothing yet. Each of the article's runs was such a run. " +
	"The other rows of Curator come after a warm-up of `-warmup`, and at least two runs"

// warmCurator starts a JVM, and runs the counter in it once cold, once with
// its requests counted, and on until it is warm.
func (b *benchmark) warmCurator(ctx context.Context, c contestant, cold report.Run) (report.Run, error) {
	cold.Round, cold.Status, cold.Predicted = 0, report.StatusWarmUp, 0
	b.progress.say(fmt.Sprintf("a new JVM for %d threads warms up", cold.Goroutines))
	warm := time.Now().Add(b.cfg.warmup)
	var err error
	if b.curator, err = startJVM(ctx, b.cfg.jars); err != nil {
		return cold, err
	}
	if err := b.curator.round(ctx, b, c, &cold, b.zoo.Servers(), func() {}); err != nil {
		return cold, err
	}
	tap := wiretap.New()
	addr, closeProxy, err := proxy(tap.Dialer(net.DialTimeout), b.zoo.Servers()[0])
	if err != nil {
		return cold, err
	}
	counted := cold
	err = b.curator.round(ctx, b, c, &counted, []string{addr}, func() {})
	closeProxy()
	if err != nil {
		return cold, err
	}
	b.curator.used = tap.Counts()
	for time.Now().Before(warm) {
		again := cold
		if err := b.curator.round(ctx, b, c, &again, b.zoo.Servers(), func() {}); err != nil {
			return cold, err
		}
	}
	return cold, nil
}

func (b *benchmark) endCurator() {
	if b.curator != nil {
		b.curator.end()
		b.curator = nil
	}
}

const forEver = math.MaxInt64

// round runs the counter once and notes how it went.
func (j *jvm) round(ctx context.Context, b *benchmark, c contestant, r *report.Run, servers []string, step func()) error {
	r.Client, r.Count = j.versions, 0
	_, path, err := b.freshPath(c, r.Goroutines, r.Round)
	if err != nil {
		return err
	}
	line := fmt.Sprintln(strings.Join(servers, ","), path, r.Goroutines, r.Sessions, r.Times)
	if _, err := io.WriteString(j.stdin, line); err != nil {
		return j.died()
	}
	// The limit is only for the part that is timed.
	timed, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limit := time.AfterFunc(forEver, func() { stop(errStopped{b.cfg.limit}) })
	defer limit.Stop()
	var turns []report.Turn
	for {
		line, err := j.readLine(timed)
		if err != nil {
			return err
		}
		count := r.Count
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "began":
			if b.cfg.limit > 0 {
				limit.Reset(b.cfg.limit)
			}
		case "at":
			_, err = fmt.Sscan(rest, &r.Count)
		case "done":
			limit.Stop()
			_, err = fmt.Sscan(rest, (*int64)(&r.Elapsed), &r.Count)
		case "turn":
			var t report.Turn
			_, err = fmt.Sscan(rest, (*int64)(&t.Arrived), (*int64)(&t.Got), &t.Place)
			turns = append(turns, t)
		case "failed":
			return errors.New(rest)
		case "end":
			r.Fared(turns)
			r.Total = r.Count
			if want := r.Goroutines * r.Times; r.Count != want {
				return fmt.Errorf("the count is %d, not %d: two threads held the lock at once", r.Count, want)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("the JVM said %q: %w", line, err)
		}
		for ; count < r.Count; count++ {
			step()
		}
	}
}

// reach returns what a client outside this process connects to. With -rtt that
// are proxies, which stop ends.
func (b *benchmark) reach(servers []string) (addrs []string, stop func(), err error) {
	var ends []func()
	stop = func() {
		for _, end := range ends {
			end()
		}
	}
	if b.cfg.rtt == 0 {
		return servers, stop, nil
	}
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		nc, err := net.DialTimeout(network, address, timeout)
		if err != nil {
			return nil, err
		}
		return delayed(nc, b.cfg.rtt), nil
	}
	for _, server := range servers {
		addr, end, err := proxy(dial, server)
		if err != nil {
			stop()
			return nil, nil, err
		}
		addrs, ends = append(addrs, addr), append(ends, end)
	}
	return addrs, stop, nil
}

// proxy connects clients outside this process to a server, by a dialer of this process. stop ends it and all its connections.
func proxy(dial wiretap.Dialer, server string) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards what follows
	var open []net.Conn
	pass := func(dst, src net.Conn) {
		io.Copy(dst, src)
		dst.Close() // each end of the line goes with the other
		src.Close()
	}
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			up, err := dial("tcp", server, connectTimeout)
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, up)
			mu.Unlock()
			wg.Go(func() { pass(up, client) })
			wg.Go(func() { pass(client, up) })
		}
	})
	return l.Addr().String(), func() {
		l.Close()
		mu.Lock()
		for _, c := range slices.Clone(open) {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	}, nil
}
