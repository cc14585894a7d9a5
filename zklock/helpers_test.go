package zklock_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// What the tests of this package share is in this file.
const (
	lockPath       = "/lock" // of the lock: the parent of the contenders' nodes
	sessionTimeout = 10 * time.Second
	codeThrottled  = jute.Code(-127) // the answer of a server under load: a later request may succeed
)

var (
	threeServers    = bubble.Three            // addresses that all lead to the server of the test
	everybody       = zk.WorldACL(zk.PermAll) // may do everything
	aside, isClosed = bubble.Aside, bubble.IsClosed
)

// A serverTest is a test on an embedded server in virtual time: a sleep is an exact moment, and takes no real time.
type serverTest struct {
	*testing.T
	srv *zkserver.Server
}

// onServer plays a test on an embedded server of its own.
func onServer(t *testing.T, play func(tb *serverTest)) {
	bubble.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) })                // of virtual time: goroutines see the closed client
		play(&serverTest{t, zkserver.Run(t, zkserver.WithEpoch(3))}) // an epoch makes zxids of more than 32 bits
	})
}

// onServerCase is onServer in a subtest.
func onServerCase(t *testing.T, name string, play func(tb *serverTest)) {
	t.Run(name, func(t *testing.T) { onServer(t, play) })
}

// withClient is onServer with a client of zkconn.Connect.
func withClient(t *testing.T, play func(tb *serverTest, conn *zk.Conn)) {
	onServer(t, func(tb *serverTest) { play(tb, tb.connect()) })
}

// withOrdinaryClient is onServer with a client of zk.Connect.
func withOrdinaryClient(t *testing.T, play func(tb *serverTest, conn *zk.Conn)) {
	onServer(t, func(tb *serverTest) { play(tb, tb.connectAs(ordinary{})) })
}

// connect opens a session that ends with the test.
func (tb *serverTest) connect() *zk.Conn {
	return tb.connectWith(ensemble.Options{Buffer: 64 << 10}) // without it each client keeps 3 MiB
}

// connectWith is connect with other options. The client has three servers, as one of an ensemble does: when it
// changes from one to the next, it keeps the requests that it has not sent.
func (tb *serverTest) connectWith(options ensemble.Options) *zk.Conn {
	if connectOtherwise != nil {
		return connectOtherwise(tb, options)
	}
	zoo := ensemble.OverPipes(tb.srv, threeServers...)
	options.SessionTimeout = sessionTimeout
	conn := testenv.Must(zoo.Connect(context.Background(), options))(tb)
	tb.Cleanup(conn.Close)
	return conn
}

// connectFor opens a client of zkconn with another session timeout, and makes a Mutex that knows it.
func (tb *serverTest) connectFor(timeout time.Duration, servers []string, dial zk.Dialer) (*zk.Conn, *zklock.Mutex) {
	conn := testenv.Must(zkconn.Connect(context.Background(), servers, timeout, zkconn.WithDialer(dial)))(tb)
	tb.Cleanup(conn.Close)
	return conn, tb.mutex(conn, zklock.WithSessionTimeout(timeout))
}

// mutex makes a Mutex of a client that was opened with sessionTimeout, unless the options say otherwise.
func (tb *serverTest) mutex(conn *zk.Conn, options ...zklock.Option) *zklock.Mutex {
	return mutexAt(conn, lockPath, options...)
}

func mutexAt(conn *zk.Conn, path string, options ...zklock.Option) *zklock.Mutex {
	m, err := zklock.New(conn, path, append([]zklock.Option{zklock.WithSessionTimeout(sessionTimeout)}, options...)...)
	if err != nil {
		panic(err) // the paths and the options are those of tests, and right
	}
	return m
}

func (tb *serverTest) mustLock(m *zklock.Mutex, owner *zklock.Owner) *zklock.Lease {
	tb.Helper()
	return testenv.Must(m.Lock(tb.within(time.Minute), owner))(tb)
}

func (tb *serverTest) mustUnlock(l *zklock.Lease) {
	require.NoError(tb, l.Unlock(context.Background()))
}

// lockAndUnlock acquires the lock for an owner of its own, and releases it at once.
func (tb *serverTest) lockAndUnlock(m *zklock.Mutex) {
	tb.Helper()
	tb.mustUnlock(tb.mustLock(m, nil))
}

// nodeAt returns the path of the i-th child of the lock's parent in the order of the queue.
func (tb *serverTest) nodeAt(i int) string {
	names := tb.srv.Children(lockPath)
	require.Greater(tb, len(names), i)
	number := func(name string) string { return name[max(0, len(name)-10):] } // the last ten digits are its place in the queue
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return lockPath + "/" + names[i]
}

