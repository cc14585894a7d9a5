// What the tests of this package share. A test runs on an embedded server of its own, in virtual time: a sleep takes no
// real time, and ends at an exact moment. tb is the test with its server, m or ours is the Mutex under test, and a
// stranger is a contender of another client. The names of the helpers come in families:
//   - on… plays a test on a server, with… also opens a client for it;
//   - connect… opens a client: zkconn.Connect's, or an ordinary one, which is zk.Connect's;
//   - start… calls Lock in a goroutine, receive… waits for its result;
//   - …requestOf is a condition of a fault of the server: it is true of some requests of one session.
package zklock_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"net"
	"slices"
	"sync/atomic"
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

const (
	lockPath           = "/lock" // of the lock: the parent of the contenders' nodes
	sessionTimeout     = 10 * time.Second
	maxRoundTrip       = sessionTimeout / 12 // a lease needs answers that take no longer
	untilNodeIsWatched = 2 * time.Second     // by then a holder watches its node
	smallBuffer        = 64 << 10            // bytes for a client's packets; without it each client keeps 3 MiB
	codeThrottled      = jute.Code(-127)     // the answer of a server under load: a later request may succeed
	noHold             = time.Duration(0)    // of a lock that is released at once

	curatorRevoke = "__REVOKE__"                                                // Curator's Revoker writes it into a node
	curatorNode   = lockPath + "/_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-" // of a Curator mutex, without its number
)

var (
	threeServers           = bubble.Three            // addresses that all lead to the server of the test
	everybody              = zk.WorldACL(zk.PermAll) // may do everything
	inBackground, isClosed = bubble.Aside, bubble.IsClosed
)

// A serverTest is a test on an embedded server in virtual time: a sleep is an exact moment, and takes no real time.
type serverTest struct {
	*testing.T
	srv      *zkserver.Server
	ordinary bool // connect opens ordinary clients from now on
}

// onServer plays a test on an embedded server of its own. The test must release faults with Fault.Every.
func onServer(t *testing.T, play func(tb *serverTest)) {
	bubble.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) })                        // of virtual time: goroutines see the closed client
		play(&serverTest{T: t, srv: zkserver.Run(t, zkserver.WithEpoch(3))}) // an epoch makes zxids of more than 32 bits
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

func withOrdinaryClient(t *testing.T, play func(tb *serverTest, conn *zk.Conn)) {
	onServer(t, func(tb *serverTest) { play(tb, tb.connectOrdinary()) })
}

// withEachClient is onServer twice: the clients that tb opens are first zkconn.Connect's, and then ordinary ones.
func withEachClient(t *testing.T, play func(tb *serverTest)) {
	onServer(t, play)
	onServerCase(t, "zk.Connect", func(tb *serverTest) {
		tb.ordinary = true
		play(tb)
	})
}

// connect opens a client of zkconn.Connect. It is closed when the test ends.
func (tb *serverTest) connect() *zk.Conn {
	return tb.connectWith(ensemble.Options{Buffer: smallBuffer})
}

// connectWith is connect with other options. The client has the addresses of three servers, as in an ensemble: when it
// changes from one to the next, it keeps the requests that it has not sent.
func (tb *serverTest) connectWith(options ensemble.Options) *zk.Conn {
	if tb.ordinary {
		return tb.connectOrdinaryWith(ordinary{buffer: options.Buffer, wrap: func(nc net.Conn) net.Conn {
			if options.Wrap != nil {
				nc = options.Wrap(nc)
			}
			return withoutWatchRace(nc)
		}})
	}
	zoo := ensemble.OverPipes(tb.srv, threeServers...)
	options.SessionTimeout = sessionTimeout
	conn := testenv.Must(zoo.Connect(context.Background(), options))(tb)
	tb.Cleanup(conn.Close)
	return conn
}

// connectFor is connect for another session timeout, list of servers and dialer. It also makes a Mutex for that timeout.
func (tb *serverTest) connectFor(timeout time.Duration, servers []string, dial zk.Dialer) (*zk.Conn, *zklock.Mutex) {
	var conn *zk.Conn
	if tb.ordinary {
		conn = bubble.Connect(tb, dial, timeout, servers)
	} else {
		conn = testenv.Must(zkconn.Connect(context.Background(), servers, timeout, zkconn.WithDialer(dial)))(tb)
		tb.Cleanup(conn.Close)
	}
	return conn, tb.mutex(conn, zklock.WithSessionTimeout(timeout))
}

