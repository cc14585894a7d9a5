package suites

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
)

// A ReadWriteLock is one contender, used by one goroutine at a time, that asks for the lock for reading or for writing.
type ReadWriteLock = locks.ReadWrite

// A ReadWriteSubject is a fair queue of readers and writers: the recipe for shared locks of ZooKeeper's documentation,
// with nodes named read-… and write-…. Its suite has the cases of locktest.Subject for contenders, too.
type ReadWriteSubject struct {
	// New makes a contender for the lock at path, the parent of its nodes.
	New func(conn *zk.Conn, path string) ReadWriteLock
	// ErrNotLocked is what Unlock and RUnlock return, or wrap, if the lock is not held for writing or for reading.
	ErrNotLocked error
	// Requests predicts how many requests all contenders send together, if each locks and releases once. waits is how
	// many times any of them has to wait.
	Requests func(contenders, waits int) int
	// Level says how much is asked of the lock. The zero Level is Full.
	Level locktest.Level
}

func (s ReadWriteSubject) Plan() locktest.Plan {
	asLock := locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return oneSidedLock{ReadWrite: s.New(conn, path)} },
		ErrNotLocked: s.ErrNotLocked,
		Queue:        true,
		WakeUps:      func(int) int { return 1 },
	}
	return locktest.NewPlan(readWriteCases, stage.Of[*readWrite](s.Level), asLock,
		func(w *locktest.World) *readWrite { return &readWrite{w, s} }).
		Needs(s.New != nil, "ReadWriteSubject.New is nil: it must make a contender")
}

// A lockCase is a case for locks, and a readWriteCase is one for read/write locks.
type (
	lockCase      = func(w *locktest.World)
	readWriteCase = func(w *readWrite)
)

// played returns what makes a read/write case of one for locks: contender n, from 0, is a reader if reads(n) is true.
func played(reads func(n int) bool) func(run lockCase) readWriteCase {
	withReaders := func(w *readWrite, run lockCase) {
		next := 0
		w.World.Subject.New = func(conn *zk.Conn, path string) locktest.Lock {
			n := next
			next++
			return oneSidedLock{ReadWrite: w.subject.New(conn, path), reads: reads(n)}
		}
		run(w.World)
	}
	return func(run lockCase) readWriteCase { return func(w *readWrite) { withReaders(w, run) } }
}

// A oneSidedLock is the lock of a contender that is always a reader, or always a writer.
type oneSidedLock struct {
	locks.ReadWrite
	reads bool
}

func (a oneSidedLock) Lock() error {
	if a.reads {
		return a.RLock()
	}
	return a.ReadWrite.Lock()
}

func (a oneSidedLock) Unlock() error {
	if a.reads {
		return a.RUnlock()
	}
	return a.ReadWrite.Unlock()
}

func (oneSidedLock) TryLock() (bool, error) { return false, errors.ErrUnsupported }

// Which contenders read: r, and which write: w. With all but onlyReaders, two contenders in a row exclude each other.
var (
	onlyReaders = played(func(int) bool { return true })
	onlyWriters = played(func(int) bool { return false })
	writerFirst = played(func(n int) bool { return n%2 == 1 }) // w r w r …
	readerFirst = played(func(n int) bool { return n%2 == 0 }) // r w r w …
	readerLast  = played(func(n int) bool { return n == 2 })   // w w r w …
)

