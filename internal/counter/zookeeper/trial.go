package zookeeper

import (
	"cmp"
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/i18n"
)

// trialSessions has the session of each contender of a trial, as an index.
var trialSessions = [counter.TrialContenders]int{
	counter.Holder: 0, counter.Closed: 1, counter.Impatient: 2, counter.Next: 2, counter.Last: 0,
}

// Try plays the trial of the lock (counter.Trial) and, meanwhile, the long hold, which hold.go explains.
func (p *Player) Try(ctx context.Context) (err error) {
	if p.On.group != nil {
		ctx = p.On.group.ctx
		defer func() { err = p.On.endOfGroup(err) }()
	}
	p.On.Say(i18n.Textf("trying %s", p.Of.Name))
	held := make(chan error, 1)
	go func() { held <- p.holdLong(ctx) }()
	err = p.trial(ctx, 0)
	return cmp.Or(err, <-held) // waits also after an error: holdLong uses p until it returns
}

// trial plays the trial alone. Its holder keeps the lock for the time hold after all others have asked for it.
func (p *Player) trial(ctx context.Context, hold time.Duration) error {
	s, err := p.setUp(ctx, trialSessions[:], unmeasured, undelayed)
	t := &counter.Trial{Hold: hold, Contenders: s.contenders}
	defer t.End(s.close)
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
	var sent int64
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