// ordinary has the options of an ordinary client, that of zk.Connect, which most users have. Only one of its faults is
// worked around, because virtual time cannot end after it: zkconn's TestFaultCloseHangsTheClient plays the hang in Close.
type ordinary struct {
	sessionTimeout time.Duration // asked of the server; the constant's if zero
	buffer         int           // the largest packet, in bytes; the client's own choice if zero
	wrap           func(net.Conn) net.Conn
}

// connectOrdinary opens an ordinary client, and returns when it is at rest. It is closed when the test ends.
func (tb *serverTest) connectOrdinary() *zk.Conn { return tb.connectOrdinaryWith(ordinary{}) }

func (tb *serverTest) connectOrdinaryWith(o ordinary) *zk.Conn {
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
	conn := bubble.Connect(tb, line.Dial, cmp.Or(o.sessionTimeout, sessionTimeout), threeServers, options...)
	for conn.State() != zk.StateHasSession {
		time.Sleep(time.Millisecond) // until the server has answered
	}
	synctest.Wait()
	return conn
}

// mutex makes a Mutex at lockPath, for a client that was opened with sessionTimeout, unless the options say otherwise.
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

// mustLock returns the lease, or fails the test if Lock takes longer than a minute. Without an owner it is for a new one.
func (tb *serverTest) mustLock(m *zklock.Mutex, owner ...*zklock.Owner) *zklock.Lease {
	tb.Helper()
	return testenv.Must(m.Lock(tb.within(time.Minute), cmp.Or(owner...)))(tb) // nil if there is no owner
}

func (tb *serverTest) mustUnlock(l *zklock.Lease) {
	require.NoError(tb, l.Unlock(context.Background()))
}

// lockAndUnlock acquires the lock for an owner of its own, and releases it at once.
func (tb *serverTest) lockAndUnlock(m *zklock.Mutex) { tb.mustUnlock(tb.mustLock(m)) }

// unlockWhileDeletesFail calls Unlock in the background. For three seconds the server refuses to delete the node.
func (tb *serverTest) unlockWhileDeletesFail(session int64, holder *zklock.Lease) (unlocked <-chan error) {
	for range 4 { // the pauses before the next tries are 0.2, 0.4, 0.8 and 1.6 s
		tb.srv.Fail(codeThrottled, requestOf(session, jute.OpDelete, holder.Node()))
	}
	unlocked = inBackground(func() error { return holder.Unlock(context.Background()) })
	synctest.Wait()
	return unlocked
}

// requireTryLockRefused asserts that TryLock returns ErrHeld.
func (tb *serverTest) requireTryLockRefused(m *zklock.Mutex, otherwise ...any) {
	require.ErrorIs(tb, testenv.Err(m.TryLock(tb.within(time.Minute), nil)), zklock.ErrHeld, otherwise...)
}

func (tb *serverTest) participants(m *zklock.Mutex) []zklock.Participant {
	tb.Helper()
	return testenv.Must(m.Participants(context.Background()))(tb)
}

// within returns a ctx that ends after d, or with the test.
func (tb *serverTest) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// A lockResult is what a call of Lock has returned.
type lockResult struct {
	lease *zklock.Lease
	err   error
}

// startLock calls Lock in a goroutine, and returns at once. Without an owner it is for a new one.
func startLock(ctx context.Context, m *zklock.Mutex, owner ...*zklock.Owner) <-chan lockResult {
	done := make(chan lockResult, 1)
	go func() { l, err := m.Lock(ctx, cmp.Or(owner...)); done <- lockResult{l, err} }()
	return done
}

// startWaiter is startLock that returns when Lock waits for its turn, or for an answer of the server.
func startWaiter(m *zklock.Mutex, owner ...*zklock.Owner) <-chan lockResult {
	waiter := startLock(context.Background(), m, owner...)
	synctest.Wait()
	return waiter
}

// startWaiters starts n waiters of a Mutex, one after the other.
func startWaiters(m *zklock.Mutex, n int) (waiters []<-chan lockResult) {
	for range n {
		waiters = append(waiters, startWaiter(m))
	}
	return waiters
}

// startQueuedWaiter is startWaiter that returns a second later. Then it is queued: the first answer takes a moment.
func startQueuedWaiter(m *zklock.Mutex) <-chan lockResult {
	waiter := startWaiter(m)
	time.Sleep(time.Second)
	return waiter
}