var readWriteCases = []locktest.TestCase[*readWrite]{
	row("readers are inside together", liveness, readersTogether, basic),
	row("a reader behind a writer waits for it", liveness, readerBehindWriter, basic),
	row("a writer waits for every reader before it", liveness, writerBehindReaders, basic),
	row("a reader behind a waiting writer waits", liveness, readerBehindWaitingWriter, basic),
	row("writers take turns in the order in which they came", liveness, onlyWriters(locktest.QueueOrder), basic),
	row("readers and writers take turns in the order in which they came",
		liveness, writerFirst(locktest.QueueOrder), basic),
	row("a waiter waits for as long as a writer writes, a day if need be",
		safety, writerFirst(locktest.LongHold), basic, calm),
	row("a waiter waits for as long as a reader reads, a day if need be",
		safety, readerFirst(locktest.LongHold), basic, calm),
	row("a writer's node is ephemeral and goes with Unlock", liveness, onlyWriters(locktest.EphemeralNode), basic),
	row("a reader's node is ephemeral and goes with RUnlock", liveness, onlyReaders(locktest.EphemeralNode), basic),
	row("Unlock of a reader and RUnlock of a writer are ErrNotLocked and delete nothing", liveness, wrongRelease, basic),
	row("a waiting reader sleeps", liveness, writerFirst(locktest.WaiterSleeps), basic),
	row("a waiting writer sleeps", liveness, readerFirst(locktest.WaiterSleeps), basic),
	row("the session of a writer ends and the next get in", faults, writerFirst(locktest.ExpiredHolder), basic),
	row("the session of a reader ends and the next get in", faults, readerFirst(locktest.ExpiredHolder), basic),
	row("a waiter sends next to nothing while nothing changes", cost, readerFirst(locktest.WaiterIsQuiet)),
	row("no watch is left where nothing is left to wait for", cost, writerFirst(locktest.WatchesLeft), exact),
	row("no goroutine is left when every contender has let go", cost, writerFirst(locktest.GoroutinesLeft), exact),
	row("a release wakes exactly the contenders that it concerns", cost, readWriteRequests, exact),
	row("a release wakes one contender where readers and writers take turns", cost, writerFirst(locktest.WakeUps), bare),
	row("nodes of other programs that follow the recipe count", liveness, recipesNodes),
	row("a child that is not a contender is ignored", liveness, writerFirst(locktest.ForeignChild), bare),
	row("missing parents are made", liveness, writerFirst(locktest.MissingParents), bare),
	row("an error is returned and not taken for held", faults, writerFirst(locktest.NoPermission), bare),
	row("a waiter that goes lets no writer in before its turn", safety, writerFirst(locktest.WaiterGoes), bare),
	row("a waiting writer that goes lets no reader in before its turn", safety, readerLast(locktest.WaiterGoes), bare),
	row("a waiting writer that goes lets the readers behind it in to the others", liveness, writerGoes),
	row("a release between the look and the watch is not missed",
		liveness, writerFirst(locktest.ReleaseBeforeWatch), exact),
	row("a waiter that goes before it is watched lets nobody in",
		safety, writerFirst(locktest.WaiterGoesBeforeWatch), exact),
	row("a waiter whose own node has gone does not take the lock", safety, writerFirst(locktest.NodeGoes), exact),
	row("a release while a reader is cut off is not missed", faults, writerFirst(locktest.ReleaseWhileCutOff), exact),
	row("a release while a writer is cut off is not missed", faults, readerFirst(locktest.ReleaseWhileCutOff), exact),
	row("an expired session wakes a reader with an error", faults, writerFirst(locktest.ExpiredWaiter)),
	row("an expired session wakes a writer with an error", faults, readerFirst(locktest.ExpiredWaiter)),
	row("a closed session wakes a waiter with an error", faults, readerFirst(locktest.ClosedWaiter)),
	row("RUnlock after the session has ended is ErrNotLocked and deletes nothing",
		faults, readerFirst(locktest.UnlockAfterExpiry)),
	row("Unlock after the session has ended is ErrNotLocked and deletes nothing",
		faults, onlyWriters(locktest.UnlockAfterExpiry)),
	row("an error on the way of a reader leaves no node behind", faults, writerFirst(locktest.ErrorOnTheWay), exact),
	row("an error on the way of a writer leaves no node behind", faults, readerFirst(locktest.ErrorOnTheWay), exact),
	row("a writer whose create is lost does not get in beside a holder of its session", faults, onlyWriters(locktest.CreateIsLost), exact),
	row("an Unlock that fails can be tried again", faults, onlyWriters(locktest.UnlockAgain), exact),
	row("an RUnlock that fails can be tried again", faults, onlyReaders(locktest.UnlockAgain), exact),
}

type readWrite struct {
	*locktest.World
	subject ReadWriteSubject
}

type participant struct {
	oneSidedLock
	s      *locktest.Session
	name   i18n.Text    // in messages
	result <-chan error // of its lock call
}

