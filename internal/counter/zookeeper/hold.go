package zookeeper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zkserver"
)

// A trial takes less than a second, and a lock whose waiters take the lock after some
// seconds passes it. So it is played again, and the holder keeps the lock for longer than a
// session timeout: in virtual time, on an embedded server, whatever -zk says. A bubble of
// testing/synctest needs a test, and a lock that does not wait as a bubble demands would
// stop it. So a process of its own plays each of these.

// longHold is how long the holder keeps the lock.
const longHold = 2 * sessionTimeout

// HoldVariable is the environment variable that names the lock of a process that is to call PlayHold.
const HoldVariable = "ZKLOCK_BENCH_HOLD"

// holdPatience is the time for such a process.
const holdPatience = 30 * time.Second

// holdLong has another process play the long hold.
func (p *Player) holdLong(ctx context.Context) error {
	if p.On.Program == "" {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	cmd := exec.CommandContext(limited, p.On.Program)
	cmd.Env = append(os.Environ(), HoldVariable+"="+p.Of.Name)
	out, _ := cmd.Output() // if it has failed, there is no fault in JSON
	var fault string
	switch err := json.NewDecoder(bytes.NewReader(out)).Decode(&fault); {
	case fault != "":
		return i18n.Errorf("%s: %w", "%s：%v", fault, counter.ErrTwoHolders)
	case err != nil && ctx.Err() == nil:
		p.On.Say(i18n.Textf("%s: not tried for longer than a session timeout, which virtual time does not allow here",
			"%s：没有试跑超过会话超时时间，虚拟时间在这里做不到", p.Of.Name))
	}
	return nil
}

// PlayHold is the process that plays the long hold of a lock. It does not return. It prints the
// fault, as JSON.
func PlayHold(lock counter.Lock, kind Kind) {
	play := func(t *testing.T) {
		fault := ""
		if err := HoldLong(t, lock, kind); err != nil {
			fault, _ = strings.CutSuffix(err.Error(), ": "+counter.ErrTwoHolders.Error())
		}
		line, _ := json.Marshal(fault)
		fmt.Printf("%s\n", line)
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "hold", F: play}}, nil, nil)
}

// HoldLong plays the long hold in virtual time. Only that two hold the lock is a fault: all else is for
// the trial in real time.
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
		if err := (&Player{lock, kind, s}).trial(t.Context(), longHold); errors.Is(err, counter.ErrTwoHolders) {
			fault = err
		}
	})
	return fault
}
