//go:build linux

// The client process of the tests, which TestMain runs if clientEnv is set: its contenders lock and unlock.
package chaos_test

import (
	"bufio"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

// clientEnv is the environment variable that has the configuration of a client process.
const clientEnv = "ZKLOCK_CHAOS_CLIENT"

// A clientConfig is the configuration of a client process.
type clientConfig struct {
	Process  int
	Servers  []string // the addresses by which its clients reach the servers
	Zoo      []string // the servers' own addresses
	Root     string
	Seed     uint64
	Ordinary []bool        // of each session: whether it is a client of zk.Connect
	Caching  time.Duration // zklock.WithCaching, if it is not 0
}

// A record is one line that a client process writes. Times are those of the machine's CLOCK_MONOTONIC, in nanoseconds.
type record struct {
	Kind  string `json:"kind"` // lease, write, problem, first round, session over, expired or not expired
	Path  string `json:"path,omitempty"`
	Owner string `json:"owner,omitempty"`
	Token int64  `json:"token,omitempty"` // of a lease or a write

	// Of a lease.
	Call     int64 `json:"call,omitempty"`   // when Lock was called
	Begin    int64 `json:"begin,omitempty"`  // when it had returned
	SeenOpen int64 `json:"open,omitempty"`   // when Lost was last seen open; before Begin if it never was
	End      int64 `json:"end,omitempty"`    // when the lease had ended
	Calm     bool  `json:"calm,omitempty"`   // it was before the first fault, or after the last
	Cached   bool  `json:"cached,omitempty"` // the node was cached just before Lock was called, or TryLock

	Nonce string `json:"nonce,omitempty"` // of a write, in the name of its node in the log
	How   string `json:"how,omitempty"`   // how a lease ended; of a write: acknowledged, refused or unknown; else a reason
}

var silent = zk.WithLogger(log.New(io.Discard, "", 0))

// now returns the time of a clock that all processes of the machine share.
func now() int64 {
	var ts syscall.Timespec
	const monotonic = 1
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return ts.Nano()
}

// paths are those of the locks, below the root.
var paths = []string{"a", "b"}

// A clientSession is one client of a process.
type clientSession struct {
	conn    *zk.Conn
	tap     *wiretap.Tap
	mutexes []*zklock.Mutex // by path

	mu      sync.Mutex // guards what follows
	dialed  net.Conn
	expired []*expiry // the sessions of this client that were ended from outside
}

// An expiry is the end of a session that this process has asked the server for: after from and before to. If its zxid
// is not known it is 0, and to is later than the end can be: a lease that begins after to is of the next session.
type expiry struct{ from, to, zxid int64 }

// passBits are the low bits of a token: how many times the lock was handed on. The others are its node's czxid.
const passBits = 10

// A process is a client process.
type process struct {
	clientConfig
	zoo      *ensemble.Ensemble
	sessions []*clientSession
	finish   chan struct{} // closed when the test says finish
	deadline time.Time     // of the last locks; set before finish is closed

	mu  sync.Mutex
	out *json.Encoder // guarded by mu
}

func (p *process) log(r record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Encode(r)
}

// run opens the sessions, and returns when all contenders have done their work and the sessions are closed.
func (p *process) run() error {
	if err := json.Unmarshal([]byte(os.Getenv(clientEnv)), &p.clientConfig); err != nil {
		return err
	}
	ctx := context.Background()
	var err error
	if p.zoo, err = ensemble.Open(ctx, strings.Join(p.Zoo, ",")); err != nil {
		return err
	}
	for _, ordinary := range p.Ordinary {
		s, err := p.connect(ctx, ordinary)
		if err != nil {
			return err
		}
		p.sessions = append(p.sessions, s)
	}
	go p.obey()
	var wg sync.WaitGroup
	for i := range contendersEach {
		wg.Go(func() { p.contend(i) })
	}
	wg.Wait()
	for i, s := range p.sessions {
		for _, m := range s.mutexes {
			ctx, cancel := context.WithTimeout(ctx, leeway)
			if err := m.Shutdown(ctx); err != nil {
				p.log(record{Kind: "problem", How: fmt.Sprintf("session %d: %v", i, err)})
			}
			cancel()
		}
		s.conn.Close()
	}
	return nil
}

// connect opens a session with a Mutex for each path.
func (p *process) connect(ctx context.Context, ordinary bool) (*clientSession, error) {
	s := &clientSession{tap: new(wiretap.Tap)}
	dial := s.tap.Dialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		nc, err := net.DialTimeout(network, address, timeout)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dialed = nc
		return nc, err
	})
	ctx, cancel := context.WithTimeout(ctx, leeway)
	defer cancel()
	var err error
	options := []zklock.Option{zklock.WithCaching(p.Caching)}
	configure := func(conn *zk.Conn) {
		zk.WithDialer(zk.Dialer(dial))(conn)
		silent(conn)
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateExpired {
				p.log(record{Kind: "session over"})
			}
		})(conn)
	}
	if ordinary {
		s.conn, _, err = zk.Connect(p.Servers, sessionTimeout, configure)
		options = append(options, zklock.WithSessionTimeout(sessionTimeout))
	} else {
		s.conn, err = zkconn.Connect(ctx, p.Servers, sessionTimeout, zkconn.WithZK(configure))
	}
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		m, err := zklock.New(s.conn, p.Root+"/"+path, options...)
		if err != nil {
			return nil, err
		}
		s.mutexes = append(s.mutexes, m)
	}
	return s, nil
}

