package zookeeper

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/wiretap"
)

// A Locker is one contender: all that the benchmark uses of a lock.
type Locker interface {
	Lock() error
	Unlock() error
}

// A shutdowner is a Locker that works on in the background after Unlock.
type shutdowner interface {
	// Shutdown returns when no such work is left: before that the client must not
	// be closed.
	Shutdown(ctx context.Context) error
}

// A cancellable Locker also returns when its context ends.
type cancellable interface {
	LockContext(ctx context.Context) error
}

// A Maker makes one contender.
type Maker = func(conn *zk.Conn, path string) Locker

// A Kind makes the contenders of one kind of lock.
type Kind struct {
	// Queue says that the path is the parent of a queue, which is made before the clock
	// starts; otherwise it is the lock's own node.
	Queue bool
	// Begin is called once for each run.
	Begin func(Run) Maker
}

// A Run is shared by the contenders of a run.
type Run struct {
	N              int // contenders
	SessionTimeout func(conn *zk.Conn) time.Duration
}

// Node is a lock with a node of its own, whose contenders share nothing.
func Node(m Maker) Kind { return Kind{false, func(Run) Maker { return m }} }

// Queue is a lock with a queue, whose contenders share nothing.
func Queue(m Maker) Kind { return Kind{true, func(Run) Maker { return m }} }

// A player plays a lock on ZooKeeper that is used from Go.
type player struct {
	lock counter.Lock
	Kind
	on *Server
}

// Play returns a player of a lock.
func (s *Server) Play(lock counter.Lock, kind Kind) counter.Player { return &player{lock, kind, s} }

func (p *player) Lock() counter.Lock { return p.lock }
func (p *player) Server() i18n.Text  { return p.on.zoo.Says() }
func (p *player) Close() error       { return nil }

// Warm runs the lock unmeasured, so that the first one to be measured does not pay for a
// server that has just started: a JVM is slow until it has compiled what it does often.
// The embedded server does not need it.
func (p *player) Warm(ctx context.Context, r report.Run) (bool, error) {
	if p.on.zoo.Embedded() {
		return false, nil
	}
	p.on.warming.Do(func() { p.on.Say(i18n.Textf("warming up", "预热")) })
	r.Goroutines, r.Times = max(r.Sessions, min(100, r.Goroutines)), 1
	return true, p.Run(ctx, &r)
}

// Run is one round.
func (p *player) Run(ctx context.Context, r *report.Run) (err error) {
	r.Client, r.RTT = report.GoClient(), p.on.RTT
	if p.on.group != nil {
		ctx = p.on.group.ctx
		defer func() { err = p.on.because(err) }()
	}
	dir, path, err := p.on.Fresh(p.lock.Name, p.Queue, r.Goroutines, r.Round)
	if err != nil {
		return err
	}
	tap := wiretap.New()
	conns, err := p.on.connect(ctx, tap, r.Sessions, r.Goroutines, p.on.RTT)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	contenders, err := p.contenders(r.Goroutines, tap, conns, path)
	if err != nil {
		return err
	}
	race := &counter.Race{
		Contenders: contenders, Times: r.Times, Limit: p.on.Limit, Work: p.on.Work, Step: p.on.Step,
		Leave: func() {
			closeAll(conns) // only the end of its session makes a contender leave Lock
			tap.Cut()       // a silent server would keep the clients for their whole read deadline
		},
		Sent: func() int64 { return tap.Counts().Total() },
	}
	var shared *tally // what the processes count in together
	if p.on.group != nil && r.Round > 0 {
		if shared, err = p.on.group.begin(dir); err != nil {
			return err
		}
		race.Work = func(i int) error { return shared.add(conns[i%len(conns)]) }
	}

	before := tap.Counts()
	err = race.Run(ctx, r)
	r.Used(tap.Counts().Since(before))
	if err == nil && shared != nil {
		err = shared.finish(r)
	}
	if err != nil {
		return err
	}
	return shutDownAll(contenders)
}

// A contender is a Locker with its session.
type contender struct {
	Locker
	session int64 // the first one: a client that loses it gets another one
}

func (c contender) Lock(ctx context.Context) error {
	if l, ok := c.Locker.(cancellable); ok {
		return l.LockContext(ctx)
	}
	return c.Locker.Lock()
}

func (c contender) Unlock(context.Context) error { return c.Locker.Unlock() }

func (c contender) String() string { return fmt.Sprintf("session %#x", c.session) }

// contenders makes n contenders that share the connections.
func (p *player) contenders(n int, tap *wiretap.Tap, conns []*zk.Conn, path string) (all []counter.Contender, err error) {
	err = counter.Guarded("New", func() error {
		timeout := func(conn *zk.Conn) time.Duration { return tap.SessionTimeout(conn.SessionID()) }
		newContender := p.Begin(Run{n, timeout})
		for i := range n {
			conn := conns[i%len(conns)]
			all = append(all, contender{newContender(conn, path), conn.SessionID()})
		}
		return nil
	})
	return all, err
}

// shutDownAll returns when no contender works on in the background.
func shutDownAll(contenders []counter.Contender) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	for _, c := range contenders {
		if s, ok := c.(contender).Locker.(shutdowner); ok {
			if err := s.Shutdown(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