// startQueuedClients is startQueuedWaiter for n Mutexes, one after the other. Each has a client of its own.
func (tb *serverTest) startQueuedClients(n int) (waiters []<-chan lockResult) {
	for range n {
		waiters = append(waiters, startQueuedWaiter(tb.mutex(tb.connect())))
	}
	return waiters
}

// startWaiterThatMayGiveUp is startWaiter with a ctx. giveUp ends that, and asserts that Lock returns its error.
func (tb *serverTest) startWaiterThatMayGiveUp(m *zklock.Mutex, owner ...*zklock.Owner) (waiter <-chan lockResult, giveUp func()) {
	ctx, cancel := context.WithCancel(context.Background())
	waiter = startLock(ctx, m, owner...)
	synctest.Wait()
	return waiter, func() {
		cancel()
		require.ErrorIs(tb, (<-waiter).err, context.Canceled)
	}
}

// waitAndGiveUp calls Lock, which waits because the lock is held, and ends its ctx.
func (tb *serverTest) waitAndGiveUp(m *zklock.Mutex) {
	_, giveUp := tb.startWaiterThatMayGiveUp(m)
	giveUp()
	synctest.Wait()
}

// receiveLease waits until a call of Lock returns, which must have got the lock, and returns its lease.
func (tb *serverTest) receiveLease(waiter <-chan lockResult, otherwise ...any) *zklock.Lease {
	select {
	case got := <-waiter:
		require.NoError(tb, got.err)
		return got.lease
	case <-time.After(10 * time.Minute):
		require.Fail(tb, "Lock does not return", otherwise...)
		return nil
	}
}

// receiveAndUnlock is receiveLease, and releases the lease at once.
func (tb *serverTest) receiveAndUnlock(waiter <-chan lockResult, otherwise ...any) {
	tb.mustUnlock(tb.receiveLease(waiter, otherwise...))
}

// handOverAndUnlock releases the holder's lease, waits until the waiter gets the lock, and releases that lease, too.
func (tb *serverTest) handOverAndUnlock(holder *zklock.Lease, waiter <-chan lockResult) {
	tb.mustUnlock(holder)
	tb.receiveAndUnlock(waiter)
}

// requestOf is true of the requests of one kind that a session makes for one node. An empty path means any node.
func requestOf(session int64, op jute.Op, path string) zkserver.Condition {
	return zkserver.On(op, path).From(session)
}

// createRequestOf is true of a session's requests that make its node in the queue.
func createRequestOf(session int64) zkserver.Condition {
	return requestOf(session, jute.OpCreate, lockPath+"/*")
}

// anyRequestOf is true of all that a session sends.
func anyRequestOf(session int64) zkserver.Condition { return requestOf(session, zkserver.AnyOp, "") }

// nodeAt returns the path of the i-th child of the lock's parent in the order of the queue.
func (tb *serverTest) nodeAt(i int) string {
	names := tb.srv.Children(lockPath)
	require.Greater(tb, len(names), i)
	number := func(name string) string { return name[max(0, len(name)-10):] } // the last ten digits are its place in the queue
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return lockPath + "/" + names[i]
}

func (tb *serverTest) create(conn *zk.Conn, path, data string, flags int32) string {
	tb.Helper()
	return testenv.Must(conn.Create(path, []byte(data), flags, everybody))(tb)
}

// stored returns a node as the server has it.
func (tb *serverTest) stored(path string) zkserver.Node {
	node, ok := tb.srv.Node(path)
	require.True(tb, ok, "there is no node %s", path)
	return node
}

// tokenOf returns the fencing token of the first hold by a node.
func tokenOf(node zkserver.Node) int64 { return node.Stat.Czxid << 10 } // as the doc of Token says

// delete deletes a node by hand, as an operator may.
func (tb *serverTest) delete(conn *zk.Conn, node string) { require.NoError(tb, conn.Delete(node, -1)) }

// createForeign makes the node of a contender of another library, whose names have no unique id.
func (tb *serverTest) createForeign(conn *zk.Conn) string {
	return tb.create(conn, lockPath+"/lock-", "", zk.FlagEphemeralSequential)
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
	tb.delete(admin, lockPath)
	tb.create(admin, lockPath, "", zk.FlagPersistent)
}

