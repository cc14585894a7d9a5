package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/bench/internal/group"
	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/wiretap"
)

// A locker is one contender on ZooKeeper: all that the benchmark uses of a lock.
type locker interface {
	Lock() error
	Unlock() error
}

// A shutdowner is a locker that works on in the background after Unlock.
type shutdowner interface {
	// Shutdown returns when no such work is left: before that the client must not
	// be closed.
	Shutdown(ctx context.Context) error
}

// A cancellable locker also returns when its context ends.
type cancellable interface {
	LockContext(ctx context.Context) error
}

// A maker makes one contender.
type maker = func(conn *zk.Conn, path string) locker

// A setting is shared by the contenders of a run.
type setting struct {
	n              int // contenders
	sessionTimeout func(conn *zk.Conn) time.Duration
}

// each is the begin of a lock whose contenders share nothing.
func each(m maker) func(setting) maker { return func(setting) maker { return m } }

// A zooPlayer plays a lock on ZooKeeper that is used from Go.
type zooPlayer struct {
	*benchmark
	contestant
	begin func(setting) maker // called once for each run
}

// onZoo opens such a lock.
func onZoo(begin func(setting) maker) opener {
	return func(_ context.Context, b *benchmark, c contestant) (player, error) {
		return &zooPlayer{b, c, begin}, nil
	}
}

func (p *zooPlayer) String() string { return p.zoo.String() }
func (p *zooPlayer) close() error   { return nil }

// warm runs the lock unmeasured, so that the first one to be measured does not pay for a
// server that has just started: a JVM is slow until it has compiled what it does often.
// The embedded server does not need it.
func (p *zooPlayer) warm(ctx context.Context, r report.Run) (bool, error) {
	if p.zoo.Embedded() {
		return false, nil
	}
	r.Goroutines, r.Times = max(r.Sessions, min(100, r.Goroutines)), 1
	return true, p.run(ctx, &r, func() {})
}

// run is one round.
func (p *zooPlayer) run(ctx context.Context, r *report.Run, step func()) (err error) {
	if p.group != nil {
		ctx = p.group.Context()
		defer func() { err = p.because(err) }()
	}
	dir, path, err := p.freshPath(p.contestant, r.Goroutines, r.Round)
	if err != nil {
		return err
	}
	tap := wiretap.New()
	conns, err := p.connect(ctx, tap, r.Sessions, r.Goroutines, p.cfg.rtt)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	var counter *group.Tally // what the processes count in together; nil for one that is alone, or warms up
	if r.Round > 0 {
		if counter, err = p.group.Begin(dir); err != nil {
			return err
		}
	}
	contenders, err := p.contenders(r.Goroutines, tap, conns, path)
	if err != nil {
		return err
	}
	before := tap.Counts()
	err = (&race{
		contenders: contenders, times: r.Times, limit: p.cfg.limit, step: step,
		leave: func() {
			closeAll(conns) // only the end of its session makes a contender leave Lock
			tap.Cut()       // a silent server would keep the clients for their whole read deadline
		},
		work: func(i int) error { return counter.Add(conns[i%len(conns)], meet) },
		sent: func() int64 { return tap.Counts().Total() },
	}).run(ctx, r)
	r.Used(tap.Counts().Since(before))
	if err == nil {
		err = counter.Finish(r)
	}
	if err != nil {
		return err
	}
	return shutDownAll(contenders)
}

// A zooContender is a locker with its session.
type zooContender struct {
	locker
	session int64 // the first one: a client that loses it gets another one
}

func (c zooContender) Lock(context.Context) error   { return c.locker.Lock() }
func (c zooContender) Unlock(context.Context) error { return c.locker.Unlock() }

func (c zooContender) String() string { return fmt.Sprintf("session %#x", c.session) }

// An impatientContender gives up when its context ends.
type impatientContender struct {
	zooContender
	cancellable
}

func (c impatientContender) Lock(ctx context.Context) error { return c.LockContext(ctx) }