// newParticipant makes a contender in a session, a new one if none is given.
func (w *readWrite) newParticipant(reads bool, name i18n.Text, in ...*locktest.Session) *participant {
	if len(in) == 0 {
		in = []*locktest.Session{w.Session()}
	}
	lock := oneSidedLock{ReadWrite: w.subject.New(in[0].Conn, w.Path), reads: reads}
	return &participant{oneSidedLock: lock, s: in[0], name: name}
}

func (w *readWrite) reader(name i18n.Text, in ...*locktest.Session) *participant {
	return w.newParticipant(true, name, in...)
}

func (w *readWrite) writer(name i18n.Text) *participant { return w.newParticipant(false, name) }

func (w *readWrite) mustLockAtOnce(p *participant, where i18n.Text) {
	p.result = w.BeginLock(p)
	w.mustGetIn(p, where)
}

func (w *readWrite) mustGetIn(p *participant, where i18n.Text) {
	w.Eventually(i18n.Textf("%s gets in %s", p.name, where), func() bool { return len(p.result) > 0 })
	w.NoError(<-p.result, "the lock of %s, %s, fails", p.name, where)
}

func (w *readWrite) mustLockAndWait(p *participant, why i18n.Text) {
	p.result = w.BeginLock(p)
	w.mustStillWait(p, why)
}

func (w *readWrite) mustStillWait(p *participant, why i18n.Text) {
	w.Sleeps(p.s, p.name, func() bool { return len(p.result) > 0 })
	if len(p.result) > 0 {
		w.NoError(<-p.result, "%s must wait (%s), and its lock fails", p.name, why)
		if why == overtaken { // a reader has got in to readers: these are not two holders
			w.Failf("%s has got the lock and must wait: %s", p.name, why)
		}
		w.Failf("%s has got the lock while another contender holds it: two holders; it must wait: %s", p.name, why)
	}
}

func (w *readWrite) leaves(p *participant) { w.MustUnlock(p, p.name) }

func readersTogether(w *readWrite) {
	a, b := w.reader("the first reader"), w.reader("the second reader")
	c := w.reader("the third reader, of the second one's session,", b.s)
	for _, p := range []*participant{a, b, c} {
		w.mustLockAtOnce(p, "while other readers are inside")
	}
	w.Len(w.Nodes(), 3, "three readers hold the lock, and there are not three nodes: each contender makes a node of "+
		"its own")
	w.leaves(b)
	d := w.reader("the last reader")
	w.mustLockAtOnce(d, "while other readers are inside")
	for _, p := range []*participant{d, a, c} {
		w.leaves(p)
	}
	w.NothingLeft()
}

var byNumber = i18n.Text("the queue goes by the number at the end of the name, and not by the name: " +
	"read-0000000001 sorts before write-0000000000 and comes after it")

func readerBehindWriter(w *readWrite) {
	writer := w.writer("the writer")
	asReader := oneSidedLock{ReadWrite: writer.ReadWrite, reads: true}
	before := &participant{oneSidedLock: asReader, s: writer.s, name: "the writer, which reads first,"}
	w.mustLockAtOnce(before, "when the lock is free")
	w.leaves(before)
	w.mustLockAtOnce(writer, "when the lock is free")
	a, b := w.reader("a reader"), w.reader("another reader")
	w.mustLockAndWait(a, i18n.Textf("a writer holds the lock; %s", byNumber))
	w.mustLockAndWait(b, i18n.Textf("a writer holds the lock; %s", byNumber))
	w.leaves(writer)
	w.mustGetIn(a, "after the writer before it")
	w.mustGetIn(b, "after the writer before it, together with the other reader: a reader waits for the nearest writer "+
		"before it, not for the node just before its own")
	w.leaves(a)
	w.leaves(b)
	w.NothingLeft()
}

