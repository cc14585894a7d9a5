package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/internal/zkserver"
)

// patience is how long something that must happen may take. On the embedded
// server it is virtual time and costs nothing.
const patience = time.Minute

// A world is what one case runs in.
type world struct {
	*testing.T
	subject Subject
	zoo     *ensemble.Ensemble
	srv     *zkserver.Server // nil: a real ZooKeeper
	path    string           // of the lock; nothing is there yet, nor above it
}

// inWorld runs a case against the ZooKeeper that ZK names.
func inWorld(t *testing.T, s Subject, exact bool, run func(w *world)) {
	if exact && os.Getenv("ZK") != "" && os.Getenv("ZK") != ensemble.SpecEmbedded {
		t.Skip("needs exact control of the server, which only the embedded one gives (unset ZK)")
	}
	zoo := Real(t)
	if zoo == nil {
		// Virtual time stands still while anybody is busy, so patience does not
		// end a lock that spins. Real time does.
		name := t.Name()
		watchdog := time.AfterFunc(time.Minute, func() {
			panic(name + ": busy for a minute of real time: the lock polls in place of waiting on a watch")
		})
		defer watchdog.Stop()
		synctest.Test(t, func(t *testing.T) {
			srv := zkserver.Run(t)
			run(&world{T: t, subject: s, srv: srv, zoo: ensemble.OverPipes(srv), path: "/locktest/a/lock"})
		})
		return
	}
	root := "/locktest-" + rand.Text()
	w := &world{T: t, subject: s, zoo: zoo, path: root + "/a/lock"}
	admin := w.session()
	t.Cleanup(func() { w.removeAll(admin.Conn, root) }) // before admin's session is closed
	run(w)
}

// removeAll deletes what a case may have left on a real server.
func (w *world) removeAll(conn *zk.Conn, p string) {
	children, _, _ := conn.Children(p)
	for _, child := range children {
		w.removeAll(conn, p+"/"+child)
	}
	if err := conn.Delete(p, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		w.Errorf("clean up: delete %s: %v", p, err)
	}
}

// A session is one client of the ZooKeeper under test.
type session struct {
	*zk.Conn
	tap *wiretap.Tap
	id  int64
}

// session opens a session that ends with the test.
func (w *world) session() *session {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tap := wiretap.New(wiretap.WithLog())
	conn, err := w.zoo.Connect(ctx, ensemble.Options{SessionTimeout: 10 * time.Second, Tap: tap, Buffer: 64 << 10})
	require.NoError(w, err)
	w.Cleanup(conn.Close)
	return &session{conn, tap, conn.SessionID()}
}

// contender makes a contender for the lock, in a session of its own unless
// one is given.
func (w *world) contender(in ...*session) (Lock, *session) {
	w.Helper()
	if len(in) == 0 {
		in = []*session{w.session()}
	}
	return w.subject.New(in[0].Conn, w.path), in[0]
}

// lock calls Lock aside; its result comes on the channel.
func (w *world) lock(l Lock) <-chan error {
	result := make(chan error, 1)
	go func() { result <- l.Lock() }()
	return result
}

// result waits for what an operation that must end returns.
func (w *world) result(ch <-chan error, what string) error {
	w.Helper()
	select {
	case err := <-ch:
		return err
	case <-time.After(patience):
		w.Fatalf("%s does not return: it waits for something that never comes", what)
		return nil
	}
}

// holds waits until a contender has got the lock.
func (w *world) holds(ch <-chan error, who string) {
	w.Helper()
	require.NoError(w, w.result(ch, "Lock of "+who), "Lock of %s fails", who)
}

// mustLock locks and fails if that does not work.
func (w *world) mustLock(l Lock, who string) {
	w.Helper()
	w.holds(w.lock(l), who)
}

// unlock lets go, and fails if that does not work.
func (w *world) unlock(l Lock, who string) {
	w.Helper()
	done := make(chan error, 1)
	go func() { done <- l.Unlock() }()
	require.NoError(w, w.result(done, "Unlock of "+who), "Unlock of %s fails", who)
}

// waits returns when the contender whose session this is sleeps on a watch.
func (w *world) waits(s *session, who string) {
	w.Helper()
	w.eventually(who+" waits on a watch", func() bool { return s.tap.Armed() > 0 && s.tap.Pending() == 0 })
}

// stillWaits fails if a contender has got the lock, or an error.
func (w *world) stillWaits(ch <-chan error, s *session, who string) {
	w.Helper()
	w.eventually(who+" waits on a watch", func() bool {
		select {
		case err := <-ch:
			require.NoError(w, err, "%s is to wait, but Lock fails", who)
			w.Fatalf("%s has got the lock while somebody else holds it: two holders", who)
		default:
		}
		return s.tap.Armed() > 0 && s.tap.Pending() == 0
	})
}

// eventually waits for a state. It polls: in virtual time that is exact and
// free, and against a real server there is nothing to be told by.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if w.srv != nil {
			synctest.Wait()
		}
		if ok() {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("never happens: %s", what)
		}
	}
}

// expire ends a session behind its client's back.
func (w *world) expire(s *session) {
	w.Helper()
	require.NoError(w, w.zoo.EndSession(s.tap, s.id))
}

// nodes counts the nodes at and below the lock's path, its parent and those
// above left out, seen from a fresh session.
func (w *world) nodes() []string {
	w.Helper()
	if w.srv != nil {
		nodes := w.srv.Children(w.path)
		if node, ok := w.srv.Node(w.path); ok && node.Stat.EphemeralOwner != 0 {
			nodes = append(nodes, path.Base(w.path))
		}
		return nodes
	}
	s := w.session()
	_, err := s.Sync("/")
	require.NoError(w, err)
	children, _, err := s.Children(w.path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	require.NoError(w, err)
	_, stat, err := s.Exists(w.path)
	require.NoError(w, err)
	if stat.EphemeralOwner != 0 {
		children = append(children, path.Base(w.path))
	}
	return children
}

// nothingLeft fails if the lock has left a node or, where that can be seen,
// a watch.
func (w *world) nothingLeft() {
	w.Helper()
	require.Empty(w, w.nodes(), "the lock leaves nodes behind at %s", w.path)
	if w.srv != nil {
		synctest.Wait()
		require.Empty(w, w.srv.Watches(), "the lock leaves watches behind")
	}
}

// parents makes all nodes above the lock's.
func (w *world) parents(conn *zk.Conn, acl []zk.ACL) {
	w.Helper()
	dir := path.Dir(w.path)
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
