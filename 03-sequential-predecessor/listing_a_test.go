package predecessor_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	predecessor "example.com/zklock/03-sequential-predecessor"
	"example.com/zklock/internal/museum"
)

// zkClientLock is article A's second lock, section 3, as it stands there; an
// exception that nobody catches is a panic. The bugs A7 to A10 are all in it;
// each has a test of its own, bug_a7_test.go to bug_a10_test.go.
type zkClientLock struct {
	lockPath       string
	client         zkClient
	countDownLatch *museum.CountDownLatch
	beforePath     string
	currentPath    string
}

func newZkClientLock(conn *zk.Conn, path string) museum.Lock {
	return &zkClientLock{lockPath: path, client: zkClient{conn}}
}

func (l *zkClientLock) Lock() error {
	if !l.tryLock() {
		l.waitForRelease()
		return l.Lock()
	}
	return nil
}

func (l *zkClientLock) tryLock() bool {
	if l.currentPath == "" { // only the first time [A9]
		l.currentPath = l.client.createEphemeralSequential(l.lockPath+"/", "lock") // nobody makes lockPath [A10]
	}
	children := l.client.getChildren(l.lockPath)
	slices.Sort(children)
	if l.currentPath == l.lockPath+"/"+children[0] {
		return true
	}
	sequenceNodeName := l.currentPath[len(l.lockPath)+1:]
	i := museum.BinarySearch(children, sequenceNodeName)
	l.beforePath = l.lockPath + "/" + children[i-1] // where the own node has gone, i is negative [A8]
	return false
}

func (l *zkClientLock) waitForRelease() {
	listener := &dataListener{handleDataDeleted: func() {
		if l.countDownLatch != nil {
			l.countDownLatch.CountDown()
		}
	}}
	l.client.subscribeDataChanges(l.beforePath, listener)
	if l.client.exists(l.beforePath) {
		museum.Preemptible("A7")                      // what is deleted here
		l.countDownLatch = museum.NewCountDownLatch() // opens no latch
		l.countDownLatch.Await()
	}
	l.client.unsubscribeDataChanges(listener)
}

func (l *zkClientLock) Unlock() error {
	l.client.delete(l.currentPath)
	return nil
}

// zkClient is what the listing uses of the library of that name.
type zkClient struct{ conn *zk.Conn }

type dataListener struct {
	handleDataDeleted func()
	unsubscribed      atomic.Bool
}

// must throws.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (c zkClient) createEphemeralSequential(path, data string) string {
	node, err := c.conn.Create(path, []byte(data), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	must(err)
	return node
}

func (c zkClient) getChildren(path string) []string {
	children, _, err := c.conn.Children(path)
	must(err)
	return children
}

func (c zkClient) exists(path string) bool {
	found, _, err := c.conn.Exists(path)
	must(err)
	return found
}

func (c zkClient) delete(path string) {
	if err := c.conn.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) {
		must(err)
	}
}

// subscribeDataChanges watches, and in a new session it watches again. As the
// library does, it tries until it is connected.
func (c zkClient) subscribeDataChanges(path string, l *dataListener) {
	_, _, events, err := c.conn.ExistsW(path)
	for tries := 0; errors.Is(err, zk.ErrNoServer) && tries < 100; tries++ {
		time.Sleep(100 * time.Millisecond) // as the library does; virtual
		_, _, events, err = c.conn.ExistsW(path)
	}
	must(err)
	go func() {
		event := <-events
		switch {
		case l.unsubscribed.Load():
		case event.Type == zk.EventNodeDeleted:
			l.handleDataDeleted()
		case errors.Is(event.Err, zk.ErrSessionExpired):
			c.subscribeDataChanges(path, l)
		}
	}()
}

func (c zkClient) unsubscribeDataChanges(l *dataListener) { l.unsubscribed.Store(true) }

func newPredecessor(conn *zk.Conn, path string) museum.Lock { return predecessor.New(conn, path) }

// withParent makes the lock's parent, which the listings take for granted.
func withParent(s *museum.Stage, c *museum.Client) {
	s.Aside(func() {
		_, err := c.Create(s.Path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		must(err)
	})
}
