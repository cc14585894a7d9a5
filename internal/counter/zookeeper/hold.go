package zookeeper

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zkserver"
)

// trialSessions has the session of each contender of a trial, as an index. Closed has one of its own, because the trial
// closes it. The others share two, so the lock must exclude contenders of one session and of two.
var trialSessions = [counter.TrialContenders]int{
	counter.Holder: 0, counter.Closed: 1, counter.Impatient: 2, counter.Next: 2, counter.Last: 0,
}

// Try plays the trial of the lock (counter.Trial) and, meanwhile, the long hold, which is explained below.
func (p *Player) Try(ctx context.Context) (err error) {
	if p.On.group != nil {
		ctx = p.On.group.ctx
		defer func() { err = p.On.endOfGroup(err) }()
	}
	p.On.Say(i18n.Textf("trying %s", p.Of.Name))
	held := make(chan error, 1)
	go func() { held <- p.holdLong(ctx) }()
	err = p.trial(ctx, 0)
	longErr := <-held // also after an error, because holdLong uses p until it returns
	return cmp.Or(err, longErr)
}

// trial plays the trial alone. Its holder keeps the lock for the time hold after all others have asked for it.
func (p *Player) trial(ctx context.Context, hold time.Duration) error {
	s, err := p.setUp(ctx, trialSessions[:], unmeasured, undelayed)
	t := &counter.Trial{Hold: hold, Contenders: s.contenders}
	defer t.End(s.close) // also after an error: then s is what setUp has made before it
	if err != nil {
		return err
	}

	impatient := t.Contenders[counter.Impatient].(contender) // setUp makes no other type
	_, givesUp := impatient.Locker.(cancellable)
	t.NeverGivesUp = !givesUp
	t.Alive = func() (int64, bool) {
		c := s.tap.Counts()
		return c.BytesIn + c.BytesOut, s.tap.Pending() > 0
	}

	holderConn := s.conns[trialSessions[counter.Holder]]
	session := holderConn.SessionID()
	t.BeforeUnlock = func() error {
		if holderConn.SessionID() != session || holderConn.State() != zk.StateHasSession {
			return i18n.Errorf("session %#x of the holder was lost", session)
		}
		return nil
	}

	var sent int64 // requests of the lock
	t.Close = func() error {
		sent = s.tap.Counts().Total() // before the end of a session, which is a request, too
		s.conns[trialSessions[counter.Closed]].Close()
		// In an ensemble, the next contender's server may learn of the end of the session later.
		_, err := s.conns[trialSessions[counter.Next]].Sync(s.path)
		return ignoreNoNode(err)
	}
	if err := t.Run(ctx); err != nil {
		return err
	}
	if sent == 0 {
		return i18n.Errorf("it sent nothing to ZooKeeper: it excludes no contender of another process")
	}
	return shutDownAll(t.Contenders)
}

// A trial takes less than a second, so a lock whose waiters take the lock after some seconds passes it. It
// is therefore played again with a holder that keeps the lock for longer than a session timeout: in virtual
// time, on an embedded server, whatever -zk says. A process of its own plays that: a testing/synctest
// bubble needs a test, and a lock that waits for something outside of its bubble would stop the process.

const (
	longHold     = 2 * sessionTimeout  // for which the holder keeps the lock
	HoldVariable = "ZKLOCK_BENCH_HOLD" // the environment variable that names the lock, for a process that calls PlayHold
	holdPatience = 30 * time.Second    // for which such a process may run
)

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

// PlayHold is the main function of a process that plays a lock's long hold. It prints the fault as JSON and exits.
func PlayHold(lock counter.Lock, kind Kind) {
	play := func(t *testing.T) {
		fault := ""
		if err := HoldLong(t, lock, kind); err != nil {
			fault, _ = strings.CutSuffix(err.Error(), ": "+counter.ErrTwoHolders.Error()) // holdLong wraps it again
		}
		line, _ := json.Marshal(fault)
		fmt.Printf("%s\n", line)
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "hold", F: play}}, nil, nil)
}

// HoldLong plays the long hold in virtual time. It looks for two holders alone: the trial in real time finds the rest.
func HoldLong(t *testing.T, lock counter.Lock, kind Kind) (fault error) {
	defer func() { recover() }() // Test panics if goroutines of the lock still wait when the trial is over
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
