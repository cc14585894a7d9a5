package zookeeper

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/ensemble"
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
	// Shutdown returns when no such work is left: before that the client must not be closed.
	Shutdown(ctx context.Context) error
}

// A cancellable Locker also returns when its context ends.
type cancellable interface {
	LockContext(ctx context.Context) error
}

type Maker = func(conn *zk.Conn, path string) Locker

// A Kind makes the contenders of one kind of lock.
type Kind struct {
	// OwnNode says that the lock makes the node at the path; otherwise that is a queue's parent, made before the clock starts.
	OwnNode bool
	Make    Maker
	// Begin is set in place of Make if contenders share something, as those of zklock share a Mutex in each session. It is
	// called once for each run.
	Begin func(Run) Maker
}

// A Run has what Begin may need to know of a run.
type Run struct {
	N              int // contenders
	SessionTimeout func(conn *zk.Conn) time.Duration
}

// A Player plays a lock on ZooKeeper that is used from Go.
type Player struct {
	Of   counter.Lock
	Kind         // makes its contenders
	On   *Server // where it is played
}

func (p *Player) Lock() counter.Lock { return p.Of }
func (p *Player) Server() i18n.Text  { return p.On.zoo.Says() }
func (p *Player) Close() error       { return nil }

// Warm runs the lock unmeasured, so that the first one to be measured does not pay for a server that has just started:
// a JVM is slow until it has compiled what it does often. The embedded server does not need it.
func (p *Player) Warm(ctx context.Context, r report.Run) (bool, error) {
	if p.On.zoo.Embedded() {
		return false, nil
	}
	p.On.warming.Do(func() { p.On.Say("warming up") })
	r.Goroutines, r.Times = max(r.Sessions, min(100, r.Goroutines)), 1
	return true, p.Run(ctx, &r)
}

func (p *Player) Run(ctx context.Context, r *report.Run) (err error) {
	r.Client, r.RTT = report.GoClient, p.On.RTT
	if p.On.group != nil {
		ctx = p.On.group.ctx
		defer func() { err = p.On.endOfGroup(err) }()
	}
	sessionOf := make([]int, r.Goroutines)
	for i := range sessionOf {
		sessionOf[i] = i % r.Sessions
	}
	s, err := p.setUp(ctx, sessionOf, r.Round, p.On.RTT)
	defer s.close()
	if err != nil {
		return err
	}

	race := &counter.Race{
		Contenders: s.contenders, Times: r.Times, Limit: p.On.Limit, Work: p.On.Work, Step: p.On.Step,
		Leave: func() {
			s.close()   // only the end of its session makes a contender leave Lock; to close once more does nothing
			s.tap.Cut() // a silent server would keep the clients for their whole read deadline
		},
		Sent: func() int64 { return s.tap.Counts().Total() },
	}
	var shared *tally // in which several processes count together
	if p.On.group != nil && r.Round != unmeasured {
		if shared, err = p.On.group.begin(s.dir); err != nil {
			return err
		}
		race.Work = func(i int) error { return shared.add(s.conns[sessionOf[i]]) }
	}

	before := s.tap.Counts()
	err = race.Run(ctx, r)
	r.SetCounts(s.tap.Counts().Since(before))
	if err == nil && shared != nil {
		err = shared.finish(r)
	}
	if err != nil {
		return err
	}
	return shutDownAll(s.contenders)
}

// A setup is what a run of a lock, or its trial, is played with.
type setup struct {
	dir        string // the node of this run
	path       string // of the lock, in dir
	tap        *wiretap.Tap
	conns      []*zk.Conn // the sessions
	contenders []counter.Contender
}

const (
	unmeasured = 0 // the round of a warm-up, and of a trial
	undelayed  = 0 // the rtt of a connection that is not made slower
)

