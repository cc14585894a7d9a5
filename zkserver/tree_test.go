// Tests of nodes that the server itself removes, and of the numbers of sequential nodes. tg is the server, and c a
// client that sends packets itself: wire_test.go.
package zkserver_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

func TestContainersGoOnceUsedAndEmpty(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		for _, name := range []string{"/used", "/unused", "/busy"} {
			require.Equal(tg, jute.OK, c.code(jute.OpCreateContainer,
				&jute.CreateRequest{Path: tg.root + name, Data: []byte{}, ACL: jute.WorldACL(), Flags: jute.FlagContainer}))
			n, _ := tg.srv.Node(tg.root + name)
			require.True(tg, n.Container)
		}
		require.Equal(tg, jute.OK, c.create(tg.root+"/used/x", jute.FlagPersistent))
		require.Equal(tg, jute.OK, c.create(tg.root+"/busy/x", jute.FlagPersistent))
		require.Equal(tg, jute.OK, c.delete(tg.root+"/used/x"))

		watcher := tg.connect()
		require.Equal(tg, jute.OK, watcher.watch(jute.OpExists, tg.root+"/used"))
		require.Equal(tg, jute.OK, c.delete(tg.root+"/busy/x"))
		require.Equal(tg, jute.OK, c.delete(tg.root+"/busy")) // by hand, before it is looked for
		var events []event
		for range 20 { // for 140 s: containers are looked for once a minute
			time.Sleep(7 * time.Second)
			events = append(events, watcher.eventsNow()...)
		}
		require.Equal(tg, []string{"unused"}, tg.srv.Children(tg.root))
		require.Equal(tg, []event{{jute.EventDeleted, tg.root + "/used"}}, events)
	})
}

func TestNodesGoWhenTheirTimeToLiveIsOver(t *testing.T) {
	needsEmbedded(t)
	bubble.Test(t, func(t *testing.T) {
		tg := &target{T: t, srv: zkserver.Run(t, zkserver.WithTTL())}
		c := tg.connect()
		create := func(path string, ttl int64) {
			r := jute.CreateRequest{Path: path, ACL: jute.WorldACL(), Flags: jute.FlagTTL}
			require.Equal(t, jute.OK, c.code(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: r, TTL: ttl}))
		}
		create("/idle", 10_000)
		create("/set", 10_000)
		create("/parent", 10_000)
		require.Equal(t, jute.OK, c.create("/parent/child", jute.FlagPersistent))

		n, _ := tg.srv.Node("/idle")
		require.Equal(t, 10*time.Second, n.TTL)
		time.Sleep(10 * time.Second)
		require.Equal(t, jute.OK, c.set("/set", "", anyVersion))
		tg.srv.ReapContainers()
		require.Equal(t, "/idle ttl 10s\n/parent ttl 10s\n/parent/child\n/set ttl 10s\n", tg.srv.Tree(), "its time is not over yet")
		time.Sleep(time.Millisecond)
		tg.srv.ReapContainers()
		require.Equal(t, "/parent ttl 10s\n/parent/child\n/set ttl 10s\n", tg.srv.Tree())
		require.Equal(t, jute.OK, c.delete("/parent/child"))

		watcher := tg.connect()
		require.Equal(t, jute.OK, watcher.watch(jute.OpExists, "/parent"))
		time.Sleep(38 * time.Second)
		require.Equal(t, jute.OK, c.set("/set", "", anyVersion))
		require.Empty(t, watcher.eventsNow())
		time.Sleep(25 * time.Second) // it looks once a minute
		require.Equal(t, []event{{jute.EventDeleted, "/parent"}}, watcher.eventsNow())
		require.Empty(t, tg.srv.Tree())
	})
}

// No other test makes nodes here: / has /zookeeper with two nodes, and tg.root. "/" itself lies below the empty path.
func TestGetAllChildrenNumberOfTheRootAndOfTheEmptyPath(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		for path, want := range map[string]int32{"/": 4, "": 5} {
			code, d := c.do(jute.OpGetAllChildrenNumber, pathBody(path))
			require.Equal(tg, jute.OK, code)
			require.Equal(tg, want, d.Int32(), "%q", path)
		}
	})
}

