package zkserver

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"example.com/zklock/internal/jute"
)

// ErrClosed is returned by Dial and Listen once the server has been closed.
var ErrClosed = errors.New("zkserver: server closed")

const (
	defaultTick       = 2 * time.Second  // as in ZooKeeper's sample configuration
	containerInterval = time.Minute      // znode.container.checkIntervalMs
	handshakeTimeout  = 10 * time.Second // a connection without a handshake is closed after it
)

// A Server is one embedded ZooKeeper. All methods may be called from any
// goroutine at any time.
type Server struct {
	tick    time.Duration
	refuses func() // set by WithRefusal
	start   time.Time
	done    chan struct{} // closed by Close
	wg      sync.WaitGroup

	// mu guards everything below, and every conn and session: the server's steps
	// are one sequence, as in ZooKeeper. Nothing blocks while it is held.
	mu           sync.Mutex
	closed       bool
	listener     net.Listener
	conns        map[*conn]struct{}
	lastConn     int64
	sessions     map[int64]*session
	lastSession  int64
	zxid         int64 // of the last transaction
	nodes        map[string]*node
	containers   map[string]struct{} // paths of the container nodes
	dataWatches  *watchTable
	childWatches *watchTable
	faults       []*Fault
	body         jute.Encoder // the reply in the making
	received     int64        // packets, for srvr
	sent         int64
}

// An Option changes a new Server.
type Option func(*Server)

// WithTick sets the tick, the grain of session expiry; the default is
// 2 s. Session timeouts are clamped to between 2 and 20 ticks.
// It panics if tick is not positive.
func WithTick(tick time.Duration) Option {
	if tick <= 0 {
		panic("zkserver: a tick must be positive")
	}
	return func(s *Server) { s.tick = tick }
}

// WithRefusal sets a function that is called whenever the server refuses a
// client that has seen a later transaction than the server has, which happens
// if a server has lost its data. The client gets no reason: its connection
// is closed, as by a real server. f is called with the server locked: it must not
// call the server, and must not block.
func WithRefusal(f func()) Option {
	return func(s *Server) { s.refuses = f }
}

// New starts a server. It listens nowhere until Listen is called; Dial works
// at once. Close must be called.
func New(options ...Option) *Server {
	s := &Server{
		tick:         defaultTick,
		refuses:      func() {},
		start:        time.Now(),
		done:         make(chan struct{}),
		conns:        make(map[*conn]struct{}),
		sessions:     make(map[int64]*session),
		nodes:        make(map[string]*node),
		containers:   make(map[string]struct{}),
		dataWatches:  newWatchTable(),
		childWatches: newWatchTable(),
	}
	for _, option := range options {
		option(s)
	}
	// Ids as the real server makes them, unlike those of any server before:
	// its own id (1), the time, room to count.
	s.lastSession = 1<<56 | int64(uint64(s.start.UnixMilli())<<24>>8)
	s.plant()
	s.wg.Go(s.clock)
	return s
}

// TB is the part of testing.TB that Run needs.
type TB interface {
	Helper()
	Cleanup(func())
}

// Run starts a server that is closed when the test ends.
func Run(t TB, options ...Option) *Server {
	t.Helper()
	s := New(options...)
	t.Cleanup(s.Close)
	return s
}

// Listen opens a TCP port on loopback, chosen by the system, and returns its
// address. Called again, it returns the same address. Not for use in a
// testing/synctest bubble: time stops there while a socket is waited
// for.
func (s *Server) Listen() (addr string, err error) { return s.ListenAt("127.0.0.1:0") }

// ListenAt is Listen at an address of the caller's choice. The server asks
// nobody for a password: the caller must see to it that the address is
// loopback.
func (s *Server) ListenAt(address string) (addr string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", ErrClosed
	}
	if s.listener == nil {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return "", err
		}
		s.listener = l
		s.wg.Go(func() { s.accept(l) })
	}
	return s.listener.Addr().String(), nil
}

func (s *Server) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(10 * time.Millisecond): // out of file descriptors, most likely
				continue
			}
		}
		if s.serve(nc) != nil {
			nc.Close()
		}
	}
}

// Dial connects to the server over a pipe. It has the type of a zk.Dialer;
// all its arguments are ignored.
func (s *Server) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	client, server := net.Pipe()
	if err := s.serve(server); err != nil {
		return nil, err
	}
	return client, nil
}

// Close ends all connections and sessions and returns when every goroutine
// of the server has ended.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		if s.listener != nil {
			s.listener.Close()
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