// setUp opens sessions at a distance of rtt from the server, and makes contenders. sessionOf has the session of each
// contender, as an index of conns. The setup must be closed, also after an error.
func (p *Player) setUp(ctx context.Context, sessionOf []int, round int, rtt time.Duration) (s *setup, err error) {
	n, sessions := len(sessionOf), slices.Max(sessionOf)+1
	s = &setup{tap: new(wiretap.Tap)}
	if s.dir, s.path, err = p.On.Fresh(p.Of.Name, p.OwnNode, n, round); err != nil {
		return s, err
	}
	options := ensemble.Options{Tap: s.tap, SessionTimeout: sessionTimeout}
	if rtt > 0 {
		options.Wrap = func(nc net.Conn) net.Conn { return distant(nc, rtt) }
	}
	if sessions > 1 {
		const longestName, smallAnswers = 80, 64 << 10 // bytes
		options.Buffer = smallAnswers + longestName*n*max(p.On.Processes, 1)
	}
	for len(s.conns) < sessions {
		timeout := connectTimeout
		if len(s.conns) > 0 {
			timeout /= 3 // the server has answered before
		}
		ctx, cancel := context.WithTimeout(ctx, timeout+2*rtt)
		conn, err := p.On.zoo.Connect(ctx, options)
		cancel()
		if err != nil && len(s.conns) > 0 {
			err = i18n.Errorf("session %d of %d cannot be opened; maxClientCnxns in zoo.cfg is how many connections a server "+
				"takes from one address, 60 unless it is set: %w", len(s.conns)+1, sessions, err)
		}
		if err != nil {
			return s, err
		}
		s.conns = append(s.conns, conn)
	}

	err = counter.Guarded("New", func() error {
		newContender := p.Make
		if p.Begin != nil {
			newContender = p.Begin(Run{n, func(conn *zk.Conn) time.Duration { return s.tap.SessionTimeout(conn.SessionID()) }})
		}
		for _, session := range sessionOf {
			conn := s.conns[session]
			s.contenders = append(s.contenders, contender{newContender(conn, s.path), conn.SessionID()})
		}
		return nil
	})
	return s, err
}

func (s *setup) close() {
	var wg sync.WaitGroup
	for _, conn := range s.conns {
		wg.Go(conn.Close)
	}
	wg.Wait()
}

// Fresh makes the folder dir for a run of a lock, and a node at the path of the lock unless the lock makes that itself.
func (s *Server) Fresh(lock string, ownNode bool, n, round int) (dir, lockPath string, err error) {
	run := int(s.runs.Add(1))
	lock = strings.ReplaceAll(lock, "/", "_")
	dir = fmt.Sprintf("%s/%d-%s", s.root, run, lock)
	if s.group != nil {
		dir = fmt.Sprintf("%s/%s-%d-%d", s.root, lock, n, round)
		if round == unmeasured { // each process warms up on its own
			dir = fmt.Sprintf("%s/warmup-%s-%d", s.root, s.group.me.node, run)
		}
	}
	lockPath = dir + "/lock"
	if ownNode {
		return dir, lockPath, create(s.admin, dir, "")
	}
	return dir, lockPath, create(s.admin, lockPath, "")
}

// distant puts half of a round trip into each direction.
func distant(nc net.Conn, rtt time.Duration) net.Conn {
	return bubble.Through(nc, bubble.Way{Far: rtt / 2}, bubble.Way{Far: rtt / 2})
}

// DialFar connects to a server over a line whose round trip time is s.RTT.
func (s *Server) DialFar(network, address string, timeout time.Duration) (net.Conn, error) {
	nc, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return distant(nc, s.RTT), nil
}

// A contender is a Locker with its session.
type contender struct {
	Locker
	session int64 // with which its client began
}

func (c contender) Lock(ctx context.Context) error {
	if l, ok := c.Locker.(cancellable); ok {
		return l.LockContext(ctx)
	}
	return c.Locker.Lock()
}

func (c contender) Unlock(context.Context) error { return c.Locker.Unlock() }

func (c contender) String() string { return fmt.Sprintf("session %#x", c.session) }

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
