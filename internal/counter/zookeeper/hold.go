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

// A trial takes less than a second, so a lock whose waiters take the lock after some seconds passes it. It
// is therefore played again with a holder that keeps the lock for longer than a session timeout: in virtual
// time, on an embedded server, whatever -zk says. A process of its own plays that: a testing/synctest
// bubble needs a test, and a lock that waits for something outside of its bubble would stop the process.

// longHold is how long the holder keeps the lock.
const longHold = 2 * sessionTimeout

// HoldVariable is the environment variable that names the lock of a process that is to call PlayHold.
const HoldVariable = "ZKLOCK_BENCH_HOLD"

// holdPatience is how long such a process may take.
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
	out, _ := cmd.Output() // a process that fails prints no JSON
	var fault string
	switch err := json.NewDecoder(bytes.NewReader(out)).Decode(&fault); {
	case fault != "":
		return i18n.Errorf("%s: %w", fault, counter.ErrTwoHolders)
	case err != nil && ctx.Err() == nil:
		p.On.Say(i18n.Textf("%s: not tried for longer than a session timeout, which virtual time does not allow here", p.Of.Name))
	}
	return nil
}

// PlayHold is the main function of a process that plays the long hold of a lock. It prints the
// fault as JSON, and does not return.
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

// HoldLong plays the long hold in virtual time. Its only fault is that two hold the lock: the trial in
// real time finds all others.
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
		if err := (&Player{Of: lock, Kind: kind, On: s}).trial(t.Context(), longHold); errors.Is(err, counter.ErrTwoHolders) {
			fault = err
		}
	})
	return fault
}