// obey carries out the test's commands on the standard input: cut N or expire N (a session), spread, finish TIME.
func (p *process) obey() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var what string
		var n int64
		fmt.Sscan(lines.Text(), &what, &n)
		switch what {
		case "cut":
			p.sessions[n].cut()
		case "spread": // each client goes to the next server of its list
			for _, s := range p.sessions {
				s.cut()
			}
		case "expire":
			go p.expire(p.sessions[n])
		case "finish":
			p.deadline = time.Now().Add(time.Duration(n - now()))
			close(p.finish)
		}
	}
}

func (s *clientSession) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dialed != nil {
		s.dialed.Close()
	}
}

// expire ends a session from outside.
func (p *process) expire(s *clientSession) {
	end := &expiry{from: now(), to: math.MaxInt64}
	s.mu.Lock()
	s.expired = append(s.expired, end)
	s.mu.Unlock()
	zxid, err := p.zoo.EndSession(s.tap, s.conn.SessionID())
	s.mu.Lock()
	defer s.mu.Unlock()
	end.zxid, end.to = zxid, now()
	if err != nil {
		end.to += int64(time.Minute) // the request may yet reach a server
		p.log(record{Kind: "not expired", How: err.Error()})
		return
	}
	if zxid == 0 {
		end.to += int64(sessionTimeout) // no lease of the session begins later: each was proved before the end
	}
	p.log(record{Kind: "expired"})
}

// excuse notes that the session of a lease was ended from outside: it lets the lease end then. The lock cannot know
// that before Lost closes. A lease may even begin later, after a late event, if the client's server is behind.
func (r *record) excuse(expired []*expiry) {
	how, czxid := r.How, r.Token>>passBits
	for _, end := range expired {
		isOfSession := czxid < end.zxid // its node was made before the end, so in that session
		if end.zxid == 0 {              // not known
			isOfSession = r.Begin <= end.to
		}
		if isOfSession && end.from <= r.End {
			r.How = how + ", its session was ended from outside"
			r.SeenOpen = min(r.SeenOpen, end.from)
		}
	}
}

// A contender is one of the contenders of a process, with an owner of its own.
type contender struct {
	*process
	session *clientSession
	owner   *zklock.Owner
	rng     *rand.Rand
	calm    bool // there is no fault: the first round, and the last
}

func (c *contender) oneIn(n int) bool                   { return c.rng.IntN(n) == 0 }
func (c *contender) upTo(d time.Duration) time.Duration { return time.Duration(c.rng.Int64N(int64(d))) }

// contend is what contender i does: a round without faults, locks at random until the test says finish, another round.
func (p *process) contend(i int) {
	c := &contender{
		process: p, session: p.sessions[i%len(p.sessions)],
		owner: zklock.NewOwner(fmt.Sprintf("process %d contender %d", p.Process, i)),
		rng:   rand.New(rand.NewPCG(p.Seed, uint64(p.Process*1000+i))), // another one for each contender of all processes
	}
	c.round(time.Now().Add(5 * time.Minute))
	p.log(record{Kind: "first round"})
	for !bubble.IsClosed(p.finish) {
		c.lockAtRandom()
		if p.Caching > 0 && !p.isTurn(i%len(p.sessions)) { // one session at a time is nearly alone
			time.Sleep(c.upTo(20 * time.Second))
		}
	}
	c.round(p.deadline)
}

// round locks and unlocks on each path, while there is no fault.
func (c *contender) round(deadline time.Time) {
	c.calm = true
	defer func() { c.calm = false }()
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	for path, m := range c.session.mutexes {
		err := c.lock(ctx, path, m.Lock)
		for ; err != nil && ctx.Err() == nil; err = c.lock(ctx, path, m.Lock) {
			time.Sleep(100 * time.Millisecond) // in real time: the servers may be too slow for a lease to be safe
		}
		if err != nil {
			c.log(record{Kind: "problem", Owner: c.owner.String(), Path: paths[path], How: "no turn without faults: " + err.Error()})
		}
	}
}

