package listings

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/java"
)

// zkClientLock is article A's second lock, from section 3, with the same methods in the same order. An exception that
// the article does not catch is a panic here. It has the bugs A7 to A10.
type zkClientLock struct {
	lockPath string
	client   zkClient
	// Not volatile in the article. Here the accesses are ordered, so that the schedule alone decides what a thread reads.
	countDownLatch atomic.Pointer[java.CountDownLatch]
	beforePath     string
	currentPath    string
}

// NewZkClientLock makes a contender for the queue in path, which must exist.
func NewZkClientLock(conn *zk.Conn, path string) Lock {
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
	if l.currentPath == "" {
		l.currentPath = l.client.createEphemeralSequential(l.lockPath+"/", "lock") // only the first time, and nothing creates lockPath [A9, A10]
	}
	children := l.client.getChildren(l.lockPath) // its own node may be gone [A8]
	slices.Sort(children)
	if l.currentPath == l.lockPath+"/"+children[0] {
		return true
	}
	sequenceNodeName := l.currentPath[len(l.lockPath)+1:]
	i := java.BinarySearch(children, sequenceNodeName)
	l.beforePath = l.lockPath + "/" + children[i-1] // then i is negative, and this throws [A8]
	return false
}

func (l *zkClientLock) waitForRelease() {
	listener := &dataListener{handleDataDeleted: func() {
		if l.countDownLatch.Load() != nil {
			l.countDownLatch.Load().CountDown()
		}
	}}
	l.client.subscribeDataChanges(l.beforePath, listener)
	if l.client.exists(l.beforePath) {
		java.Preemptible("A7") // an event that comes here finds no latch [A7]
		l.countDownLatch.Store(java.NewCountDownLatch())
		l.countDownLatch.Load().Await()
	}
	l.client.unsubscribeDataChanges(listener)
}

func (l *zkClientLock) Unlock() error {
	l.client.delete(l.currentPath)
	return nil
}

// zkClient has the calls of the library of that name that the listing uses.
type zkClient struct{ conn *zk.Conn }

type dataListener struct {
	handleDataDeleted func()
	unsubscribed      atomic.Bool
}

// must panics if the library throws an exception.
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

// subscribeDataChanges sets a watch, again in a new session. Like the library, it tries until the client is connected.
func (c zkClient) subscribeDataChanges(path string, l *dataListener) {
	_, _, events, err := c.conn.ExistsW(path)
	for tries := 0; errors.Is(err, zk.ErrNoServer) && tries < 100; tries++ {
		time.Sleep(100 * time.Millisecond) // as the library does; virtual
		_, _, events, err = c.conn.ExistsW(path)
	}
	must(err)
	go func() {
		defer func() { _ = recover() }() // the library's event thread logs the exception
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
