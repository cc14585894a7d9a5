package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/internal/zkserver"
)

// Patience is how long something that must happen may take. On the embedded
// server it is virtual time and costs nothing.
const Patience = time.Minute

// A World is what one case runs in.
type World struct {
	*testing.T
	Subject Subject
	strict  bool // no goroutine may be left when the case is over
	zoo     *ensemble.Ensemble
	Server  *zkserver.Server // nil: a real ZooKeeper
	Path    string           // of the lock; nothing is there yet, nor above it
}

// worldOptions are what a case needs: the embedded server's control, sessions of
// twenty minutes, and that no goroutine is left.
type worldOptions struct{ exact, calm, strict bool }

// inWorld runs a case against the ZooKeeper that ZK names.
func inWorld(t *testing.T, s Subject, o worldOptions, run func(w *World)) {
	if (o.exact || o.calm) && os.Getenv("ZK") != "" && os.Getenv("ZK") != ensemble.SpecEmbedded {
		t.Skip("needs exact control of the server, which only the embedded one gives (unset ZK)")
	}
	zoo := Real(t)
	if zoo == nil {
		if self == nil { // no process of its own, and nothing else ends a lock that spins
			name := t.Name()
			watchdog := time.AfterFunc(time.Minute, func() {
				panic(name + ": busy for a minute of real time: the lock spins or polls")
			})
			defer watchdog.Stop()
		}
		synctest.Test(t, func(t *testing.T) {
			w := &World{T: t, Subject: s, strict: o.strict, Path: "/locktest/a/lock"}
			goroutines := runtime.NumGoroutine()
			t.Cleanup(func() { w.over(goroutines) }) // after all others: the clients and the server are closed
			defer func() { self.left(t.Failed()) }()
			var options []zkserver.Option
			if o.calm {
				options = append(options, zkserver.WithTick(CalmTimeout/2))
			}
			w.Server = zkserver.Run(t, options...)
			w.zoo = ensemble.OverPipes(w.Server)
			w.observe()
			defer w.bound().Stop()
			run(w)
			if !w.strict {
				w.waitForLock(afterwards)
			}
		})
		return
	}
	root := "/locktest-" + rand.Text()
	w := &World{T: t, Subject: s, zoo: zoo, Path: root + "/a/lock"}
	admin := w.Session()
	t.Cleanup(func() { w.removeAll(admin.Conn, root) }) // before admin's session is closed
	run(w)
}

// afterwards is how long a lock may clean up when its case is over, in virtual time,
// with clients and a server that live.
const afterwards = 10 * time.Minute

// waitForLock waits until no goroutine of the lock is left, and says whether it has
// seen that.
func (w *World) waitForLock(patience time.Duration) bool {
	pause := 10 * time.Millisecond
	for begin := time.Now(); ; pause = min(2*pause, 30*time.Second) {
		synctest.Wait()
		self.step()
		if !inLock() {
			return true
		}
		if time.Since(begin) >= patience {
			return false
		}
		time.Sleep(pause)
	}
}

// over is the end of a case, when its clients and its server have been closed. A
// goroutine that is left then need not be to blame: a client that has been closed
// leaves some requests without an answer. A bubble does not end while one is left, so
// the process ends in its place.
func (w *World) over(goroutines int) {
	if w.strict || w.Failed() || self == nil {
		return
	}
	pause := 10 * time.Millisecond
	for begin := time.Now(); ; pause = min(2*pause, time.Second) {
		synctest.Wait()
		self.step()
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		if time.Since(begin) > time.Minute {
			self.over()
		}
		time.Sleep(pause)
	}
}

// CalmTimeout is the session timeout of a Calm case: the least that its server
// agrees to. Connections break and come back in the meantime and cost nobody a
// session.
const CalmTimeout = 20 * time.Minute

// observe tells the watchdog of every request that reaches the server.
func (w *World) observe() {
	if self == nil {
		return
	}
	var instant time.Time
	w.Server.Hold(func(r zkserver.Request) bool {
		self.step()
		if now := time.Now(); !now.Equal(instant) {
			instant = now
			self.instant.Store(0)
		}
		self.instant.Add(1)
		return false
	})
}

// bound is how much virtual time a case may take.
const bound = 100 * time.Hour

// bound ends a case that waits without patience: its clients' pings keep
// virtual time going.
func (w *World) bound() *time.Timer {
	return time.AfterFunc(bound, func() {
		if self == nil {
			panic(w.Name() + ": days of virtual time have passed")
		}
		self.stuck("the lock hangs: days of virtual time have passed")
	})
}