func writerBehindReaders(w *readWrite) {
	var readers []*participant
	n := 3
	if w.Server != nil {
		n = 50 // many, where no real server has to carry them
	}
	for i := range n {
		p := w.reader(i18n.Textf("reader %s", i18n.Letter(i)))
		w.mustLockAtOnce(p, "while no writer is there")
		readers = append(readers, p)
	}

	writer := w.writer("the writer")
	w.mustLockAndWait(writer, "readers hold the lock")
	last := readers[1]                           // neither the first nor the one just before the writer
	for _, p := range slices.Backward(readers) { // the one just before the writer first
		if p == last {
			continue
		}
		w.leaves(p)
		w.Rest()
		w.mustStillWait(writer, "one reader has left and another one is still inside: look again at the whole queue after each event")
	}
	w.leaves(last)
	w.mustGetIn(writer, "after the last reader")
	w.leaves(writer)
	w.NothingLeft()
}

var overtaken = i18n.Text("a writer that came before waits already: a reader waits for the nearest writer before it, " +
	"also for one that does not hold the lock yet; else writers starve")

func readerBehindWaitingWriter(w *readWrite) {
	first := w.reader("the first reader")
	w.mustLockAtOnce(first, "when the lock is free")
	writer := w.writer("the writer")
	w.mustLockAndWait(writer, "a reader holds the lock")
	late := w.reader("the late reader")
	w.mustLockAndWait(late, overtaken)
	w.leaves(first)
	w.mustGetIn(writer, "after the reader before it")
	w.mustStillWait(late, "a writer holds the lock")
	w.leaves(writer)
	w.mustGetIn(late, "after the writer before it")
	w.leaves(late)
	w.NothingLeft()
}

// wrongRelease tries it at paths that have what the names of the nodes have, too.
func wrongRelease(w *readWrite) {
	first := w.Path
	for _, end := range []string{"", "-read-mostly", "-write-ahead"} {
		w.Path = first + end
		w.releaseOfTheOtherKind()
	}
}

func (w *readWrite) releaseOfTheOtherKind() {
	neither := w.reader("a contender that holds nothing")
	reader, writer := w.reader("the reader"), w.writer("the writer")
	try := func(release func() error, name i18n.Text) {
		before := w.Nodes()
		err := w.Result(w.Aside("Unlock", release), name)
		w.Equal(before, w.Nodes(), "%s deletes a node", name)
		w.IsNotLocked(err, name)
	}
	w.loses(reader, false)
	w.loses(writer, true)
	try(neither.ReadWrite.Unlock, "Unlock of a contender that holds nothing")
	w.mustLockAtOnce(reader, "when the lock is free")
	try(reader.ReadWrite.Unlock, "Unlock of a contender that holds the lock for reading")
	try(neither.ReadWrite.RUnlock, "RUnlock of a contender that holds nothing")
	w.leaves(reader)
	w.mustLockAtOnce(writer, "when the lock is free")
	try(writer.ReadWrite.RUnlock, "RUnlock of a contender that holds the lock for writing")
	w.leaves(writer)
	try(writer.ReadWrite.Unlock, "the second Unlock")
	try(reader.ReadWrite.RUnlock, "the second RUnlock")
	w.NothingLeft()
}

// loses has a contender lock, for reading or for writing. Its session ends while it holds the lock, and it lets go.
func (w *readWrite) loses(p *participant, reads bool) {
	held := &participant{oneSidedLock: oneSidedLock{ReadWrite: p.ReadWrite, reads: reads}, s: p.s, name: p.name}
	w.mustLockAtOnce(held, "when the lock is free")
	w.Expire(p.s)
	w.Renewed(p.s, "its client has a new session")
	w.UnlockErr(held, p.name)
}

