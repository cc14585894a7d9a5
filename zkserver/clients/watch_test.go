//go:build unix

package clients_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/proxy"
)

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

// What addWatch of zkCli.sh prints.
func TestZkCliAddWatchAndWritesTogether(t *testing.T) {
	needsShell(t)
	g, _, root := newSharedTest(t)
	shells := g.startShells(2)
	watcher, writer := shells[0], shells[1]
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	types := func(sh *shell, commands ...string) {
		t.Helper()
		for _, command := range commands {
			answer, err := sh.run(ctx, command)
			require.NoError(t, err)
			created, creates := strings.CutPrefix(command, "create ")
			if path, _, _ := strings.Cut(created, " "); creates {
				require.Equal(t, []string{"Created " + path}, answer, command)
			} else {
				require.Empty(t, answer, command)
			}
		}
	}
	var want []string
	gets := func(events ...string) {
		t.Helper()
		want = append(want, events...)
		var got []string
		defer func() {
			if t.Failed() {
				t.Logf("the shell has printed %q and not %q", got, want)
			}
		}()
		g.eventually("the shell prints the events", func() bool {
			got = nil
			for line := range strings.Lines(watcher.all()) {
				if event := shellEvent.FindStringSubmatch(strings.TrimSuffix(line, "\n")); event != nil && event[1] != "None" { // None is of the connection
					got = append(got, event[1]+" "+strings.TrimPrefix(event[2], root))
				}
			}
			return slices.Equal(got, want)
		})
	}
	types(writer, "create "+root+"/one", "create "+root+"/all")
	types(watcher, "addWatch -m PERSISTENT "+root+"/one", "addWatch -m PERSISTENT_RECURSIVE "+root+"/all")
	for range 2 {
		types(writer, "set "+root+"/one x", "create "+root+"/one/c", "set "+root+"/one/c x", "delete "+root+"/one/c")
		gets("NodeDataChanged /one", "NodeChildrenChanged /one", "NodeChildrenChanged /one")
		types(writer, "set "+root+"/all x", "create "+root+"/all/c", "set "+root+"/all/c x", "delete "+root+"/all/c")
		gets("NodeDataChanged /all", "NodeCreated /all/c", "NodeDataChanged /all/c", "NodeDeleted /all/c")
	}
	types(watcher, "removewatches "+root+"/one")
	types(writer, "set "+root+"/one y", "set "+root+"/all y")
	gets("PersistentWatchRemoved /one", "NodeDataChanged /all")
	say(g.processes, "quit") // at the mere end of its input it leaves its session behind
	g.leave()
}