// targetBeforeTheLargest returns a target at whose root the next number is the one before the largest. A real server is
// one of the test's own: it is stopped, and the number is written into its snapshot.
func targetBeforeTheLargest(t *testing.T) *target {
	tg := newTarget(t)
	if tg.srv != nil {
		require.True(t, tg.srv.SetSequence(tg.root, math.MaxInt32-1))
		require.False(t, tg.srv.SetSequence(tg.root+"/no", 0))
		return tg
	}

	zoo := servers.ZooKeepers(t, 1)[0]
	tg = &target{T: t, addr: zoo.Addr, root: "/t"}
	require.Equal(t, jute.OK, tg.connect().create(tg.root, jute.FlagPersistent))
	zoo.Stop()
	zoo.Start(t) // it writes a snapshot; the file whose name sorts last is the newest
	zoo.Stop()
	files := testenv.Must(filepath.Glob(filepath.Join(zoo.Data, "version-2", "snapshot.*")))(t)
	snapshot := testenv.Must(os.ReadFile(files[len(files)-1]))(t)
	// A node is its name, data, ACL, zxids and times, version, and then the number that is written here. Behind all
	// nodes there are a checksum, an end, a digest, a checksum of all that, and an end. Their lengths in bytes are these.
	const name, data, acl, zxidsAndTimes, version, sum, end, digest = 6, 4, 8, 32, 4, 8, 5, 20
	at := bytes.Index(snapshot, []byte("\x00\x00\x00\x02/t")) + name + data + acl + zxidsAndTimes + version
	binary.BigEndian.PutUint32(snapshot[at:], math.MaxInt32-1)
	for _, at := range []int{len(snapshot) - end - sum - digest - end - sum, len(snapshot) - end - sum} {
		binary.BigEndian.PutUint64(snapshot[at:], uint64(adler32.Checksum(snapshot[:at])))
	}
	require.NoError(t, os.WriteFile(files[len(files)-1], snapshot, 0o644))
	zoo.Start(t)
	return tg
}

// A parent whose next number is the largest gives it again and again to creates that come one by one. Creates that are
// under way together get the largest and then negative numbers. None of these creates changes the parent's stat, except
// the number of children; a delete changes it.
func TestSequenceNumbersEndAtTheLargest(t *testing.T) {
	tg := targetBeforeTheLargest(t)
	c := tg.connect()
	const together = 4 // creates in a multi, or under way at once
	var made []string  // the paths of the nodes
	newRequest := func() *jute.CreateRequest {
		c.xid++ // so that the name is another one
		return &jute.CreateRequest{Path: fmt.Sprint(tg.root, "/", c.xid, "n"), ACL: jute.WorldACL(), Flags: jute.FlagSequential}
	}
	reply := func() *jute.Decoder {
		h, d := c.reply()
		require.Equal(t, jute.OK, h.Err)
		return d
	}
	createOne := func() {
		c.write(frame(&jute.RequestHeader{Op: jute.OpCreate}, newRequest()))
		made = append(made, reply().String())
	}
	createInMulti := func() {
		parts := []encoder{&jute.RequestHeader{Op: jute.OpMulti}}
		for range together {
			parts = append(parts, &jute.MultiHeader{Op: jute.OpCreate, Err: -1}, newRequest())
		}
		c.write(frame(append(parts, &jute.EndOfMulti)...))
		d := reply()
		for range together {
			new(jute.MultiHeader).Decode(d)
			made = append(made, d.String())
		}
	}
	createAtOnce := func() {
		var all []byte
		for range together {
			all = append(all, frame(&jute.RequestHeader{Op: jute.OpCreate}, newRequest())...)
		}
		c.write(all)
		for range together {
			made = append(made, reply().String())
		}
	}

	createOne()
	afterFirst := c.stat(tg.root)
	require.Equal(t, c.stat(made[0]).Czxid, afterFirst.Pzxid)
	const largest = "2147483647"
	const again = largest + " -2147483648 -2147483647 -2147483646"
	for _, part := range []struct {
		create func()
		want   string // the numbers of the nodes that it makes
	}{{createOne, largest}, {createOne, largest}, {createInMulti, again}, {createAtOnce, again}, {createOne, largest}} {
		got := ""
		for got != part.want {
			before := len(made)
			part.create()
			var numbers []string
			for _, path := range made[before:] {
				_, number, _ := strings.Cut(path, "n")
				numbers = append(numbers, number)
			}
			got = strings.Join(numbers, " ")
			// A real server may have carried out some of several creates before it reads the others: then they are made again.
			mayDiffer := tg.srv == nil && len(numbers) > 1
			require.True(t, got == part.want || mayDiffer, "%s, not %s", got, part.want)
		}
	}

	want := afterFirst
	want.NumChildren += int32(len(made) - 1)
	want.Cversion -= int32(len(made) - 1) // it is twice the creates, which stay at the largest number, less the children
	require.Equal(t, want, c.stat(tg.root))
	require.Equal(t, jute.OK, c.delete(made[0]))
	require.Equal(t, c.zxid, c.stat(tg.root).Pzxid)
	if tg.srv != nil {
		tg.srv.SetSequence(tg.root, math.MinInt32) // the number after the largest
		createOne()
		require.Contains(t, made[len(made)-1], "n-2147483648")
	}
}