// createOf is true of a session's requests that make its node in the queue.
func createOf(session int64) zkserver.Condition {
	return requestOf(session, jute.OpCreate, lockPath+"/*")
}

// A locked is what a call of Lock has returned.
type locked struct {
	lease *zklock.Lease
	err   error
}

// lockAside locks in a goroutine of its own.
func lockAside(ctx context.Context, m *zklock.Mutex, owner *zklock.Owner) <-chan locked {
	done := make(chan locked, 1)
	go func() { l, err := m.Lock(ctx, owner); done <- locked{l, err} }()
	return done
}

// unlockThrottled unlocks aside. The node stays for three seconds more, in which the server refuses to delete it.
func (tb *serverTest) unlockThrottled(session int64, holder *zklock.Lease) (unlocked <-chan error) {
	for range 4 { // the pauses before the next tries are 0.2, 0.4, 0.8 and 1.6 s
		tb.srv.Fail(codeThrottled, requestOf(session, jute.OpDelete, holder.Node()))
	}
	unlocked = aside(func() error { return holder.Unlock(context.Background()) })
	synctest.Wait()
	return unlocked
}

// requestOf is true of the requests of one kind that a session makes for one node.
func requestOf(session int64, op jute.Op, path string) zkserver.Condition {
	return zkserver.On(op, path).From(session)
}

// anyFrom is true of all that a session sends.
func anyFrom(session int64) zkserver.Condition { return requestOf(session, zkserver.AnyOp, "") }

// proofOf is true of the requests with which a session proves that it lives.
func proofOf(session int64) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool {
		return r.Session == session && (r.Op == jute.OpSync || r.Op == jute.OpMulti)
	}
}

// startWaiter calls Lock aside, and returns when the call waits for the lock, or for an answer of the server.
func startWaiter(m *zklock.Mutex) <-chan locked {
	waiter := lockAside(context.Background(), m, zklock.NewOwner("waiter"))
	synctest.Wait()
	return waiter
}

// startWaiters starts n waiters of a Mutex, one after the other.
func startWaiters(m *zklock.Mutex, n int) (waiters []<-chan locked) {
	for range n {
		waiters = append(waiters, startWaiter(m))
	}
	return waiters
}

// enqueue is startWaiter for a client whose first answer takes a moment: it returns when the node is in the queue.
func enqueue(m *zklock.Mutex) <-chan locked {
	waiter := startWaiter(m)
	time.Sleep(time.Second) // until it waits
	return waiter
}

// enqueueOthers has n contenders come one after the other, each with a client of its own.
func (tb *serverTest) enqueueOthers(n int) (waiters []<-chan locked) {
	for range n {
		waiters = append(waiters, enqueue(tb.mutex(tb.connect())))
	}
	return waiters
}

// startGivingUp starts a waiter. giveUp ends its ctx, and asserts that Lock then returns the ctx's error.
func (tb *serverTest) startGivingUp(m *zklock.Mutex, owner *zklock.Owner) (waiter <-chan locked, giveUp func()) {
	ctx, cancel := context.WithCancel(context.Background())
	waiter = lockAside(ctx, m, owner)
	synctest.Wait()
	return waiter, func() {
		tb.Helper()
		cancel()
		require.ErrorIs(tb, (<-waiter).err, context.Canceled)
	}
}

// within returns a ctx that ends after d, or with the test.
func (tb *serverTest) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// leaseOf waits until a call of Lock returns, and returns its lease.
func (tb *serverTest) leaseOf(waiter <-chan locked, otherwise ...any) *zklock.Lease {
	select {
	case got := <-waiter:
		require.NoError(tb, got.err)
		return got.lease
	case <-time.After(10 * time.Minute):
		require.Fail(tb, "Lock does not return", otherwise...)
		return nil
	}
}

// getAndUnlock waits for the lease of a call of Lock, and releases it at once.
func (tb *serverTest) getAndUnlock(waiter <-chan locked, otherwise ...any) {
	tb.mustUnlock(tb.leaseOf(waiter, otherwise...))
}

// handOver releases a lease. Then the next contender gets the lock, and releases it, too.
func (tb *serverTest) handOver(holder *zklock.Lease, next <-chan locked) {
	tb.mustUnlock(holder)
	tb.getAndUnlock(next)
}

// requireLasts asserts that a lease is not lost within a minute, and releases it.
func (tb *serverTest) requireLasts(l *zklock.Lease) {
	time.Sleep(time.Minute) // long enough for it to be lost by mistake
	tb.mustUnlock(l)
}

func releaseAll(faults []*zkserver.Fault) {
	for _, f := range faults {
		f.Release()
	}
}

