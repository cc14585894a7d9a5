//go:build unix

package clients_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
)

// newSharedTest opens a session on the server that ZK names, which others may
// use as well, and makes a node for the test alone. The node goes with the
// test.
func newSharedTest(t *testing.T) (g *game, conn *zk.Conn, root string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	zoo := testenv.Must(ensemble.Open(ctx, os.Getenv("ZK")))(t)
	t.Cleanup(zoo.Close)
	conn = testenv.Must(zoo.Connect(ctx, ensemble.Options{SessionTimeout: 30 * time.Second}))(t)
	t.Cleanup(conn.Close)
	root = "/shared-" + rand.Text()
	testenv.Must(conn.Create(root, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	t.Cleanup(func() { removeAll(t, conn, root) })
	return &game{T: t, addr: strings.Join(zoo.Servers(), ",")}, conn, root
}

func removeAll(t *testing.T, conn *zk.Conn, path string) {
	for _, child := range childrenOf(t, conn, path) {
		removeAll(t, conn, path+"/"+child)
	}
	if err := conn.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("clean up: %s: %v", path, err)
	}
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
func (g *game) says(p *process, word string, want ...string) {
	g.Helper()
	defer func() {
		if g.Failed() {
			g.Logf("%s says\n%q\nand not\n%q", word, p.lines(word), want)
		}
	}()
	g.eventually(p.name+" prints the events that it gets: "+word, func() bool { return slices.Equal(p.lines(word), want) })
}

const jars = "/usr/share/java/"

// Each jar names what it needs in turn, except those of which Debian has several to choose from.
var (
	ofCurator = map[string]string{
		"/usr/bin/javac": "default-jdk-headless", jars + "curator-recipes.jar": "libcurator-recipes-java",
		jars + "zookeeper-recipes-lock.jar": "libzookeeper-java",
	}
	curatorPath = jars + strings.Join(strings.Fields("curator-recipes.jar curator-framework.jar curator-client.jar zookeeper.jar "+
		"zookeeper-jute.jar zookeeper-recipes-lock.jar guava.jar slf4j-api.jar slf4j-nop.jar"), ":"+jars)
)

// startJava runs a program of testdata, which Java compiles itself.
func (g *game) startJava(program string, args ...string) *process {
	g.Helper()
	java := []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", curatorPath, filepath.Join("testdata", program)} // starts faster
	return g.start(nil, append(java, args...)...)
}

// The recipes of Curator that rest on persistent watches share a client with a
// mutex. The client is cut off for a while and comes back.
func TestCuratorCacheAndPersistentWatcherAndMutexTogether(t *testing.T) {
	needs(t, ofCurator)
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
	p := g.startJava("Watchers.java", line.Addr(), root)
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
	testenv.Must(p.nextLine(regexp.MustCompile("^closed$")))(t)
	write(one, "5")
	write(tree+"/a", "5") // no recipe gets an event of it
	say(g.processes, "")
	testenv.Must(p.nextLine(regexp.MustCompile("^done$")))(t)
	queue, _ := testenv.Must2(conn.Children(root + "/lock"))(t)
	require.Empty(t, queue, "the mutex is not released")
	require.Equal(t, []string{"CONNECTED", "SUSPENDED", "RECONNECTED"}, p.lines("state"), "the connection flaps")
	require.Len(t, p.lines("recursive"), 4)
	require.Len(t, p.lines("persistent"), 4)
	require.Len(t, p.lines("cache"), len(cache)+4)
	g.leave()
}