// Errorf, Fatalf, Fatal and Skip keep the words for the process that has
// asked for the case.
func (w *World) Errorf(format string, args ...any) {
	w.Helper()
	text := plain(fmt.Sprintf(format, args...))
	self.note(text)
	w.T.Error(text)
}

func (w *World) Fatalf(format string, args ...any) {
	w.Helper()
	w.Errorf(format, args...)
	w.FailNow()
}

func (w *World) Fatal(args ...any) {
	w.Helper()
	w.Fatalf("%s", fmt.Sprint(args...))
}

func (w *World) Skip(args ...any) {
	w.Helper()
	if self != nil {
		self.mu.Lock()
		self.skip = fmt.Sprint(args...)
		self.mu.Unlock()
	}
	w.T.Skip(args...)
}

// plain puts what a case says of a failure before what testify says of it.
func plain(text string) string {
	if !strings.Contains(text, "\tError Trace:\t") {
		return text
	}
	parts := make(map[string][]string)
	label := ""
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(fields) < 3 {
			continue
		}
		if name := strings.TrimSpace(fields[1]); strings.HasSuffix(name, ":") {
			label = strings.TrimSuffix(name, ":")
		}
		parts[label] = append(parts[label], strings.TrimRight(fields[2], " \t"))
	}
	var places []string
	for _, place := range parts["Error Trace"] {
		if place = filepath.Base(strings.TrimSpace(place)); place != "" && place != "." && len(places) < 3 {
			places = append(places, place)
		}
	}
	at := " (" + strings.Join(places, " < ") + ")"
	detail := strings.Join(parts["Error"], "\n    ")
	message := strings.Join(parts["Messages"], "\n")
	if message == "" {
		return detail + at
	}
	return message + at + "\n    " + detail
}

// removeAll deletes what a case may have left on a real server.
func (w *World) removeAll(conn *zk.Conn, p string) {
	children, _, _ := conn.Children(p)
	for _, child := range children {
		w.removeAll(conn, p+"/"+child)
	}
	if err := conn.Delete(p, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		w.Errorf("clean up: delete %s: %v", p, err)
	}
}

// A Session is one client of the ZooKeeper under test.
type Session struct {
	*zk.Conn
	Tap *wiretap.Tap
	ID  int64
}

// Session opens a session that ends with the test.
func (w *World) Session() *Session {
	w.Helper()
	return w.sessionFor(10 * time.Second)
}

func (w *World) sessionFor(timeout time.Duration) *Session {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if w.Server == nil {
		timeout = 40 * time.Second // a busy machine may keep a client from its pings; a real server grants no more with a tick of 2 s
	}
	tap := wiretap.New(wiretap.WithLog())
	conn, err := w.zoo.Connect(ctx, ensemble.Options{SessionTimeout: timeout, Tap: tap, Buffer: 64 << 10})
	require.NoError(w, err)
	w.Cleanup(conn.Close)
	return &Session{conn, tap, conn.SessionID()}
}