// ordinary has the options of a client of zk.Connect, which most users have. Only one of its faults is worked around,
// because a bubble cannot end after it: the hang in Close, which zkconn's TestFaultCloseHangsTheClient plays.
type ordinary struct {
	sessionTimeout time.Duration // asked of the server; the constant's if zero
	buffer         int           // the largest packet, in bytes; the client's own choice if zero
	wrap           func(net.Conn) net.Conn
}

// connectAs opens a session that ends with the test, and returns when the client is at rest.
func (tb *serverTest) connectAs(o ordinary) *zk.Conn {
	if o.sessionTimeout == 0 {
		o.sessionTimeout = sessionTimeout
	}
	line := &bubble.Line{Server: tb.srv, Wrap: func(nc net.Conn) net.Conn {
		if o.wrap != nil {
			nc = o.wrap(nc)
		}
		return silentWriter{nc}
	}}
	var options []func(*zk.Conn)
	if o.buffer != 0 {
		options = append(options, zk.WithMaxConnBufferSize(o.buffer))
	}
	conn := bubble.Connect(tb, line.Dial, o.sessionTimeout, threeServers, options...)
	for conn.State() != zk.StateHasSession {
		time.Sleep(time.Millisecond) // until the server has answered
	}
	synctest.Wait()
	return conn
}

// A silentWriter is a connection that reports no failed write: it closes itself, so that the client's reader notices.
// If the write of a request fails after Close, go-zookeeper answers it three times, and hangs with the third answer.
type silentWriter struct{ net.Conn }

func (c silentWriter) Write(b []byte) (int, error) {
	if _, err := c.Conn.Write(b); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}

// comeAndGiveUp has a contender wait for the lock, and give up.
func (tb *serverTest) comeAndGiveUp(m *zklock.Mutex) {
	_, giveUp := tb.startGivingUp(m, nil)
	giveUp()
	synctest.Wait()
}

// create makes a node, and returns its path.
func (tb *serverTest) create(conn *zk.Conn, path, data string, flags int32) string {
	tb.Helper()
	return testenv.Must(conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll)))(tb)
}

func (tb *serverTest) stored(path string) zkserver.Node {
	node, ok := tb.srv.Node(path)
	require.True(tb, ok, "there is no node %s", path)
	return node
}

func (tb *serverTest) set(conn *zk.Conn, node, data string) {
	testenv.Must(conn.Set(node, []byte(data), -1))(tb)
}

// allow sets the rights of everybody at a node.
func (tb *serverTest) allow(conn *zk.Conn, node string, perms int32) {
	testenv.Must(conn.SetACL(node, zk.WorldACL(perms), -1))(tb)
}

// makeParent has a client make the lock's parent, so that the first create of a contender is that of its node.
func (tb *serverTest) makeParent() (admin *zk.Conn) {
	admin = tb.connect()
	tb.create(admin, lockPath, "", zk.FlagPersistent)
	return admin
}

// remakeParent removes the lock's parent, which is empty, and makes it again: the numbers begin at 0 again.
func (tb *serverTest) remakeParent(admin *zk.Conn) {
	require.NoError(tb, admin.Delete(lockPath, -1))
	tb.create(admin, lockPath, "", zk.FlagPersistent)
}

func (tb *serverTest) participants(m *zklock.Mutex) []zklock.Participant {
	tb.Helper()
	return testenv.Must(m.Participants(context.Background()))(tb)
}

// requireHeld asserts that TryLock finds the lock held.
func (tb *serverTest) requireHeld(m *zklock.Mutex, what ...any) {
	require.ErrorIs(tb, testenv.Err(m.TryLock(tb.within(time.Minute), nil)), zklock.ErrHeld, what...)
}

// watchesFirst is a connection that works around one fault of go-zookeeper: when the client has connected, it reads
// the last zxid for SetWatches while its reader writes it for other replies, which is a data race. In a new session
// the watches may be those that the first replies have set. Here no reply but the handshake's arrives before
// SetWatches is written, or a moment of virtual time has passed: then there are no watches.
func watchesFirst(nc net.Conn) net.Conn {
	sent := make(chan struct{}, 1000) // gets one for each SetWatches; more than a test sends
	replies := 0
	return bubble.Through(nc, bubble.Way{Packet: func(packet []byte) []byte {
		// After length and xid; the word by which a server is asked what it is has neither.
		if len(packet) >= 12 && jute.Op(binary.BigEndian.Uint32(packet[8:])) == jute.OpSetWatches {
			sent <- struct{}{}
		}
		return packet
	}}, bubble.Way{Packet: func(packet []byte) []byte {
		replies++
		if replies == 2 { // the first one answers the handshake
			select {
			case <-sent:
			case <-time.After(time.Microsecond):
			}
		}
		return packet
	}})
}

