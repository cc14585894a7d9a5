//go:build linux

package chaos_test

import (
	"bufio"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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

type clientConfig struct {
	Process  int
	Servers  []string // the addresses by which its clients reach the servers
	Zoo      []string // the servers' own addresses
	Root     string
	Seed     uint64
	Ordinary []bool        // of each session: whether it is a client of zk.Connect
	Caching  time.Duration // zklock.WithCaching, if it is not 0
}

// A record is one line that a client process writes. Times are those of the
// machine's CLOCK_MONOTONIC, in nanoseconds.
type record struct {
	Kind  string `json:"kind"`
	Path  string `json:"path,omitempty"`
	Owner string `json:"owner,omitempty"`
	Token int64  `json:"token,omitempty"`

	// Of a lease.
	Call   int64 `json:"call,omitempty"`   // when Lock was called
	Begin  int64 `json:"begin,omitempty"`  // when it had returned
	Open   int64 `json:"open,omitempty"`   // when Lost was last seen open; never, if it is before Begin
	End    int64 `json:"end,omitempty"`    // when the lease had ended
	Calm   bool  `json:"calm,omitempty"`   // it was before the first fault, or after the last
	Cached bool  `json:"cached,omitempty"` // the node was cached just before Lock was called, or TryLock

	How   string `json:"how,omitempty"`   // how a lease has ended; of a write: acknowledged, refused or unknown
	Nonce string `json:"nonce,omitempty"` // of a write, in the name of its node in the log
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// now returns the time of a clock that all processes of the machine share.
func now() int64 {
	var ts syscall.Timespec
	const monotonic = 1
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return ts.Nano()
}

// The paths of the locks, below the root.
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

// An expiry is the end of a session from outside. It has come after from and before to. If zxid is
// 0, that of the end is not known, and to is so late that each lease of the session has begun.
type expiry struct{ from, to, zxid int64 }

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

// beClient is the main function of a client process.
func beClient() int {
	p := &process{finish: make(chan struct{}), out: json.NewEncoder(os.Stdout)}
	if err := p.run(); err != nil {
		fmt.Fprintf(os.Stderr, "process %d: %v\n", p.Process, err)
		return 1
	}
	return 0
}

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
			within, cancel := context.WithTimeout(ctx, leeway)
			if err := m.Shutdown(within); err != nil {
				p.log(record{Kind: "problem", How: fmt.Sprintf("session %d: %v", i, err)})
			}
			cancel()
		}
		s.conn.Close()
	}
	return nil
}

func (p *process) connect(ctx context.Context, ordinary bool) (*clientSession, error) {
	s := &clientSession{tap: new(wiretap.Tap)}
	dial := s.tap.Dialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		nc, err := net.DialTimeout(network, address, timeout)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dialed = nc
		return nc, err
	})
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var err error
	var options []zklock.Option
	with := func(conn *zk.Conn) {
		zk.WithDialer(zk.Dialer(dial))(conn)
		zk.WithLogger(silentLogger{})(conn)
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateExpired {
				p.log(record{Kind: "session over"})
			}
		})(conn)
	}
	if ordinary {
		s.conn, _, err = zk.Connect(p.Servers, sessionTimeout, with)
		options = append(options, zklock.WithSessionTimeout(sessionTimeout))
	} else {
		s.conn, err = zkconn.Connect(ctx, p.Servers, sessionTimeout, zkconn.WithZK(with))
	}
	if err != nil {
		return nil, err
	}
	options = append(options, zklock.WithCaching(p.Caching))
	for _, path := range paths {
		m, err := zklock.New(s.conn, p.Root+"/"+path, options...)
		if err != nil {
			return nil, err
		}
		s.mutexes = append(s.mutexes, m)
	}
	return s, nil
}

// obey carries out the test's commands on the standard input.
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
	at := &expiry{from: now(), to: math.MaxInt64}
	s.mu.Lock()
	s.expired = append(s.expired, at)
	s.mu.Unlock()
	zxid, err := p.zoo.EndSession(s.tap, s.conn.SessionID())
	s.mu.Lock()
	defer s.mu.Unlock()
	at.zxid, at.to = zxid, now()
	if err != nil {
		// The request may be on its way to a server that it has not reached yet.
		at.to += int64(time.Minute)
		p.log(record{Kind: "not expired", How: err.Error()})
		return
	}
	if zxid == 0 {
		at.to += int64(sessionTimeout) // every lease of the session was proved before the end
	}
	p.log(record{Kind: "expired"})
}

// excuse notes that the session of a lease was ended from outside: it lets the lease end then. The
// lock cannot know of the end before Lost closes. A lease may even begin after the end: the client's
// server may be behind, and send the event of the predecessor's release late.
func (r *record) excuse(expired []*expiry) {
	how := r.How
	for _, at := range expired {
		// The zxid of a lease's node, its token >> 10, is lower than that of the end if the node is of that session.
		if at.from <= r.End && (r.Token>>10 < at.zxid || at.zxid == 0 && r.Begin <= at.to) {
			r.How = how + ", its session was ended from outside"
			r.Open = min(r.Open, at.from)
		}
	}
}

