package zkserver

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/zklock/internal/jute"
)

// ErrClosed is returned by Dial, Serve and Listen once the server has been closed.
var ErrClosed = errors.New("zkserver: server closed")

const (
	defaultTick       = 2 * time.Second  // as in ZooKeeper's sample configuration
	containerInterval = time.Minute      // znode.container.checkIntervalMs
	handshakeTimeout  = 10 * time.Second // a connection without a handshake is closed after it, or after a longer tick
)

// A Server is one embedded ZooKeeper. All methods may be called from any goroutine at any time.
type Server struct {
	tick    time.Duration
	refuses func()                           // set by WithRefusal
	withTTL bool                             // set by WithTTL
	epoch   int64                            // the upper 32 bits of each zxid
	id      int64                            // its number in an ensemble
	words   map[string]bool                  // four-letter words that are answered
	report  func(format string, args ...any) // the Errorf of Run's test; without Run it does nothing
	start   time.Time
	done    chan struct{} // closed by Close
	wg      sync.WaitGroup

	busy         atomic.Int64 // connections with a request that has been read and not answered
	lulls        atomic.Int64 // how many times busy has fallen to 0
	conditionsMu sync.Mutex   // held while the conditions of faults are called, and never under mu

	// mu guards everything below, and every conn and session: the server's steps
	// are one sequence, as in ZooKeeper. Nothing blocks while it is held.
	mu           sync.Mutex
	closed       bool
	addr         string                  // what Addr returns; "" before the server listens
	listeners    map[string]net.Listener // by address; nil while it is stopped
	down         bool                    // by Stop
	away         map[string]struct{}     // addresses, by Stop
	broken       []<-chan bool           // for each connection that Stop has broken, whether its client has seen it
	conns        map[*conn]struct{}      // that are open
	lastConn     int64                   // the number of the newest one
	sessions     map[int64]*session      // by id
	lastSession  int64                   // the id of the newest one
	zxid         int64                   // of the last transaction
	nodes        map[string]*node        // by path
	containers   map[string]struct{}     // paths of the container nodes
	ttls         map[string]struct{}     // paths of the nodes with a time to live
	dataWatches  *watchTable             // of nodes: of their data and their existence
	childWatches *watchTable             // of lists of children
	faults       []*Fault                // that wait for a request, in the order in which they were made
	body         jute.Encoder            // the reply in the making
	received     int64                   // packets, for the four-letter words
	sent         int64
}

// An Option changes a new Server.
type Option func(*Server)

// WithTick sets the tick, the grain of session expiry; the default is 2 s. Session timeouts are clamped to between 2
// and 20 ticks. A client has 10 s for its handshake, or a tick if that is longer. It panics if tick is not positive.
func WithTick(tick time.Duration) Option {
	if tick <= 0 {
		panic("zkserver: a tick must be positive")
	}
	return func(s *Server) { s.tick = tick }
}

// WithRefusal sets a function that is called whenever the server refuses a client that has seen a later transaction
// than the server has, which happens if a server has lost its data. The client gets no reason: its connection is
// closed, as by a real server. f is called with the server locked: it must not call the server, and must not block.
func WithRefusal(f func()) Option { return func(s *Server) { s.refuses = f } }

// WithTTL lets clients make nodes with a time to live (createTTL), which a real server refuses, too, unless its
// configuration has extendedTypesEnabled=true. Such a node goes when it has no children and has not been changed in its
// time; like containers it is looked for once a minute, and by ReapContainers.
func WithTTL() Option { return func(s *Server) { s.withTTL = true } }

// WithEpoch sets the upper 32 bits of each zxid, which in an ensemble are the number of the leader; the
// default is 0. From epoch 1 on a zxid does not fit in 32 bits.
func WithEpoch(epoch int32) Option { return func(s *Server) { s.epoch = int64(epoch) } }

// WithID sets the number of the server (myid), which is the highest byte of each session's number; the default is 1. The
// sessions of a server from 128 on have negative numbers.
func WithID(id byte) Option { return func(s *Server) { s.id = int64(id) } }

// WithWords sets the four-letter words that are answered, as 4lw.commands.whitelist does in the configuration of a real
// server; the default of both is srvr alone. "*" means all: conf, cons, envi, isro, mntr, ruok, srvr, stat.
func WithWords(words ...string) Option {
	return func(s *Server) {
		s.words = make(map[string]bool)
		for _, word := range words {
			s.words[word] = true
		}
	}
}

// New starts a server for a program, or for a test that closes it itself; Run is for all others. It
// listens nowhere until Addr, Listen or ListenAlso is called; Dial works at once. Close must be called.
func New(options ...Option) *Server {
	s := &Server{
		id:           1,
		tick:         defaultTick,
		refuses:      func() {},
		report:       func(string, ...any) {},
		words:        map[string]bool{"srvr": true},
		start:        time.Now(),
		done:         make(chan struct{}),
		listeners:    make(map[string]net.Listener),
		away:         make(map[string]struct{}),
		conns:        make(map[*conn]struct{}),
		dataWatches:  newWatchTable(),
		childWatches: newWatchTable(),
	}
	for _, option := range options {
		option(s)
	}
	// As on a real server, an id is made of the server's own id (in the highest byte), 40 bits of the time and a
	// counter of 16 bits: no earlier server has given the same.
	s.lastSession = s.id<<56 | int64(uint64(s.start.UnixMilli())<<24>>8) // the upper bits of the time are shifted out
	s.resetLocked()                                                      // no other goroutine has the server yet
	s.wg.Go(s.clock)
	return s
}

// TB is the part of testing.TB that Run needs. A program that imports this
// package does not import testing, and so does not get the flags of go test.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Run starts a server that is closed when the test ends. The test fails if a
// fault is left then that no request has met and that has not been released.
func Run(t TB, options ...Option) *Server {
	t.Helper()
	s := New(options...)
	s.report = t.Errorf
	t.Cleanup(func() {
		s.reportUnmet()
		s.Close()
	})
	return s
}

// Close ends all connections and sessions and returns when every goroutine of the server has ended.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		for _, l := range s.listeners {
			if l != nil {
				l.Close()
			}
		}
		for c := range s.conns {
			c.closeLocked()
		}
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// clock expires sessions and removes unused containers, once a tick.
func (s *Server) clock() {
	ticker := time.NewTicker(s.tick)
	defer ticker.Stop()
	nextReap := containerInterval
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		if s.down { // no session expires meanwhile
			s.mu.Unlock()
			continue
		}
		now := time.Since(s.start)
		for _, id := range slices.Sorted(maps.Keys(s.sessions)) { // oldest first, so that a run can be repeated exactly
			if ss := s.sessions[id]; now >= ss.deadline {
				s.expireLocked(ss)
			}
		}
		if now >= nextReap {
			s.reapContainersLocked()
			nextReap = now + containerInterval
		}
		s.mu.Unlock()
	}
}
