package player

import (
	"crypto/rand"
	"fmt"
	"io"
	"log"
	mathrand "math/rand/v2"
	"path"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zkserver"
)

// longest is the virtual time after which a play is taken not to end. It is long because the server's tick is a day.
const longest = 100 * 365 * day

// InBubble sets a world up in a bubble of its own, plays it and takes it down. Goroutines left are a violation. If the
// play does not end, doing, if it is not nil, says what was played.
func InBubble(t *testing.T, config World, doing func() string, playIt func(w *Player)) (r *Run) {
	config.Name = config.Lock.Name
	r = &Run{Facts: Facts{World: config}}
	defer func() {
		// The bubble panics if it ends with goroutines that wait for something.
		if p := recover(); p != nil && r.Violation == nil && !r.Aborted {
			r.Violation = &Violation{Kind: GoroutineLeft, What: panicText(p)}
		}
	}()
	if config.Lock.Lenient { // a student's lock, which may draw names at random
		// The random bytes are the same in each play. Package cryptotest needs a test binary, which the lab is not.
		usual := rand.Reader
		defer func() { rand.Reader = usual }()
		rand.Reader = &randomSource{source: mathrand.NewChaCha8([32]byte{})}
	}

	bubble.Limits{Virtual: longest, Doing: doing}.Test(t, func(*testing.T) {
		w := &Player{
			World: config, Run: r, Start: time.Now(), gatesOpen: true, activity: make(chan struct{}, 1), Camera: NoCamera{},
			sessions: make(map[int64]*Client), origins: make(map[string]origin),
			childrenMade: make(map[string]int), czxids: make(map[string]int64),
		}
		w.setUp()
		defer w.takeDown()
		defer func() {
			if p := recover(); p != nil {
				panic(fmt.Sprintf("explore: %v\n%s", p, debug.Stack()))
			}
		}()
		playIt(w)
	})
	return r
}

// panicText is what the bubble has panicked with when it ended. The usual text has its Chinese.
func panicText(p any) i18n.Text {
	if fmt.Sprint(p) == "deadlock: main bubble goroutine has exited but blocked goroutines remain" {
		return "deadlock: main bubble goroutine has exited but blocked goroutines remain"
	}
	return i18n.Same(fmt.Sprint(p))
}

// A randomSource is a source of random bytes that goroutines share.
type randomSource struct {
	mu     sync.Mutex
	source *mathrand.ChaCha8
}

func (d *randomSource) Read(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.source.Read(b)
	if len(b) >= 8 {
		b[0], b[1] = 0, 0 // ids that begin alike: a lock must compare them whole
	}
	return n, err
}

var noLog = log.New(io.Discard, "", 0)

// setUp connects the clients, makes the nodes above the lock's, and makes the contenders.
func (w *Player) setUp() {
	// The server's own clock must not end a session: the explorer does.
	w.Srv = zkserver.New(zkserver.WithTick(day))
	if w.Lock.Begin != nil {
		w.endLock = w.Lock.Begin(w.stopInGap)
	}

	servers := []string{"127.0.0.1:2181"}
	if w.Ensemble {
		servers = append(servers, "127.0.0.2:2181", "127.0.0.3:2181")
	}
	clients := w.Number()
	if w.Shared {
		clients = 1
	}
	for i := range clients {
		c := &Client{w: w, Index: i, Name: i18n.Letter(i)}
		if w.Shared {
			c.Name = "client"
		}
		w.Clients = append(w.Clients, c)
		makesParents := i == 0
		if makesParents || !w.Unconnected {
			c.connect(servers)
		}
	}

	w.makeParents()
	if w.Unconnected {
		w.Clients[0].Conn.Close()
		synctest.Wait()                      // the goroutines of that connection have ended
		w.Do(func() { w.gatesOpen = false }) // from here on a client waits for the explorer before it connects
		for _, c := range w.Clients {
			c.Line = newLine(w, c)
			c.Line.Broken = true
			c.connect(servers)
		}
	}

	for i := range w.Number() {
		c := w.Clients[min(i, clients-1)]
		k := &Contender{w: w, Client: c, Name: i18n.Letter(i), script: w.script(i), State: outside}
		c.Contenders = append(c.Contenders, k)
		w.Contenders = append(w.Contenders, k)
	}
	for _, c := range w.Clients {
		c.openLocks()
	}
	synctest.Wait()
	w.Do(func() { w.gatesOpen = false })
}