// readWriteRequests counts the watch events and the requests of queues that leave in different orders.
func readWriteRequests(w *readWrite) {
	for _, c := range []struct {
		queue string // the contenders in the order of arrival: r or w
		leave []int  // the order in which they leave
		waits int    // of all contenders together
	}{
		{queue: "w", leave: []int{0}, waits: 0},
		{queue: "rrr", leave: []int{0, 1, 2}, waits: 0},
		{queue: "wrr", leave: []int{0, 1, 2}, waits: 2},
		{queue: "rrrw", leave: []int{0, 1, 2, 3}, waits: 1},
		{queue: "rwww", leave: []int{0, 1, 2, 3}, waits: 3},
		{queue: "wwrr", leave: []int{0, 1, 2, 3}, waits: 3},
		{queue: "rrrw", leave: []int{2, 1, 0, 3}, waits: 3}, // each reader that leaves is the one just before the writer
		{queue: "wrrwrrw", leave: []int{0, 1, 2, 3, 4, 5, 6}, waits: 6},
	} {
		var all []*participant
		var sessions []*locktest.Session
		for i, kind := range c.queue {
			p := w.newParticipant(kind == 'r', i18n.Textf("%s of %s", stage.Contender(i), c.queue))
			p.result = w.BeginLock(p)
			w.Eventually(i18n.Textf("%s is in, or waits", p.name), func() bool { return len(p.result) > 0 || p.s.Sleeps() })
			all = append(all, p)
			sessions = append(sessions, p.s)
		}

		woken := 0
		for _, i := range c.leave {
			w.mustGetIn(all[i], "when its turn has come")
			w.leaves(all[i])
			w.Rest()
			woken += int(all[i].s.Tap.Counts().Events)
		}
		w.Equal(c.waits, woken, "the queue %s, which leaves in the order %v, is sent another number of watch events than "+
			"its %d waits need: a reader watches the nearest writer before it, a writer the node just before its own, and nobody "+
			"the list", c.queue, c.leave, c.waits)
		requests := stage.RequestsOf(sessions...)
		w.Equal(w.subject.Requests(len(all), c.waits), len(requests), "the queue %s, which leaves in the order %v, sends "+
			"%d requests and not what was predicted for %d waits (ReadWriteSubject.Requests): %s", c.queue, c.leave,
			len(requests), c.waits, locktest.ByKind(requests))
		w.NothingLeft()
	}
}

func recipesNodes(w *readWrite) {
	admin := w.Session()
	create := func(prefix string) string {
		return w.MustCreate(admin, w.Path+"/"+prefix, []byte("another program"), zk.FlagEphemeralSequential)
	}
	recipe := i18n.Text("; the recipe names the nodes read- and write-, so that programs of different authors share a lock")
	theirs := create("read-")
	reader, writer := w.reader("a reader"), w.writer("a writer")
	w.mustLockAtOnce(reader, i18n.Textf("while another program's reader holds the lock%s", recipe))
	w.mustLockAndWait(writer, i18n.Textf("readers hold the lock, one of which is another program's%s", recipe))
	for _, node := range w.Nodes() {
		kind := strings.TrimRight(node, "0123456789")
		w.True(kind == "read-" || kind == "write-", "a contender's node is named %s, and another program does not wait for it%s",
			node, recipe)
	}
	w.leaves(reader)
	w.Rest()
	w.mustStillWait(writer, i18n.Textf("another program's reader holds the lock%s", recipe))
	require.NoError(w, admin.Delete(theirs, -1))
	w.mustGetIn(writer, "after another program's reader")
	theirs = create("write-")
	late := w.reader("the late reader")
	w.mustLockAndWait(late, "a writer holds the lock, and another program's writer waits")
	w.leaves(writer)
	w.Rest()
	w.mustStillWait(late, i18n.Textf("another program's writer holds the lock%s", recipe))
	require.NoError(w, admin.Delete(theirs, -1))
	w.mustGetIn(late, "after another program's writer")
	w.leaves(late)
	w.NothingLeft()
}

func writerGoes(w *readWrite) {
	first, writer := w.reader("the first reader"), w.writer("the writer")
	a, b := w.reader("a late reader"), w.reader("another late reader")
	w.mustLockAtOnce(first, "when the lock is free")
	w.mustLockAndWait(writer, "a reader holds the lock")
	w.mustLockAndWait(a, overtaken)
	w.mustLockAndWait(b, overtaken)
	w.Expire(writer.s)
	w.mustGetIn(a, "together with the first reader, once the writer before it has gone")
	w.mustGetIn(b, "together with the first reader, once the writer before it has gone")
	w.Rest()
	fails := len(writer.result) > 0 // else it has queued again
	if fails {
		w.HasError(<-writer.result, "a writer's session has expired, and Lock returns no error")
	}
	for _, p := range []*participant{first, a, b} {
		w.leaves(p)
	}
	if !fails {
		w.mustGetIn(writer, "after the last reader")
		w.leaves(writer)
	}
	w.NothingLeft()
}