// contend is what contender i does: a round on each path before the first fault, then it locks and
// unlocks at random, until the test says finish, and then one more round.
func (p *process) contend(i int) {
	rng := rand.New(rand.NewPCG(p.Seed, uint64(p.Process*1000+i))) // another one for each contender of all processes
	owner := zklock.NewOwner(fmt.Sprintf("process %d contender %d", p.Process, i))
	s := p.sessions[i%len(p.sessions)]
	round := func(deadline time.Time) {
		for path := range paths {
			ctx, cancel := context.WithDeadline(context.Background(), deadline)
			const try, calm = false, true
			err := p.lock(ctx, rng, s, path, owner, try, calm)
			for err != nil && ctx.Err() == nil { // the servers may be too slow for a lease to be safe
				time.Sleep(100 * time.Millisecond)
				err = p.lock(ctx, rng, s, path, owner, try, calm)
			}
			if err != nil {
				p.log(record{Kind: "problem", Owner: owner.String(), Path: paths[path], How: fmt.Sprintf("no turn in a round without faults: %v", err)})
			}
			cancel()
		}
	}
	round(time.Now().Add(5 * time.Minute))
	p.log(record{Kind: "first round"})

	for {
		select {
		case <-p.finish:
			round(p.deadline)
			return
		default:
		}
		patience := time.Minute
		if rng.IntN(4) == 0 {
			patience = time.Duration(rng.Int64N(int64(3 * time.Second)))
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		path, try, calm := rng.IntN(len(paths)), rng.IntN(5) == 0, false
		err := p.lock(ctx, rng, s, path, owner, try, calm)
		if p.Caching > 0 && !p.isTurn(i%len(p.sessions)) {
			time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second)))) // so that one session is nearly alone
		}
		if err != nil {
			time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond)))) // as a program that tries again does
		}
		if rng.IntN(20) == 0 {
			if list, err := s.mutexes[path].Participants(ctx); err == nil && len(list) > 0 {
				s.mutexes[path].Revoke(ctx, list[0])
			}
		}
		cancel()
	}
}

// isTurn reports whether most locks are those of session i now.
func (p *process) isTurn(i int) bool {
	turn := int(now() / int64(2*time.Second) % int64(processes*len(p.sessions)))
	return turn == p.Process*len(p.sessions)+i
}

// lock holds a lock for some time, writes to the register meanwhile, and logs the lease.
func (p *process) lock(ctx context.Context, rng *rand.Rand, s *clientSession, path int, owner *zklock.Owner, try, calm bool) error {
	m := s.mutexes[path]
	r := record{Kind: "lease", Path: paths[path], Owner: owner.String(), Call: now(), Cached: m.Stats().Cached == 1}
	acquire := m.Lock
	if try {
		acquire = m.TryLock
	}
	l, err := acquire(ctx, owner)
	if err != nil {
		return err
	}
	r.Begin, r.Token = now(), l.Token()
	r.Open = r.Call // Lost has not been seen open yet: the process may just have been stopped
	r.How, r.Calm = "unlocked", calm

	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			before := now()
			if bubble.IsClosed(l.Lost()) {
				r.How = "lost"
				return
			}
			r.Open = before
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	if !calm {
		hold := time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
		if rng.IntN(40) == 0 {
			hold = time.Duration(rng.Int64N(int64(2 * sessionTimeout)))
		}
		p.write(s, path, l)
		select {
		case <-time.After(hold):
		case <-l.Lost():
		case <-l.RevokeRequested():
		case <-p.finish:
		}
		p.write(s, path, l)
	}
	close(done)
	watching.Wait()
	unlockCtx, cancel := context.WithTimeout(context.Background(), 10*sessionTimeout)
	defer cancel()
	if err := l.Unlock(unlockCtx); err != nil && !errors.Is(err, zklock.ErrLost) {
		r.How += ": " + err.Error()
	}
	r.End = now()
	s.mu.Lock()
	r.excuse(s.expired)
	s.mu.Unlock()
	p.log(r)
	return nil
}

// A register is the data of a znode: the highest token that has written to it, and the number of writes. A
// write with a lower token is refused. In the same transaction, a write makes a node in the log.
type register struct {
	Token int64
	Count int
}

// write writes to the register of a path with a lease's token, unless the lease is lost before.
func (p *process) write(s *clientSession, path int, l *zklock.Lease) {
	reg := p.Root + "/register-" + paths[path]
	for !bubble.IsClosed(l.Lost()) {
		data, stat, err := s.conn.Get(reg)
		if err != nil {
			return
		}
		var r register
		if err := json.Unmarshal(data, &r); err != nil {
			p.log(record{Kind: "problem", How: "register: " + err.Error()})
			return
		}
		w := record{Kind: "write", Path: paths[path], Token: l.Token(), Nonce: crand.Text(), How: "refused"}
		if r.Token > l.Token() {
			p.log(w)
			return
		}
		r = register{l.Token(), r.Count + 1}
		data, _ = json.Marshal(r)
		entry := fmt.Sprintf("%s/log-%s/%08d-%016x-%s", p.Root, paths[path], r.Count, r.Token, w.Nonce)
		results, err := s.conn.Multi(
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
		p.log(w)
		return
	}
}