// ordinary opens a session as most users of go-zookeeper do, with zk.Connect: in
// such a client a request can wait for the next session. It knows of three
// servers, because a client that has tried them all fails what waits.
func (w *World) ordinary() *Session {
	w.Helper()
	tap := wiretap.New(wiretap.WithLog())
	conn, _, err := zk.Connect([]string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, 10*time.Second,
		zk.WithDialer(tap.Dialer(w.Server.Dial)), zk.WithLogger(silent{}), zk.WithMaxConnBufferSize(64<<10), zk.WithEventCallback(func(zk.Event) {}))
	require.NoError(w, err)
	w.Cleanup(conn.Close)
	w.Eventually("the client has a session", func() bool { return conn.State() == zk.StateHasSession })
	return &Session{conn, tap, conn.SessionID()}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// Contender makes a contender for the lock, in a session of its own unless
// one is given.
func (w *World) Contender(in ...*Session) (Lock, *Session) {
	w.Helper()
	if len(in) == 0 {
		in = []*Session{w.Session()}
	}
	return w.Subject.New(in[0].Conn, w.Path), in[0]
}

// Aside calls an operation of a lock in a goroutine of its own; its result
// comes on the channel.
func (w *World) Aside(what string, f func() error) <-chan error {
	result := make(chan error, 1)
	done := self.does(what)
	go aside(func() {
		err := f()
		done()
		result <- err
	})
	return result
}

// Lock calls Lock aside.
func (w *World) Lock(l Lock) <-chan error { return w.Aside("Lock", l.Lock) }

// Result waits for what an operation that must end returns.
func (w *World) Result(ch <-chan error, what string) error {
	w.Helper()
	select {
	case err := <-ch:
		return err
	case <-time.After(Patience):
		w.Fatalf("%s does not return%s", what, w.Why())
		return nil
	}
}

// holds waits until a contender has got the lock.
func (w *World) holds(ch <-chan error, name string) {
	w.Helper()
	require.NoError(w, w.Result(ch, "Lock of "+name), "Lock of %s fails", name)
}

// MustLock locks and fails if that does not work.
func (w *World) MustLock(l Lock, name string) {
	w.Helper()
	w.holds(w.Lock(l), name)
}

// Try calls TryLock, which must return.
func (w *World) Try(l Lock, what string) (ok bool, err error) {
	w.Helper()
	err = w.Result(w.Aside("TryLock", func() (err error) {
		ok, err = l.TryLock()
		return err
	}), what)
	return ok, err
}

// Unlock lets go, and fails if that does not work.
func (w *World) Unlock(l Lock, name string) {
	w.Helper()
	require.NoError(w, w.UnlockErr(l, "Unlock of "+name), "Unlock of %s fails", name)
}

// UnlockErr calls Unlock, which must return.
func (w *World) UnlockErr(l Lock, what string) error {
	w.Helper()
	return w.Result(w.Aside("Unlock", l.Unlock), what)
}

// NotLocked fails if Unlock says anything but ErrNotLocked.
func (w *World) NotLocked(l Lock, what string) {
	w.Helper()
	w.IsNotLocked(w.UnlockErr(l, what), what)
}

// IsNotLocked fails if an error of Unlock is not ErrNotLocked, or is none
// where the subject does not say what that is.
func (w *World) IsNotLocked(err error, what string) {
	w.Helper()
	require.Error(w, err, "%s returns no error, though the lock is not held: return ErrNotLocked", what)
	if w.Subject.ErrNotLocked != nil {
		require.ErrorIs(w, err, w.Subject.ErrNotLocked, "%s returns another error than ErrNotLocked", what)
	}
}

// mayHold fails if an error is ErrNotLocked.
func (w *World) mayHold(err error, message string) {
	w.Helper()
	if w.Subject.ErrNotLocked != nil {
		require.NotErrorIs(w, err, w.Subject.ErrNotLocked, message)
	}
}

// Hit waits until a request meets a fault.
func (w *World) Hit(f *zkserver.Fault, what string) {
	w.Helper()
	select {
	case <-f.Hit():
	case <-time.After(Patience):
		w.Fatalf("never happens: %s%s", what, w.Why())
	}
}

// waits returns when the contender whose session this is sleeps on a watch.
func (w *World) waits(ch <-chan error, s *Session, name string) {
	w.Helper()
	w.stillWaits(ch, s, name)
}

// stillWaits fails if a contender has got the lock, or an error, or does not
// sleep on a watch.
func (w *World) stillWaits(ch <-chan error, s *Session, name string) {
	w.Helper()
	before := s.Tap.Counts().Total()
	w.WaitUntil(name+" waits on a watch", func() bool {
		select {
		case err := <-ch:
			require.NoError(w, err, "%s must wait, and Lock fails", name)
			w.Fatalf("%s has got the lock while another contender holds it: two holders", name)
		default:
		}
		return s.Tap.Armed() > 0 && s.Tap.Pending() == 0
	}, func() string {
		if n := s.Tap.Counts().Total() - before; n > 5 {
			return fmt.Sprintf("%s polls: it has sent %d requests in %v while it had to wait, and has set no watch; set a watch and sleep until its event comes", name, n, Patience)
		}
		return fmt.Sprintf("%s waits without a watch: no event will tell it of the release%s", name, w.Why())
	})
}

// Eventually waits for a state.
func (w *World) Eventually(what string, ok func() bool) {
	w.Helper()
	w.WaitUntil(what, ok, func() string { return "never happens: " + what + w.Why() })
}

// waitFor waits for a state, and no longer than d.
func (w *World) waitFor(d time.Duration, ok func() bool) {
	for begin := time.Now(); !ok() && time.Since(begin) < d; {
		time.Sleep(time.Millisecond + time.Since(begin)/100)
	}
}

// WaitUntil waits for a state. It polls: in virtual time that is exact to one
// part in a hundred and almost free, and a real server tells nothing.
func (w *World) WaitUntil(what string, ok func() bool, failure func() string) {
	w.Helper()
	begin := time.Now()
	for {
		if w.Server != nil {
			synctest.Wait()
			self.step()
		}
		if ok() {
			return
		}
		waited := time.Since(begin)
		if waited > Patience {
			w.Fatal(failure())
		}
		time.Sleep(max(time.Millisecond, waited/100))
	}
}

// Why says, of an operation that does not return, what the server knows of the
// contenders that wait, in the words of the lesson.
func (w *World) Why() string {
	if w.Server == nil {
		return ""
	}
	synctest.Wait()
	nodes := w.Nodes()
	var lines []string
	for _, watch := range w.Server.Watches() {
		lines = append(lines, w.watched(watch))
	}
	onParent := slices.ContainsFunc(w.Server.Watches(), func(watch zkserver.Watch) bool { return !watch.Children && watch.Path == w.Path })
	switch {
	case len(nodes) == 0 && w.Subject.Queue && onParent:
		lines = append(lines, fmt.Sprintf("no contender has a node: %s is the parent of the nodes, and is there before any contender comes; each contender makes a node of its own below it, with zk.FlagEphemeralSequential", path.Base(w.Path)))
	case len(nodes) == 0:
		lines = append(lines, "no contender has a node: the lock is free")
	default:
		lines = append(lines, "the nodes that are there: "+strings.Join(nodes, ", "))
	}
	if len(w.Server.Watches()) == 0 {
		lines = append(lines, "no contender has a watch: nothing will wake one that waits")
	}
	return ":\n    " + strings.Join(slices.Compact(lines), "\n    ")
}

// watched says what a watch that is set will tell of.
func (w *World) watched(watch zkserver.Watch) string {
	_, exists := w.Server.Node(watch.Path)
	name := strings.TrimPrefix(watch.Path, path.Dir(w.Path)+"/")
	switch {
	case !watch.Children && !exists:
		return fmt.Sprintf("a contender watches %s, which has gone: the event is lost, for the node went before the watch was set; use one request that looks and sets the watch (GetW), and look again if it finds no node", name)
	case !watch.Children && watch.Path == w.Path && w.Subject.Queue:
		return fmt.Sprintf("a contender watches %s, the parent: a release does not change the parent's data; watch the node before its own, or the list of the children", name)
	case watch.Children:
		return fmt.Sprintf("a contender watches the children of %s", name)
	}
	return fmt.Sprintf("a contender watches %s, which is there still", name)
}

// Expire ends a session behind its client's back.
func (w *World) Expire(s *Session) {
	w.Helper()
	require.NoError(w, w.zoo.EndSession(s.Tap, s.ID))
}

// Nodes lists the nodes of contenders: those below the lock's path, and the
// one at the path if it is ephemeral.
func (w *World) Nodes() []string {
	w.Helper()
	if w.Server != nil {
		nodes := w.Server.Children(w.Path)
		if node, ok := w.Server.Node(w.Path); ok && node.Stat.EphemeralOwner != 0 {
			nodes = append(nodes, path.Base(w.Path))
		}
		return nodes
	}
	s := w.Session()
	_, err := s.Sync("/")
	require.NoError(w, err)
	children, _, err := s.Children(w.Path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	require.NoError(w, err)
	_, stat, err := s.Exists(w.Path)
	require.NoError(w, err)
	if stat.EphemeralOwner != 0 {
		children = append(children, path.Base(w.Path))
	}
	return children
}

// NothingLeft fails if the lock has left a node. Watches that are left cost
// something and block nobody: noWatches looks for them.
func (w *World) NothingLeft() {
	w.Helper()
	w.NoNodes("every contender has let go, and the lock leaves a node behind: it blocks every contender that comes later")
}

// noWatches fails if the lock has left a watch, where that can be seen.
func (w *World) noWatches() {
	w.Helper()
	if w.Server == nil {
		return
	}
	synctest.Wait()
	if watches := w.Server.Watches(); len(watches) > 0 {
		w.Fatalf("every contender has let go, and the lock leaves a watch on %s behind, which the server keeps for as long as the session lives; ExistsW on a node that has gone sets a watch, and GetW does not", watches[0].Path)
	}
}

// Parents makes all nodes above the lock's.
func (w *World) Parents(conn *zk.Conn, acl []zk.ACL) {
	w.Helper()
	dir := path.Dir(w.Path)
	for i := 1; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		a := zk.WorldACL(zk.PermAll)
		if i == len(dir) {
			a = acl
		}
		if _, err := conn.Create(dir[:i], nil, zk.FlagPersistent, a); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			require.NoError(w, err)
		}
	}
}

// NoNodes fails if a contender has a node.
func (w *World) NoNodes(message string) {
	w.Helper()
	require.Empty(w, w.Nodes(), message)
}

// GoesOn is the condition of a loop over the requests of one operation.
func (w *World) GoesOn(n int) bool {
	w.Helper()
	if n > 100 {
		w.Fatal("the lock polls: it sends more than 100 requests for one operation")
	}
	return true
}