// contenders makes n contenders that share the connections.
func (p *zooPlayer) contenders(n int, tap *wiretap.Tap, conns []*zk.Conn, path string) (all []contender, err error) {
	err = guarded("New", func() error {
		timeout := func(conn *zk.Conn) time.Duration { return tap.SessionTimeout(conn.SessionID()) }
		newContender := p.begin(setting{n, timeout})
		for i := range n {
			conn := conns[i%len(conns)]
			all = append(all, zooContender{newContender(conn, path), conn.SessionID()})
		}
		return nil
	})
	return all, err
}

// try plays the trial. It also finds out whether the path of a reader's lock is the
// parent of a queue.
func (p *zooPlayer) try(ctx context.Context) (err error) {
	if p.group != nil {
		ctx = p.group.Context()
		defer func() { err = p.because(err) }()
	}
	p.progress.say(language.Say("trying %s", "试跑 %s", p.name))
	_, path, err := p.freshPath(p.contestant, trialContenders, 0)
	if err != nil {
		return err
	}
	tap := wiretap.New(wiretap.WithLog())
	conns, err := p.connect(ctx, tap, 3, trialContenders, 0)
	t := newTrial(ctx, "the session of a waiter ended")
	defer t.end(func() { closeAll(conns) })
	if err != nil {
		return err
	}
	var ofContenders []*zk.Conn
	for _, session := range trialSessions {
		ofContenders = append(ofContenders, conns[session])
	}
	if t.contenders, err = p.contenders(trialContenders, tap, ofContenders, path); err != nil {
		return err
	}
	holders := conns[0]
	session, sent := holders.SessionID(), int64(0)
	impatient, givesUp := t.contenders[theImpatient].(zooContender).locker.(cancellable)
	if t.stays = !givesUp; givesUp {
		t.contenders[theImpatient] = impatientContender{t.contenders[theImpatient].(zooContender), impatient}
	}
	t.alive = func() (int64, bool) {
		c := tap.Counts()
		return c.BytesIn + c.BytesOut, tap.Pending() > 0
	}
	t.entered = func() {
		if p.folder != "" {
			_, stat, err := p.admin.Exists(path)
			p.queue = err == nil && stat.EphemeralOwner == 0 && stat.Czxid != 0
		}
	}
	t.leaves = func() error {
		if holders.SessionID() != session || holders.State() != zk.StateHasSession {
			return language.Errorf("session %#x of the holder was lost", "持有者的会话 %#x 已丢失", session)
		}
		return nil
	}
	t.close = func() error {
		sent = tap.Counts().Total()
		conns[trialSessions[theClosed]].Close()
		// In an ensemble the server of the next contender may receive the end of the session later.
		if _, err := conns[trialSessions[theNext]].Sync(path); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return nil
	}
	if err := t.run(); err != nil {
		return err
	}
	if sent == 0 {
		return language.Errorf("it sent nothing to ZooKeeper: it excludes no contender of another process", "没有向 ZooKeeper 发送任何请求：无法与其他进程的竞争者互斥")
	}
	return shutDownAll(t.contenders)
}

// shutDownAll returns when no contender works on in the background.
func shutDownAll(contenders []contender) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	for _, c := range contenders {
		if i, ok := c.(impatientContender); ok {
			c = i.zooContender
		}
		if s, ok := c.(zooContender).locker.(shutdowner); ok {
			if err := s.Shutdown(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// connect opens the sessions that n contenders share, with the server a round
// trip away.
func (b *benchmark) connect(ctx context.Context, tap *wiretap.Tap, sessions, n int, rtt time.Duration) ([]*zk.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout+time.Duration(sessions)*(10*time.Millisecond+2*rtt))
	defer cancel()
	options := ensemble.Options{Tap: tap, SessionTimeout: b.sessionTimeout()}
	if rtt > 0 {
		options.Wrap = func(nc net.Conn) net.Conn { return delayed(nc, rtt) }
	}
	if sessions > 1 {
		options.Buffer = 64<<10 + 80*n*b.cfg.procs // enough for a list of all names
	}
	var conns []*zk.Conn
	for range sessions {
		limit := connectTimeout
		if len(conns) > 0 {
			limit /= 3 // the server is there
		}
		ctx, cancel := within(ctx, limit+2*rtt)
		conn, err := b.zoo.Connect(ctx, options)
		cancel()
		if err != nil && len(conns) > 0 {
			err = language.Errorf("session %d of %d cannot be opened; maxClientCnxns in zoo.cfg is how many connections a server "+
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