// openLocks gives each contender of a client its lock.
func (c *Client) openLocks() {
	w := c.w
	at := w.lockPath()
	if w.Apart {
		at += c.Name
	}
	if w.Tagged {
		for _, k := range c.Contenders {
			k.Lock = w.Lock.Open(c.Conn, taggedPath(at, k.Name))(k.Name)
		}
		return
	}
	newLock := w.Lock.Open(c.Conn, at)
	for _, k := range c.Contenders {
		k.Lock = newLock(w.owner(k.Name))
	}
}

// makeParents makes the nodes above the lock's that World says are there.
func (w *Player) makeParents() {
	if w.Missing && !w.Lock.Exists {
		return
	}
	conn := w.Clients[0].Conn
	must := func(_ string, err error) {
		if err != nil {
			panic(err)
		}
	}
	open := zk.WorldACL(zk.PermAll)
	parentACL := open // of the node in which the lock makes its own: that at its path if it has a queue, or the one above
	if w.Forbidden {
		parentACL = zk.WorldACL(zk.PermAll &^ zk.PermCreate)
	}

	hasQueue := w.Lock.Queue || w.Lock.Exists
	if dir := path.Dir(w.lockPath()); dir != "/" {
		acl := parentACL
		if hasQueue {
			acl = open
		}
		must(conn.Create(dir, nil, 0, acl))
	}
	if !hasQueue {
		return
	}

	if slices.Contains(w.Kinds, Remake) {
		must(conn.CreateContainer(w.lockPath(), nil, zk.FlagContainer, parentACL))
	} else {
		must(conn.Create(w.lockPath(), nil, 0, parentACL))
	}
	if w.Stranger {
		for _, name := range Strangers {
			must(conn.Create(w.lockPath()+"/"+name, nil, 0, open))
		}
	}
	if w.Sequence != 0 {
		w.Srv.SetSequence(w.lockPath(), w.Sequence)
	}
}

// takeDown lets all goroutines go on, and ends the sessions and the server.
func (w *Player) takeDown() {
	w.mu.Lock()
	w.gatesOpen = true
	for _, c := range w.Clients {
		c.Stopped, c.stalled = false, false
		openGate(&c.lostGate)
		openGate(&c.DialGate)
		if c.Line != nil {
			for len(c.Line.Up) > 0 && !c.Line.Broken {
				c.Line.arriveAtServerLocked()
			}
			for len(c.Line.Down) > 0 {
				c.Line.arriveAtClientLocked()
			}
			c.Line.WakeLocked()
		}
	}

	for _, g := range w.gaps {
		close(g.gate)
	}
	w.gaps = nil

	for _, k := range w.Contenders {
		openGate(&k.UnlockGate)
		if k.Cancel != nil {
			k.Cancel()
		}
	}
	w.mu.Unlock()

	if w.endLock != nil {
		w.endLock()
		synctest.Wait()
	}
	if w.Lock.Lenient {
		// It may be cleaning up. A request to a closed client is never answered: the end of its session ends the wait.
		for range 2 { // a client that is not closed goes on in a new session
			w.letMinutesPass()
			for _, c := range w.Clients {
				w.Srv.Expire(c.Conn.SessionID())
			}
		}
		w.letMinutesPass()
	}

	for _, c := range w.Clients {
		go c.Conn.Close()
	}
	synctest.Wait()
	time.Sleep(patience) // a goroutine that waits for a timer gets to its end
	w.Srv.Close()
}

// letMinutesPass lets five minutes pass after a schedule; less if a lock polls, because its requests take real time.
func (w *Player) letMinutesPass() {
	over := time.After(5 * patience)
	for range 300 { // more requests than a lock needs to clean up
		select {
		case <-w.activity:
		case <-over:
			return
		}
	}
}
