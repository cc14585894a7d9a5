package zookeeper

import (
	"context"
	"fmt"
	"net"
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
	// Node says that the path is the lock's own node; otherwise it is the parent of a queue,
	// which is made before the clock starts.
	Node bool
	Make Maker
	// Begin takes the place of Make where contenders share something. It is called once for each run.
	Begin func(Run) Maker
}

// A Run is shared by the contenders of a run.
type Run struct {
	N              int // contenders
	SessionTimeout func(conn *zk.Conn) time.Duration
}

// A Player plays a lock on ZooKeeper that is used from Go.
type Player struct {
	Of counter.Lock
	Kind
	On *Server
}

func (p *Player) Lock() counter.Lock { return p.Of }
func (p *Player) Server() i18n.Text  { return p.On.zoo.Says() }
func (p *Player) Close() error       { return nil }

// Warm runs the lock unmeasured, so that the first one to be measured does not pay for a
// server that has just started: a JVM is slow until it has compiled what it does often.
// The embedded server does not need it.
func (p *Player) Warm(ctx context.Context, r report.Run) (bool, error) {
	if p.On.zoo.Embedded() {
		return false, nil
	}
	p.On.warming.Do(func() { p.On.Say(i18n.Textf("warming up", "预热")) })
	r.Goroutines, r.Times = max(r.Sessions, min(100, r.Goroutines)), 1
	return true, p.Run(ctx, &r)
}

// Run is one round.
func (p *Player) Run(ctx context.Context, r *report.Run) (err error) {
	r.Client, r.RTT = report.GoClient(), p.On.RTT
	if p.On.group != nil {
		ctx = p.On.group.ctx
		defer func() { err = p.On.because(err) }()
	}
	dir, path, err := p.On.Fresh(p.Of.Name, p.Node, r.Goroutines, r.Round)
	if err != nil {
		return err
	}
	tap := wiretap.New()
	conns, err := p.On.connect(ctx, tap, r.Sessions, r.Goroutines, p.On.RTT)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	contenders, err := p.contenders(r.Goroutines, tap, conns, path)
	if err != nil {
		return err
	}
	race := &counter.Race{
		Contenders: contenders, Times: r.Times, Limit: p.On.Limit, Work: p.On.Work, Step: p.On.Step,
		Leave: func() {
			closeAll(conns) // only the end of its session makes a contender leave Lock
			tap.Cut()       // a silent server would keep the clients for their whole read deadline
		},
		Sent: func() int64 { return tap.Counts().Total() },
	}
	var shared *tally // what the processes count in together
	if p.On.group != nil && r.Round > 0 {
		if shared, err = p.On.group.begin(dir); err != nil {
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

// Fresh makes a node for one run of a lock, and returns it and the path of the lock in it,
// which is made, too, unless it is the lock's own node. Round 0 is not measured.
func (s *Server) Fresh(lock string, ownNode bool, n, round int) (dir, lockPath string, err error) {
	run := int(s.runs.Add(1))
	lock = strings.ReplaceAll(lock, "/", "_")
	dir = fmt.Sprintf("%s/%d-%s", s.root, run, lock)
	if s.group != nil {
		dir = fmt.Sprintf("%s/%s-%d-%d", s.root, lock, n, round)
		if round == 0 { // each process warms up on its own
			dir = fmt.Sprintf("%s/warmup-%s-%d", s.root, s.group.me.node, run)
		}
	}
	lockPath = dir + "/lock"
	made := lockPath
	if ownNode {
		made = dir
	}
	return dir, lockPath, create(s.admin, made, "")
}

// connect opens the sessions that n contenders share, with the server a round
// trip away.
func (s *Server) connect(ctx context.Context, tap *wiretap.Tap, sessions, n int, rtt time.Duration) ([]*zk.Conn, error) {
	options := ensemble.Options{Tap: tap, SessionTimeout: sessionTimeout}
	if rtt > 0 {
		options.Wrap = func(nc net.Conn) net.Conn { return distant(nc, rtt) }
	}
	if sessions > 1 {
		options.Buffer = 64<<10 + 80*n*max(s.Processes, 1) // enough for a list of all names, of less than 80 bytes each
	}
	var conns []*zk.Conn
	for range sessions {
		limit := connectTimeout
		if len(conns) > 0 {
			limit /= 3 // the server is there
		}
		ctx, cancel := context.WithTimeout(ctx, limit+2*rtt)
		conn, err := s.zoo.Connect(ctx, options)
		cancel()
		if err != nil && len(conns) > 0 {
			err = i18n.Errorf("session %d of %d cannot be opened; maxClientCnxns in zoo.cfg is how many connections a server "+
				"takes from one address, 60 unless it is set: %w",
				"第 %d 个会话（共 %d 个）无法建立；zoo.cfg 里的 maxClientCnxns 限制一个地址能建立多少个连接，不设置就是 60：%v", len(conns)+1, sessions, err)
		}
		if err != nil {
			return conns, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func closeAll(conns []*zk.Conn) {
	var wg sync.WaitGroup
	for _, conn := range conns {
		wg.Go(conn.Close)
	}
	wg.Wait()
}

// distant puts half of a round trip into each direction.
func distant(nc net.Conn, rtt time.Duration) net.Conn {
	return bubble.Through(nc, bubble.Way{Far: rtt / 2}, bubble.Way{Far: rtt / 2})
}

// DialFar connects to a server that is a round trip away.
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
func (p *Player) contenders(n int, tap *wiretap.Tap, conns []*zk.Conn, path string) (all []counter.Contender, err error) {
	err = counter.Guarded("New", func() error {
		timeout := func(conn *zk.Conn) time.Duration { return tap.SessionTimeout(conn.SessionID()) }
		newContender := p.Make
		if p.Begin != nil {
			newContender = p.Begin(Run{n, timeout})
		}
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
