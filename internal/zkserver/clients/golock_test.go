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

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
)

// roleVariable makes the test binary one process of the counter test. Its
// value is a sequence of words: address, "zk.Lock" or "nothing" for the lock,
// path of the lock, and turns.
const roleVariable = "ZKLOCK_CLIENTS_ROLE"

func workAsCounter() {
	if err := countAs(os.Getenv(roleVariable)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func countAs(role string) error {
	var addr, kind, path string
	var turns int
	if _, err := fmt.Sscan(role, &addr, &kind, &path, &turns); err != nil {
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
	conn, err := zoo.Connect(ctx, ensemble.Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	finished := make(chan error, 1)
	go func() {
		<-started
		finished <- count(conn, kind, path, turns)
	}()
	select {
	case err = <-finished:
	case <-ctx.Done():
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	fmt.Println("done") // still connected: what is left behind is to be seen
	<-ctx.Done()
	conn.Close()
	return nil
}

type locker interface {
	Lock() error
	Unlock() error
}

type nothing struct{}

func (nothing) Lock() error   { return nil }
func (nothing) Unlock() error { return nil }

func count(conn *zk.Conn, kind, path string, turns int) error {
	locks := map[string]locker{
		"zk.Lock": zk.NewLock(conn, path, zk.WorldACL(zk.PermAll)),
		"nothing": nothing{},
	}
	lock := locks[kind]
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

func (g *game) startGo(kind, path string, turns int) *process {
	g.Helper()
	self, err := os.Executable()
	require.NoError(g, err)
	return g.start([]string{fmt.Sprintf("%s=%s %s %s %d", roleVariable, g.addr, kind, path, turns)}, self)
}

func TestZkLockCountsTo100(t *testing.T) {
	aboutTheEmbeddedServer(t)
	g := newGame(t)
	for range 4 {
		g.startGo("zk.Lock", "/zk/lock", total/4)
	}
	g.queueing("/zk/lock")
}

// What the other tests rely on: without a lock the counting fails.
func TestTwoHoldersAreFoundOut(t *testing.T) {
	aboutTheEmbeddedServer(t)
	g := newGame(t)
	slow := g.startGo("nothing", "-", 1)
	g.all(g.processes, "ready")
	// It has read the counter, and another one writes it before it does.
	held := g.hold(jute.OpSetData)
	say([]*process{slow}, "")
	g.hit(held, "the slow one writes the counter")
	fast := g.startGo("nothing", "-", 1)
	g.all([]*process{fast}, "ready")
	say([]*process{fast}, "")
	g.all([]*process{fast}, "done")
	held.Release()
	g.exits(slow)
	require.Error(t, slow.err)
	require.Contains(t, slow.all(), zk.ErrBadVersion.Error())
}
