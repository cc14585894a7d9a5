//go:build unix

package clients_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// An ownerLock gives zklock the methods that count uses of zk.Lock.
type ownerLock struct {
	mutex *zklock.Mutex
	owner *zklock.Owner
	lease *zklock.Lease
}

func (o *ownerLock) Lock() (err error) {
	o.lease, err = o.mutex.Lock(context.Background(), o.owner)
	return err
}

func (o *ownerLock) Unlock() error { return o.lease.Unlock(context.Background()) }

// newSharedTest opens a session on the server that ZK names, which others may
// use as well, and makes a node for the test alone. The node goes with the
// test.
func newSharedTest(t *testing.T) (g *counterTest, conn *zk.Conn, root string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	zoo := testenv.Must(ensemble.Open(ctx, os.Getenv("ZK")))(t)
	t.Cleanup(zoo.Close)
	conn = testenv.Must(zoo.Connect(ctx, ensemble.Options{SessionTimeout: sessionTimeout}))(t)
	t.Cleanup(conn.Close)
	root = "/shared-" + rand.Text()
	testenv.Must(conn.Create(root, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	t.Cleanup(func() { removeAll(t, conn, root) })
	return &counterTest{T: t, addr: strings.Join(zoo.Servers(), ",")}, conn, root
}

func removeAll(t *testing.T, conn *zk.Conn, path string) {
	children, _, err := conn.Children(path)
	if err == nil {
		for _, child := range children {
			removeAll(t, conn, path+"/"+child)
		}
		err = conn.Delete(path, -1)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("clean up: %s: %v", path, err)
	}
}

// Curator, zk.Lock and zklock exclude each other where they share a path.
func TestCuratorZkLockAndStep5CountTo3000Together(t *testing.T) {
	const (
		turns      = 1000 // of each of the three
		contenders = 8    // as many of each: the queue is fair, so they meet to the end
		mutexes    = 2    // of zklock, each with a node for all its goroutines
	)
	classPath := compileCurator(t)
	g, conn, root := newSharedTest(t)
	lock := root + "/lock"
	g.counter = root + "/counter"
	for _, path := range []string{lock, g.counter} {
		testenv.Must(conn.Create(path, []byte("0"), zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	}
	g.startCurator(classPath, "mutex", lock, contenders, turns/contenders)
	g.startGo("zk.Lock", lock, 1, contenders, turns/contenders)
	g.startGo("step5", lock, mutexes, contenders/mutexes, turns/contenders)
	g.all(g.processes, "ready")

	// The test has the lock until all contenders queue for it: from there on
	// each of them competes, however fast it is.
	first := zk.NewLock(conn, lock, zk.WorldACL(zk.PermAll))
	require.NoError(t, first.Lock())
	say(g.processes, "")
	g.eventually("all queue for the lock", func() bool {
		queue, _, err := conn.Children(lock)
		require.NoError(t, err)
		return len(queue) == 1+2*contenders+mutexes
	})
	m := testenv.Must(zklock.New(conn, lock))(t)
	queue, err := m.Participants(t.Context())
	require.NoError(t, err)
	libraries := make(map[string]int)
	for _, p := range queue {
		libraries[p.Library]++
	}
	require.Equal(t, map[string]int{"zk.Lock": 1 + contenders, "Curator mutex": contenders, "zklock": mutexes}, libraries)
	require.NoError(t, first.Unlock())
	// Patience is for a hundred at a time: a slow disk is not a fault.
	for n := int32(100); n <= 3*turns; n += 100 {
		g.eventually(fmt.Sprintf("the counter is written %d times", n), func() bool {
			_, stat, err := conn.Get(g.counter)
			require.NoError(t, err)
			return stat.Version >= n
		})
	}
	g.all(g.processes, "done")

	_, err = conn.Sync(root) // of an ensemble, our server may be behind
	require.NoError(t, err)
	data, stat, err := conn.Get(g.counter)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(3*turns), string(data))
	require.EqualValues(t, 3*turns, stat.Version, "the counter was written this often")
	left, _, err := conn.Children(lock)
	require.NoError(t, err)
	require.Empty(t, left, "nodes are left behind")
	g.leave()
}

// lines returns what a process has said, of those lines that begin with a word,
// without that word.
func (p *process) lines(word string) (out []string) {
	for line := range strings.Lines(p.all()) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			out = append(out, strings.TrimSuffix(rest, "\n"))
		}
	}
	return out
}

// says waits until a process has said exactly these lines that begin with a
// word.
func (g *counterTest) says(p *process, word string, want ...string) {
	g.Helper()
	defer func() {
		if g.Failed() {
			g.Logf("%s says\n%q\nand not\n%q", word, p.lines(word), want)
		}
	}()
	g.eventually(p.name+" prints the events that it gets: "+word, func() bool { return slices.Equal(p.lines(word), want) })
}

// The recipes of Curator that rest on persistent watches share a client with a
// mutex. The client is cut off for a while and comes back.
func TestCuratorCacheAndPersistentWatcherAndMutexTogether(t *testing.T) {
	classPath := compileCurator(t)
	g, conn, root := newSharedTest(t)
	tree, one := root+"/tree", root+"/one"
	write := func(path, data string) {
		_, err := conn.Set(path, []byte(data), -1)
		if err == zk.ErrNoNode {
			_, err = conn.Create(path, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		}
		require.NoError(t, err)
	}
	write(tree, "")
	server, _, _ := strings.Cut(g.addr, ",")
	line := proxy.New(t, server)
	p := g.startJava(classPath, "Watchers", line.Addr(), root)
	for _, recipe := range []string{"cache", "recursive", "persistent"} {
		g.eventually(recipe+" has set its watch", func() bool { return slices.Contains(p.lines("armed"), recipe) })
	}
	cache := []string{"NODE_CREATED " + tree}
	g.says(p, "cache", cache...)

	write(tree+"/a", "1")
	write(tree+"/a", "2")
	write(tree+"/a/b", "1")
	recursive := []string{"NodeCreated " + tree + "/a", "NodeDataChanged " + tree + "/a", "NodeCreated " + tree + "/a/b"}
	write(one, "1")
	write(one, "2")
	write(one+"/b", "1")
	persistent := []string{"NodeCreated " + one, "NodeDataChanged " + one, "NodeChildrenChanged " + one}
	g.says(p, "recursive", recursive...)
	g.says(p, "persistent", persistent...)
	// The cache reads after each event; what it says of two changes in a row
	// depends on when it reads.
	g.eventually("the cache has the last node", func() bool { return slices.Contains(p.lines("cache"), "NODE_CREATED "+tree+"/a/b") })
	cache = p.lines("cache")

	line.CutOff()
	g.says(p, "state", "CONNECTED", "SUSPENDED")
	write(one, "3")
	write(tree+"/a", "3")
	write(tree+"/missed", "1")
	require.NoError(t, conn.Delete(tree+"/a/b", -1))
	line.Heal()
	g.says(p, "state", "CONNECTED", "SUSPENDED", "RECONNECTED")
	for _, recipe := range []string{"recursive", "persistent"} {
		g.eventually(recipe+" has set its watch again", func() bool {
			return len(slices.DeleteFunc(p.lines("armed"), func(r string) bool { return r != recipe })) == 2
		})
	}
	missed := []string{"NODE_CHANGED " + tree + "/a", "NODE_CREATED " + tree + "/missed", "NODE_DELETED " + tree + "/a/b"}
	g.eventually("the cache has the change that it has missed", func() bool {
		now := p.lines("cache")[len(cache):]
		slices.Sort(now)
		return slices.Equal(now, missed)
	})
	write(one, "4")
	write(tree+"/a", "4")
	g.says(p, "recursive", append(recursive, "NodeDataChanged "+tree+"/a")...)
	g.says(p, "persistent", append(persistent, "NodeDataChanged "+one)...)
	g.eventually("the cache has the change after it", func() bool {
		now := p.lines("cache")
		return len(now) == len(cache)+4 && now[len(now)-1] == "NODE_CHANGED "+tree+"/a"
	})

	say(g.processes, "")
	g.all(g.processes, "closed")
	write(one, "5")
	write(tree+"/a", "5") // no recipe gets an event of it
	say(g.processes, "")
	g.all(g.processes, "done")
	queue, _, err := conn.Children(root + "/lock")
	require.NoError(t, err)
	require.Empty(t, queue, "the mutex is not released")
	require.Equal(t, []string{"CONNECTED", "SUSPENDED", "RECONNECTED"}, p.lines("state"), "the connection flaps")
	require.Len(t, p.lines("recursive"), 4)
	require.Len(t, p.lines("persistent"), 4)
	require.Len(t, p.lines("cache"), len(cache)+4)
	g.leave()
}
