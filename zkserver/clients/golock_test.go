//go:build unix

package clients_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// roleVariable makes the test binary one process of the counter test. Its
// value is a sequence of words: address, "zk.Lock", "step5" or "nothing" for
// the lock, path of the lock, path of the counter, sessions, contenders in
// each of them, and turns of each of those.
const roleVariable = "ZKLOCK_CLIENTS_ROLE"

const sessionTimeout = 30 * time.Second

func workAsCounter() {
	if err := countAs(os.Getenv(roleVariable)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func countAs(role string) error {
	var addr, kind, path, counter string
	var sessions, each, turns int
	if _, err := fmt.Sscan(role, &addr, &kind, &path, &counter, &sessions, &each, &turns); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started := make(chan struct{}, 1)
	// The end of the input says that the test is over, or that it has died.
	go func() {
		defer cancel()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			started <- struct{}{}
		}
	}()

	zoo, err := ensemble.Open(ctx, addr)
	if err != nil {
		return err
	}
	begin := make(chan struct{})
	finished := make(chan error, sessions*each)
	for range sessions {
		conn, err := zoo.Connect(ctx, ensemble.Options{SessionTimeout: sessionTimeout})
		if err != nil {
			return err
		}
		defer conn.Close()
		newLock, err := locksOf(kind, conn, path)
		if err != nil {
			return err
		}
		for range each {
			lock := newLock()
			go func() {
				<-begin
				finished <- count(conn, lock, counter, turns)
			}()
		}
	}
	fmt.Println("ready")
	select {
	case <-started:
		close(begin)
	case <-ctx.Done():
		return io.ErrUnexpectedEOF
	}
	for range sessions * each {
		select {
		case err = <-finished:
		case <-ctx.Done():
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("done") // still connected: what is left behind is to be seen
	<-ctx.Done()
	return nil
}

type locker interface {
	Lock() error
	Unlock() error
}

type noLock struct{}

func (noLock) Lock() error   { return nil }
func (noLock) Unlock() error { return nil }

// locksOf returns a function that makes the locks of the contenders in a session.
func locksOf(kind string, conn *zk.Conn, path string) (func() locker, error) {
	switch kind {
	case "zk.Lock":
		return func() locker { return zk.NewLock(conn, path, zk.WorldACL(zk.PermAll)) }, nil
	case "step5":
		mutex, err := zklock.New(conn, path, zklock.WithSessionTimeout(sessionTimeout))
		return func() locker { return &ownerLock{mutex: mutex, owner: zklock.NewOwner("counter")} }, err
	case "nothing":
		return func() locker { return noLock{} }, nil
	}
	return nil, fmt.Errorf("no lock is called %q", kind)
}

// count takes turns at the counter. It is read in the session of the lock: the
// server of another session may not have the last write.
func count(conn *zk.Conn, lock locker, counter string, turns int) error {
	for range turns {
		if err := lock.Lock(); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		data, stat, err := conn.Get(counter)
		if err != nil {
			return fmt.Errorf("read the counter: %w", err)
		}
		n, err := strconv.Atoi(string(data))
		if err != nil {
			return err
		}
		if _, err := conn.Set(counter, []byte(strconv.Itoa(n+1)), stat.Version); err != nil {
			return fmt.Errorf("write the counter: %w", err)
		}
		if err := lock.Unlock(); err != nil {
			return fmt.Errorf("unlock: %w", err)
		}
	}
	return nil
}

func (g *counterTest) startGo(kind, path string, sessions, each, turns int) *process {
	g.Helper()
	self := testenv.Must(os.Executable())(g)
	role := fmt.Sprintf("%s %s %s %s %d %d %d", g.addr, kind, path, g.counter, sessions, each, turns)
	return g.start([]string{roleVariable + "=" + role}, self)
}

// The first process that gets the lock is held in it until all others are in the
// queue: from there on each process competes, however fast it is.
func TestZkLockCountsTo100(t *testing.T) {
	const lock = "/zk/lock"
	g := newCounterTest(t)
	for range 4 {
		g.startGo("zk.Lock", lock, 1, 1, total/4)
	}
	first := g.hold(jute.OpSetData)
	g.all(g.processes, "ready")
	say(g.processes, "")
	g.hit(first, "a process gets the lock")
	g.eventually("all others queue for the lock", func() bool { return len(g.srv.Children(lock)) == len(g.processes) })
	first.Release()
	g.all(g.processes, "done")
	g.counted(lock)
	g.leave()
}

// What the other tests rely on: without a lock the counting fails.
func TestTwoHoldersAreFoundOut(t *testing.T) {
	g := newCounterTest(t)
	slow := g.startGo("nothing", "-", 1, 1, 1)
	g.all(g.processes, "ready")
	// It has read the counter, and another one writes it before it does.
	held := g.hold(jute.OpSetData)
	say([]*process{slow}, "")
	g.hit(held, "the slow one writes the counter")
	fast := g.startGo("nothing", "-", 1, 1, 1)
	g.all([]*process{fast}, "ready")
	say([]*process{fast}, "")
	g.all([]*process{fast}, "done")
	held.Release()
	g.exits(slow)
	require.Error(t, slow.err)
	require.Contains(t, slow.all(), zk.ErrBadVersion.Error())
}