// tapped wraps each connection of a client for a tap.
func tapped(tap *wiretap.Tap) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		dial := tap.Dialer(func(string, string, time.Duration) (net.Conn, error) { return nc, nil })
		tappedConn, _ := dial("", "", 0) // the error is that of the function above, which returns none
		return tappedConn
	}
}

// withoutEvents is a connection that drops the events of the nodes whose paths contain a text, and every event if the
// text is empty. A client that is just coming back can miss events in this way.
func withoutEvents(nc net.Conn, text string) net.Conn {
	return bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
		xid := int32(binary.BigEndian.Uint32(packet[4:])) // after the length
		if xid == jute.XidEvent && bytes.Contains(packet, []byte(text)) {
			return nil
		}
		return packet
	}})
}

// distant wraps a connection so that each packet from the server takes the time away. Many can be on their way at once.
// The client's deadlines do not count: these tests are not about a client that gives up a far server.
func distant(away time.Duration) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn { return patient{bubble.Through(nc, bubble.Way{}, bubble.Way{Far: away})} }
}

type patient struct{ net.Conn }

func (patient) SetReadDeadline(time.Time) error { return nil }

// narrow wraps a connection so that the server's bytes come in pieces of a size, and each piece takes a time.
func narrow(size int, each time.Duration) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		return patient{bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
			pieces := (len(packet) + size - 1) / size
			time.Sleep(each * time.Duration(pieces)) // of virtual time, on the way
			return packet
		}})}
	}
}

// A slowCtx is a ctx that calls done before its Done returns, so that a test can delay the goroutine that reads it.
type slowCtx struct {
	context.Context
	done func()
}

func (c slowCtx) Done() <-chan struct{} { c.done(); return c.Context.Done() }

// connectOtherwise, if not nil, is what connectWith does: withEachClient sets it.
var connectOtherwise func(tb *serverTest, o ensemble.Options) *zk.Conn

// ordinaryClient opens a client of zk.Connect. Without it connectWith opens one of zkconn.Connect.
func ordinaryClient(tb *serverTest, o ensemble.Options) *zk.Conn {
	return tb.connectAs(ordinary{buffer: o.Buffer, wrap: func(nc net.Conn) net.Conn {
		if o.Wrap != nil {
			nc = o.Wrap(nc)
		}
		return watchesFirst(nc)
	}})
}

// withEachClient plays a test twice: with clients of zkconn.Connect, and with clients of zk.Connect.
func withEachClient(t *testing.T, play func(tb *serverTest)) {
	onServer(t, play)
	t.Run("zk.Connect", func(t *testing.T) {
		connectOtherwise = ordinaryClient
		defer func() { connectOtherwise = nil }()
		onServer(t, play)
	})
}

// A meter is a serverTest that counts what the clients with its tap send.
type meter struct {
	*serverTest
	tap *wiretap.Tap
}

// onMeter plays a test with a meter. The lock's parent is there.
func onMeter(t *testing.T, play func(m *meter)) {
	onServer(t, func(tb *serverTest) {
		m := &meter{tb, new(wiretap.Tap)}
		tb.makeParent()
		play(m)
	})
}

// newMutex makes a Mutex whose requests are counted.
func (m *meter) newMutex() *zklock.Mutex {
	return m.mutex(m.connectWith(ensemble.Options{Tap: m.tap}))
}

type requests = map[jute.Op]int64 // how many of each kind

// settle returns when every goroutine waits for something.
func (m *meter) settle() {
	time.Sleep(10 * time.Millisecond) // of virtual time: a client waits for 1 ms before the first reply of a connection
}

// sent returns what is sent while f runs and until every goroutine waits for something.
func (m *meter) sent(f func()) requests {
	m.settle()
	before := m.tap.Counts()
	f()
	m.settle()
	sent := m.tap.Counts().Since(before).Requests
	delete(sent, jute.OpPing)
	return sent
}

// startBehind starts a waiter, and fails the test if the lock is free.
func (m *meter) startBehind(mutex *zklock.Mutex) <-chan locked {
	waiter := lockAside(context.Background(), mutex, zklock.NewOwner("waiter"))
	m.settle()
	require.Empty(m, waiter, "it holds the lock")
	return waiter
}

// leaseNow returns the lease that a waiter has got by now.
func (m *meter) leaseNow(waiter <-chan locked) *zklock.Lease {
	m.settle()
	require.Len(m, waiter, 1, "it waits, and nobody is before it")
	got := <-waiter
	require.NoError(m, got.err)
	return got.lease
}

func sum(r requests) (all int64) {
	for _, n := range r {
		all += n
	}
	return all
}
