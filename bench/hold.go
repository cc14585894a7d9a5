package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

// A trial takes less than a second, and a lock whose waiters take the lock after some
// seconds passes it. So in another trial a holder keeps the lock for longer than a session
// timeout: in virtual time, on an embedded server, whatever -zk says. A bubble of
// testing/synctest needs a test, and a lock that does not wait as a bubble demands would
// stop it. So a process of its own plays these trials.

// longHold is how long the holder keeps the lock.
const longHold = 2 * usualTimeout

// holdVariable makes this program such a process. It has the locks, by name or folder.
const holdVariable = "ZKLOCK_BENCH_HOLD"

// holdPatience is the time for all these trials.
const holdPatience = 30 * time.Second

// holds is false in tests, whose program cannot be such a process.
var holds = true

// A held is the outcome of one of these trials, as JSON in a line of its own.
type held struct {
	Lock  string `json:"lock"`
	Fault string `json:"fault"`
}

// A longHolder is a player that can be tried so.
type longHolder interface {
	hold(ctx context.Context) error
}

// holdAll plays these trials, and returns the faults by lock.
func (b *benchmark) holdAll(ctx context.Context) (faults map[string]error) {
	faults = make(map[string]error)
	var names []string
	for _, c := range b.cfg.locks {
		if _, ok := b.players[c.name].(longHolder); ok && c.unsafe.En == "" && c.folder == "" {
			names = append(names, c.name)
		}
	}
	for _, c := range b.cfg.locks { // these may stop the process
		if c.folder != "" {
			names = append(names, c.folder)
		}
	}
	program, err := os.Executable()
	if err != nil || len(names) == 0 || !holds {
		return faults
	}
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), holdVariable+"="+strings.Join(names, ","))
	out, _ := cmd.Output() // if it has failed, lines are missing
	for line := range strings.Lines(string(out)) {
		var h held
		if json.Unmarshal([]byte(line), &h) != nil {
			continue // of package testing
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == h.Lock })
		if h.Fault != "" {
			faults[h.Lock] = language.Errorf("%s: %w", "%s：%v", h.Fault, errTwoGoroutines)
		}
	}
	if len(names) > 0 && ctx.Err() != context.Canceled {
		b.progress.say(language.Say("%s: not tried for longer than a session timeout, which virtual time does not allow here",
			"%s：没有试跑超过会话超时时间，虚拟时间在这里做不到", language.List(names)))
	}
	return faults
}

// playHolds is the process that plays them. It does not return.
func playHolds(names string) {
	play := func(t *testing.T) {
		for name := range strings.SplitSeq(names, ",") {
			all := slices.Concat(onZooKeeper(), own)
			i := slices.IndexFunc(all, func(c contestant) bool { return c.folder == name || c.folder == "" && c.name == name })
			h := held{Lock: name}
			if err := holdLong(t, all[i]); err != nil {
				h.Fault = err.Error()
			}
			line, _ := json.Marshal(h)
			fmt.Printf("%s\n", line)
		}
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "hold", F: play}}, nil, nil)
}

// holdLong plays one of them.
func holdLong(t *testing.T, c contestant) (fault error) {
	defer func() { recover() }() // the bubble ends with goroutines that wait: the trial itself is over by then
	synctest.Test(t, func(t *testing.T) {
		server := zkserver.New()
		defer server.Close()
		b := &benchmark{cfg: config{procs: 1}, zoo: ensemble.OverPipes(server), root: "/hold"}
		var err error
		if b.admin, err = b.zoo.Connect(t.Context(), ensemble.Options{}); err != nil {
			return
		}
		defer b.admin.Close()
		if p, err := c.open(t.Context(), b, c); err == nil {
			fault = p.(longHolder).hold(t.Context())
		}
	})
	return fault
}

// hold has one contender keep the lock, and another one wait. Only that the other one gets
// it is a fault: all else is for the trial.
func (p *zooPlayer) hold(ctx context.Context) error {
	_, path, err := p.freshPath(p.contestant, 2, 0)
	if err != nil {
		return nil
	}
	tap := wiretap.New()
	conns, err := p.connect(ctx, tap, 2, 2, 0)
	defer closeAll(conns)
	if err != nil {
		return nil
	}
	contenders, err := p.contenders(2, tap, conns, path)
	if err != nil {
		return nil
	}
	lock := func(i int) <-chan error {
		got := make(chan error, 1)
		go func() { got <- guarded("Lock", func() error { return contenders[i].Lock(ctx) }) }()
		return got
	}
	select {
	case err := <-lock(0):
		if err != nil {
			return nil
		}
	case <-time.After(longHold):
		return nil
	}
	began, second := time.Now(), lock(1)
	select {
	case err := <-second:
		if err == nil {
			waited := time.Since(began).Round(100 * time.Millisecond)
			return language.Errorf("a contender got the lock after %v of waiting, although its holder had not unlocked", "持有者还没有释放锁，一个竞争者等了 %v 就拿到了锁", waited)
		}
	case <-time.After(longHold):
		// So that none of the lock's goroutines is left in the bubble.
		contenders[0].Unlock(ctx)
		if <-second == nil {
			contenders[1].Unlock(ctx)
		}
		shutDownAll(contenders)
	}
	return nil
}