// lockAtRandom locks and unlocks on some path, and now and then asks a holder for the lock.
func (c *contender) lockAtRandom() {
	patience := time.Minute
	if c.oneIn(4) {
		patience = c.upTo(3 * time.Second)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	path := c.rng.IntN(len(paths))
	m := c.session.mutexes[path]
	acquire := m.Lock
	if c.oneIn(5) {
		acquire = m.TryLock
	}
	if err := c.lock(ctx, path, acquire); err != nil {
		time.Sleep(c.upTo(300 * time.Millisecond)) // as a program that tries again does
	}
	if c.oneIn(20) {
		if list, err := m.Participants(ctx); err == nil && len(list) > 0 {
			m.Revoke(ctx, list[0])
		}
	}
}

// isTurn reports whether it is the turn of session i, in which the contenders of all others sleep. Each session of all
// processes has a turn of 2 s after the other.
func (p *process) isTurn(i int) bool {
	turn := int(now() / int64(2*time.Second) % int64(processes*len(p.sessions)))
	return turn == p.Process*len(p.sessions)+i
}

// lock acquires a lock, writes to the register while it holds it for some time, and logs the lease.
func (c *contender) lock(ctx context.Context, path int, acquire func(context.Context, *zklock.Owner) (*zklock.Lease, error)) error {
	cached := c.session.mutexes[path].Stats().Cached == 1
	r := record{Kind: "lease", Path: paths[path], Owner: c.owner.String(), Call: now(), Cached: cached}
	l, err := acquire(ctx, c.owner)
	if err != nil {
		return err
	}
	r.Begin, r.Token = now(), l.Token()
	r.SeenOpen = r.Call // Lost has not been seen open yet: the process may just have been stopped
	r.How, r.Calm = "unlocked", c.calm

	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { // keeps in r when Lost was last seen open
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			before := now()
			if bubble.IsClosed(l.Lost()) {
				r.How = "lost"
				return
			}
			r.SeenOpen = before
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	if !c.calm {
		hold := c.upTo(20 * time.Millisecond)
		if c.oneIn(40) {
			hold = c.upTo(2 * sessionTimeout)
		}
		c.write(path, l)
		select {
		case <-time.After(hold):
		case <-l.Lost():
		case <-l.RevokeRequested():
		case <-c.finish:
		}
		c.write(path, l)
	}
	close(done)
	watching.Wait()
	unlockCtx, cancel := context.WithTimeout(context.Background(), 10*sessionTimeout)
	defer cancel()
	if err := l.Unlock(unlockCtx); err != nil && !errors.Is(err, zklock.ErrLost) {
		r.How += ": " + err.Error()
	}
	r.End = now()
	c.session.mu.Lock()
	r.excuse(c.session.expired)
	c.session.mu.Unlock()
	c.log(r)
	return nil
}

// A register is the data of a znode: the highest token that has written to it, and the number of writes. A
// write with a lower token is refused. In the same transaction, a write makes a node in the log.
type register struct {
	Token int64
	Count int
}

// write writes to the register of a path with a lease's token, unless the lease is lost before.
func (c *contender) write(path int, l *zklock.Lease) {
	reg := c.Root + "/register-" + paths[path]
	for !bubble.IsClosed(l.Lost()) {
		data, stat, err := c.session.conn.Get(reg)
		if err != nil {
			return
		}
		var r register
		if err := json.Unmarshal(data, &r); err != nil {
			c.log(record{Kind: "problem", How: "register: " + err.Error()})
			return
		}
		w := record{Kind: "write", Path: paths[path], Token: l.Token(), Nonce: crand.Text(), How: "refused"}
		if r.Token > l.Token() {
			c.log(w)
			return
		}
		r = register{l.Token(), r.Count + 1}
		data, _ = json.Marshal(r)
		entry := fmt.Sprintf("%s/log-%s/%08d-%016x-%s", c.Root, paths[path], r.Count, r.Token, w.Nonce)
		results, err := c.session.conn.Multi(
			&zk.SetDataRequest{Path: reg, Data: data, Version: stat.Version},
			&zk.CreateRequest{Path: entry, Acl: zk.WorldACL(zk.PermAll)})
		if err == nil {
			for _, result := range results {
				err = errors.Join(err, result.Error)
			}
		}
		switch {
		case err == nil:
			w.How = "acknowledged"
		case errors.Is(err, zk.ErrBadVersion):
			continue // another holder wrote late, or this one has read from a server that is behind
		default:
			w.How = "unknown"
		}
		c.log(w)
		return
	}
}