// tapped wraps a connection so that a tap counts what crosses it. A tap wraps only what it dials.
func tapped(tap *wiretap.Tap) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		dial := tap.Dialer(func(string, string, time.Duration) (net.Conn, error) { return nc, nil })
		tappedConn, _ := dial("", "", 0) // the error is that of the function above, which returns none
		return tappedConn
	}
}

// countRequests counts the requests of which the condition is true, until the test ends.
func (tb *serverTest) countRequests(isCounted zkserver.Condition) *atomic.Int32 {
	n := new(atomic.Int32)
	count := tb.srv.Hold(func(r zkserver.Request) bool {
		return isCounted(r) && n.Add(1) < 0 // never: the fault holds nothing, and so it sees each request
	})
	tb.Cleanup(count.Release)
	return n
}

// distant wraps a connection so that each answer takes a round trip's time. Many can be on their way at once. The
// client's deadlines do not count: these tests are not about a client that leaves a server because it is far away.
func distant(roundTrip time.Duration) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		return patient{bubble.Through(nc, bubble.Way{}, bubble.Way{Far: roundTrip})}
	}
}

// A patient is a connection without deadlines.
type patient struct{ net.Conn }

func (patient) SetReadDeadline(time.Time) error { return nil }

// withoutEvents wraps a connection so that it drops the events of the nodes whose paths contain a text, and every
// event if the text is empty. A client that is just coming back can miss events in this way.
func withoutEvents(text string) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		return bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
			xid := int32(binary.BigEndian.Uint32(packet[4:])) // after the length
			if xid == jute.XidEvent && bytes.Contains(packet, []byte(text)) {
				return nil
			}
			return packet
		}})
	}
}

// withoutWatchRace is a connection that works around one fault of go-zookeeper. When the client has connected, it
// reads the last zxid for SetWatches, by which it sets its watches again, while its reader writes that zxid for other
// replies: a data race. Here the second reply, the one after the handshake's, waits until SetWatches has been written.
// If there are no watches, SetWatches is not sent, and the reply waits for 1 µs of virtual time.
func withoutWatchRace(nc net.Conn) net.Conn {
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

// A silentWriter is a connection that reports no failed write: it closes itself, so that the client's reader notices.
// If the write of a request fails after Close, go-zookeeper answers it three times, and hangs with the third answer.
type silentWriter struct{ net.Conn }

func (c silentWriter) Write(b []byte) (int, error) {
	if _, err := c.Conn.Write(b); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}

// A meter is a serverTest that counts requests: those of clients that are opened with its tap.
type meter struct {
	*serverTest
	tap *wiretap.Tap
}

// onMeteredServer is onServer with a meter. The lock's parent is there.
func onMeteredServer(t *testing.T, play func(tb *meter)) {
	onServer(t, func(tb *serverTest) {
		tb.makeParent()
		play(&meter{tb, new(wiretap.Tap)})
	})
}

// countedMutex makes a Mutex of a client whose requests are counted.
func (tb *meter) countedMutex() *zklock.Mutex {
	return tb.mutex(tb.connectWith(ensemble.Options{Tap: tb.tap}))
}

type requests = map[jute.Op]int64 // how many of each kind

func sum(r requests) (all int64) {
	for _, n := range r {
		all += n
	}
	return all
}

// settle returns when every goroutine waits for something.
func (tb *meter) settle() {
	time.Sleep(10 * time.Millisecond) // of virtual time: a client waits for 1 ms before the first reply of a connection
}

// sent returns what is sent while f runs and until every goroutine waits for something.
func (tb *meter) sent(f func()) requests {
	tb.settle()
	before := tb.tap.Counts()
	f()
	tb.settle()
	sent := tb.tap.Counts().Since(before).Requests
	delete(sent, jute.OpPing)
	return sent
}

// startBlockedWaiter calls Lock in a goroutine, and fails the test if the lock is free.
func (tb *meter) startBlockedWaiter(mutex *zklock.Mutex) <-chan lockResult {
	waiter := startLock(context.Background(), mutex)
	tb.settle()
	require.Empty(tb, waiter, "it holds the lock")
	return waiter
}

// receiveLeaseNow returns the lease that a waiter has got when every goroutine waits for something.
func (tb *meter) receiveLeaseNow(waiter <-chan lockResult) *zklock.Lease {
	tb.settle()
	require.Len(tb, waiter, 1, "it waits, and nobody is before it")
	return tb.receiveLease(waiter)
}
