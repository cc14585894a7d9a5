package zookeeper

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

// A trial takes less than a second, and a lock whose waiters take the lock after some
// seconds passes it. So in another one a holder keeps the lock for longer than a session
// timeout: in virtual time, on an embedded server, whatever -zk says. A bubble of
// testing/synctest needs a test, and a lock that does not wait as a bubble demands would
// stop it. So a process of its own plays each of these.

// longHold is how long the holder keeps the lock.
const longHold = 2 * sessionTimeout

// HoldVariable is the environment variable that names the lock of a process that is to call PlayHold.
const HoldVariable = "ZKLOCK_BENCH_HOLD"

// holdPatience is the time for such a process.
const holdPatience = 30 * time.Second

// holdLong has another process play the long hold.
func (p *player) holdLong(ctx context.Context) error {
	if p.on.Program == "" {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	cmd := exec.CommandContext(limited, p.on.Program)
	cmd.Env = append(os.Environ(), HoldVariable+"="+p.lock.Name)
	out, _ := cmd.Output() // if it has failed, there is no fault in JSON
	var fault string
	switch err := json.NewDecoder(bytes.NewReader(out)).Decode(&fault); {
	case fault != "":
		return i18n.Errorf("%s: %w", "%s：%v", fault, counter.ErrTwoHolders)
	case err != nil && ctx.Err() == nil:
		p.on.Say(i18n.Textf("%s: not tried for longer than a session timeout, which virtual time does not allow here",
			"%s：没有试跑超过会话超时时间，虚拟时间在这里做不到", p.lock.Name))
	}
	return nil
}

// PlayHold is the process that plays the long hold of a lock. It does not return. It prints the
// fault, as JSON.
func PlayHold(lock counter.Lock, kind Kind) {
	play := func(t *testing.T) {
		fault := ""
		if err := HoldLong(t, lock, kind); err != nil {
			fault = err.Error()
		}
		line, _ := json.Marshal(fault)
		fmt.Printf("%s\n", line)
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "hold", F: play}}, nil, nil)
}

// HoldLong plays the long hold in virtual time.
func HoldLong(t *testing.T, lock counter.Lock, kind Kind) (fault error) {
	defer func() { recover() }() // the bubble ends with goroutines that wait: the trial itself is over by then
	bubble.Limits{None: true}.Test(t, func(t *testing.T) {
		server := zkserver.New()
		defer server.Close()
		s := &Server{zoo: ensemble.OverPipes(server), root: "/hold"}
		var err error
		if s.admin, err = s.zoo.Connect(t.Context(), ensemble.Options{}); err != nil {
			return
		}
		defer s.admin.Close()
		fault = (&player{lock, kind, s}).hold(t.Context())
	})
	return fault
}

// hold has one contender keep the lock, and another one wait. Only that the other one gets
// it is a fault: all else is for the trial.
func (p *player) hold(ctx context.Context) error {
	_, path, err := p.on.Fresh(p.lock.Name, p.Queue, 2, 0)
	if err != nil {
		return nil
	}
	tap := wiretap.New()
	conns, err := p.on.connect(ctx, tap, 2, 2, 0)
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
		go func() { got <- counter.Guarded("Lock", func() error { return contenders[i].Lock(ctx) }) }()
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
			return i18n.Errorf("a contender got the lock after %v of waiting, although its holder had not unlocked",
				"持有者还没有释放锁，一个竞争者等了 %v 就拿到了锁", waited)
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
