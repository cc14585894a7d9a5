package zkserver_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"math"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// inBubble runs a test with an embedded server in virtual time.
func inBubble(t *testing.T, f func(tg *target)) {
	embedded(t)
	bubble.Test(t, func(t *testing.T) { f(newTarget(t)) })
}

// on is the condition that a request of a session is of a kind.
func on(c *wire, op jute.Op) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool { return r.Session == c.session.SessionID && r.Op == op }
}

// again takes the client back into its session, on a new connection.
func (c *wire) again(tg *target) (jute.ConnectResponse, error) {
	old := c.session
	*c = *tg.dial()
	return c.handshake(jute.ConnectRequest{TimeoutMs: longest, SessionID: old.SessionID, Password: old.Password})
}

func (tg *target) lives(c *wire) bool {
	return slices.ContainsFunc(tg.srv.Sessions(), func(s zkserver.Session) bool { return s.ID == c.session.SessionID })
}

func TestASessionExpiresWithinATickAfterItsTimeout(t *testing.T) {
	for offset := time.Duration(0); offset < 2*time.Second; offset += 333 * time.Millisecond {
		inBubble(t, func(tg *target) {
			time.Sleep(offset)
			c := tg.dial()
			testenv.Must(c.handshake(jute.ConnectRequest{TimeoutMs: 5000}))(tg)
			require.Equal(tg, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral))
			last := time.Now()
			for tg.lives(c) {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			took := time.Since(last)
			require.Greater(tg, took, 5*time.Second)
			require.LessOrEqual(tg, took, 7*time.Second+time.Millisecond) // a tick is 2 s; it is looked for each ms
			_, there := tg.srv.Node(tg.root + "/e")
			require.False(tg, there)
			c.closes()
		})
	}
}

func TestAnyPacketKeepsASessionAlive(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		for range 20 {
			time.Sleep(39 * time.Second) // a second less than its timeout
			c.eventsNow()                // pings
			time.Sleep(39 * time.Second)
			c.stat("/")
			time.Sleep(39 * time.Second)
			resp := testenv.Must(c.again(tg))(tg)
			require.NotZero(tg, resp.SessionID)
		}
	})
}

func TestACutConnectionKeepsItsSessionAndEphemerals(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		require.Equal(tg, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral))
		require.Equal(tg, jute.OK, c.watch(jute.OpGetData, tg.root))
		id := c.session.SessionID
		require.Equal(tg, jute.OK, c.addWatch(tg.root+"/one", jute.ModePersistent))
		require.Equal(tg, jute.OK, c.addWatch(tg.root+"/two", jute.ModePersistentRecursive))
		require.Equal(tg, []zkserver.Watch{
			{Path: tg.root, Session: id},
			{Path: tg.root + "/one", Session: id, Persistent: true},
			{Path: tg.root + "/one", Session: id, Persistent: true, Children: true},
			{Path: tg.root + "/two", Session: id, Persistent: true, Recursive: true},
			{Path: tg.root + "/two", Session: id, Persistent: true, Recursive: true, Children: true},
		}, tg.srv.Watches())
		require.True(tg, tg.srv.Cut(c.session.SessionID))
		c.closes()
		require.False(tg, tg.srv.Cut(c.session.SessionID), "there is no connection left")
		require.Empty(tg, tg.srv.Watches(), "watches die with their connection")
		sessions := tg.srv.Sessions()
		last := sessions[len(sessions)-1]
		require.Equal(tg, zkserver.Session{ID: c.session.SessionID, Timeout: longest * time.Millisecond, Ephemerals: []string{tg.root + "/e"}}, last)
		time.Sleep(longest*time.Millisecond + 2*time.Second) // and a tick
		synctest.Wait()
		require.False(tg, tg.lives(c))
		require.Empty(tg, tg.srv.Children(tg.root))
	})
}

// TestExpireEndsASessionAtOnce: its nodes go in one transaction, by path.
func TestExpireEndsASessionAtOnce(t *testing.T) {
	for range 5 {
		inBubble(t, func(tg *target) {
			c, watcher := tg.connect(), tg.connect()
			for _, name := range rand.Perm(9) {
				require.Equal(tg, jute.OK, c.create(fmt.Sprintf("%s/%d", tg.root, name), jute.FlagEphemeral))
			}
			require.Equal(tg, jute.OK, watcher.addWatch(tg.root, jute.ModePersistentRecursive))
			before := watcher.seen
			require.True(tg, tg.srv.Expire(c.session.SessionID))
			require.False(tg, tg.srv.Expire(c.session.SessionID))
			var want []event
			for name := range 9 {
				want = append(want, event{jute.EventDeleted, fmt.Sprintf("%s/%d", tg.root, name)})
			}
			require.Equal(tg, want, watcher.eventsNow())
			require.Zero(tg, watcher.stat(tg.root).NumChildren)
			require.Equal(tg, before+1, watcher.seen, "all went in one transaction")
			c.closes()
		})
	}
}

func TestContainersGoOnceUsedAndEmpty(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		for _, name := range []string{"/used", "/unused", "/busy"} {
			code, _ := c.do(jute.OpCreateContainer, &jute.CreateRequest{Path: tg.root + name, Data: []byte{}, ACL: jute.WorldACL(), Flags: jute.FlagContainer})
			require.Equal(tg, jute.OK, code)
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
	embedded(t)
	bubble.Test(t, func(t *testing.T) {
		tg := &target{T: t, srv: zkserver.Run(t, zkserver.WithTTL())}
		c := tg.connect()
		create := func(path string, ttl int64) {
			r := jute.CreateRequest{Path: path, ACL: jute.WorldACL(), Flags: jute.FlagTTL}
			code, _ := c.do(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: r, TTL: ttl})
			require.Equal(t, jute.OK, code)
		}
		create("/idle", 10_000)
		create("/set", 10_000)
		create("/parent", 10_000)
		require.Equal(t, jute.OK, c.create("/parent/child", jute.FlagPersistent))
		n, _ := tg.srv.Node("/idle")
		require.Equal(t, 10*time.Second, n.TTL)
		time.Sleep(10 * time.Second)
		require.Equal(t, jute.OK, c.set("/set", "", -1))
		tg.srv.ReapContainers()
		require.Equal(t, "/idle ttl 10s\n/parent ttl 10s\n/parent/child\n/set ttl 10s\n", tg.srv.Tree(), "its time is not over yet")
		time.Sleep(time.Millisecond)
		tg.srv.ReapContainers()
		require.Equal(t, "/parent ttl 10s\n/parent/child\n/set ttl 10s\n", tg.srv.Tree())
		require.Equal(t, jute.OK, c.delete("/parent/child"))
		watcher := tg.connect()
		require.Equal(t, jute.OK, watcher.watch(jute.OpExists, "/parent"))
		time.Sleep(38 * time.Second)
		require.Equal(t, jute.OK, c.set("/set", "", -1))
		require.Empty(t, watcher.eventsNow())
		time.Sleep(25 * time.Second) // it looks once a minute
		require.Equal(t, []event{{jute.EventDeleted, "/parent"}}, watcher.eventsNow())
		require.Empty(t, tg.srv.Tree())
	})
}

// No other test makes nodes here, so that the whole tree can be counted.
func TestGetAllChildrenNumberOfTheRootAndOfTheEmptyPath(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		for path, want := range map[string]int32{"/": 4, "": 5} { // /zookeeper and two below it, and tg.root; "/" itself
			code, d := c.do(jute.OpGetAllChildrenNumber, pathBody(path))
			require.Equal(tg, jute.OK, code)
			require.Equal(tg, want, d.Int32(), "%q", path)
		}
	})
}

func TestAClientThatNeverReadsIsReadNoFurther(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		code, _ := c.do(jute.OpCreate, &jute.CreateRequest{Path: tg.root + "/x", Data: make([]byte, 1<<19), ACL: jute.WorldACL()})
		require.Equal(tg, jute.OK, code)
		sent := make(chan int)
		go func() {
			n := 0
			for ; n < 1000; n++ {
				if _, err := c.Conn.Write(frame(&jute.RequestHeader{Xid: 1, Op: jute.OpGetData}, &jute.PathWatch{Path: tg.root + "/x"})); err != nil {
					break
				}
			}
			sent <- n
		}()
		require.Less(tg, <-sent, 20, "500 MB of replies are waiting in the server")
		synctest.Wait()
		require.False(tg, tg.lives(c), "its session expires like any that sends no packet")
	})
}

func TestCloseEndsEverything(t *testing.T) {
	embedded(t)
	srv := zkserver.New()
	addr := srv.Addr()
	silent := testenv.Must(net.Dial("tcp", addr))(t)
	defer silent.Close()
	srv.Close()
	srv.Close()
	silent.SetReadDeadline(time.Now().Add(10 * time.Second))
	require.Error(t, testenv.Err(silent.Read(make([]byte, 1))))
	require.ErrorIs(t, testenv.Err(srv.Dial("", "", 0)), zkserver.ErrClosed)
	require.ErrorIs(t, testenv.Err(srv.Listen("127.0.0.1:0")), zkserver.ErrClosed)
	require.Equal(t, addr, srv.Addr())
	srv.Stop()
	require.True(t, srv.Start(), "nobody is there to see it")
}

func TestASilentConnectionIsClosed(t *testing.T) {
	inBubble(t, func(tg *target) {
		start := time.Now()
		tg.dial().closes()
		require.Equal(tg, 10*time.Second, time.Since(start))
	})
}

// lasting is for tests in real time: a busy machine does not end a session.
var lasting = zkserver.WithTick(5 * time.Minute)

// FuzzConn sends any bytes after a good handshake, and as a handshake. The
// server must not panic, and must go on serving others.
func FuzzConn(f *testing.F) {
	for op := range jute.Op(25) {
		f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: op}, &jute.CreateRequest{Path: "/a", Data: []byte("d"), ACL: jute.WorldACL(), Flags: 1}))
		f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: op}, &jute.PathWatch{Path: "/a", Watch: true}))
	}
	f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: jute.OpMulti}, multi{
		{jute.OpCreate, &jute.CreateRequest{Path: "/a", ACL: jute.WorldACL(), Flags: 3}},
		{jute.OpSetData, &jute.SetDataRequest{Path: "/a", Version: -1}},
		{jute.OpDelete, &jute.PathVersion{Path: "/a", Version: 9}},
	}))
	f.Add(true, frame(&jute.RequestHeader{Xid: -8, Op: jute.OpSetWatches}, &jute.SetWatches{Data: []string{"/a"}, Exist: []string{"/b"}, Child: []string{"/"}}))
	f.Add(true, frame(&jute.RequestHeader{Xid: -8, Op: jute.OpSetWatches2}, &jute.SetWatches2{Persistent: []string{"/a"}, Recursive: []string{"/", "x", ""}}))
	f.Add(true, frame(&jute.RequestHeader{Xid: 1, Op: jute.OpAddWatch}, &jute.AddWatch{Path: "/", Mode: 1}))
	f.Add(true, frame(&jute.RequestHeader{Xid: -4, Op: jute.OpAuth}, &jute.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}))
	f.Add(false, frame(&jute.ConnectRequest{TimeoutMs: 1, SessionID: 77}))
	f.Add(false, []byte("srvr"))
	f.Add(false, []byte{0x7f, 0xff, 0xff, 0xff, 0})

	srv := zkserver.New()
	f.Cleanup(srv.Close)
	f.Fuzz(func(t *testing.T, greeted bool, b []byte) {
		tg := &target{T: t, srv: srv}
		bystander := tg.connect()
		c := tg.dial()
		if greeted {
			testenv.Must(c.handshake(jute.ConnectRequest{TimeoutMs: 10_000}))(t)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := c.readFrame(patience); err != nil {
					return
				}
			}
		}()
		c.Conn.Write(b) // fails if the server closes first, which is its right
		require.Equal(t, jute.OK, bystander.create("/bystander", jute.FlagEphemeral))
		require.Equal(t, jute.OK, bystander.delete("/bystander"))
		c.Close()
		<-done
		code, _ := bystander.do(jute.OpCloseSession, raw{})
		require.Equal(t, jute.OK, code)
		if c.session.SessionID != 0 {
			srv.Expire(c.session.SessionID)
		}
	})
}

// nearTheEnd is a target at whose root the next number is the last but one. A real server is one
// of the test's own, which is stopped, and the number is written into its snapshot.
func nearTheEnd(t *testing.T) *target {
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
	zoo.Start(t) // it writes a snapshot, of whose folder the name is the last
	zoo.Stop()
	files := testenv.Must(filepath.Glob(filepath.Join(zoo.Data, "version-2", "snapshot.*")))(t)
	b := testenv.Must(os.ReadFile(files[len(files)-1]))(t)
	const name, data, acl, zxidsAndTimes, version, sum, end, digest = 6, 4, 8, 32, 4, 8, 5, 20
	at := bytes.Index(b, []byte("\x00\x00\x00\x02/t")) + name + data + acl + zxidsAndTimes + version
	binary.BigEndian.PutUint32(b[at:], math.MaxInt32-1)
	for _, at := range []int{len(b) - end - sum - digest - end - sum, len(b) - end - sum} {
		binary.BigEndian.PutUint64(b[at:], uint64(adler32.Checksum(b[:at])))
	}
	require.NoError(t, os.WriteFile(files[len(files)-1], b, 0o644))
	zoo.Start(t)
	return tg
}

// TestSequenceNumbersEndAtTheLargest: creates that are under way together get negative numbers
// behind it. When nothing is under way, the largest comes again. None of these creates shows
// in the parent, except by the number of children; their deletes do.
func TestSequenceNumbersEndAtTheLargest(t *testing.T) {
	tg := nearTheEnd(t)
	c := tg.connect()
	var made []string
	create := func() *jute.CreateRequest {
		c.xid++ // so that the name is another one
		return &jute.CreateRequest{Path: fmt.Sprint(tg.root, "/", c.xid, "n"), ACL: jute.WorldACL(), Flags: jute.FlagSequential}
	}
	reply := func() *jute.Decoder {
		h, d := c.reply()
		require.Equal(t, jute.OK, h.Err)
		return d
	}
	one := func() {
		c.write(frame(&jute.RequestHeader{Op: jute.OpCreate}, create()))
		made = append(made, reply().String())
	}
	inMulti := func() {
		parts := []encoder{&jute.RequestHeader{Op: jute.OpMulti}}
		for range 4 {
			parts = append(parts, &jute.MultiHeader{Op: jute.OpCreate, Err: -1}, create())
		}
		c.write(frame(append(parts, &jute.MultiHeader{Op: -1, Done: true, Err: -1})...))
		d := reply()
		for range 4 {
			new(jute.MultiHeader).Decode(d)
			made = append(made, d.String())
		}
	}
	pipelined := func() {
		var all []byte
		for range 4 {
			all = append(all, frame(&jute.RequestHeader{Op: jute.OpCreate}, create())...)
		}
		c.write(all)
		for range 4 {
			made = append(made, reply().String())
		}
	}

	one()
	full := c.stat(tg.root)
	require.Equal(t, c.stat(made[0]).Czxid, full.Pzxid)
	const largest = "2147483647"
	const again = largest + " -2147483648 -2147483647 -2147483646"
	for _, part := range []struct {
		create func()
		want   string
	}{{one, largest}, {one, largest}, {inMulti, again}, {pipelined, again}, {one, largest}} {
		for got := ""; got != part.want; {
			before := len(made)
			part.create()
			numbers := made[before:]
			for i, path := range numbers {
				_, numbers[i], _ = strings.Cut(path, "n")
			}
			got = strings.Join(numbers, " ")
			if tg.srv != nil || len(numbers) == 1 {
				require.Equal(t, part.want, got)
			} // or some of them have been carried out before the server has read the others
		}
	}

	full.NumChildren += int32(len(made) - 1)
	full.Cversion -= int32(len(made) - 1) // it counts each creation twice, less the children
	require.Equal(t, full, c.stat(tg.root))
	require.Equal(t, jute.OK, c.delete(made[0]))
	require.Equal(t, c.zxid, c.stat(tg.root).Pzxid)
	if tg.srv != nil {
		tg.srv.SetSequence(tg.root, math.MinInt32) // the number after the largest
		one()
		require.Contains(t, made[len(made)-1], "n-2147483648")
	}
}

// opNames are all that a client can send to a 3.8.0 (ZooDefs.OpCode in the Apache source).
var opNames = map[jute.Op]string{
	1: "create", 2: "delete", 3: "exists", 4: "getData", 5: "setData", 6: "getACL", 7: "setACL", 8: "getChildren", 9: "sync",
	11: "ping", 12: "getChildren2", 13: "check", 14: "multi", 15: "create2", 16: "reconfig", 17: "checkWatches",
	18: "removeWatches", 19: "createContainer", 20: "deleteContainer", 21: "createTTL", 22: "multiRead",
	100: "auth", 101: "setWatches", 102: "sasl", 103: "getEphemerals", 104: "getAllChildrenNumber", 105: "setWatches2",
	106: "addWatch", 107: "whoAmI", -10: "createSession", -11: "closeSession",
}

// The package's documentation lists what is not served: here the list is made from
// the answers.
func TestWhatIsNotServedIsDocumented(t *testing.T) {
	inBubble(t, func(tg *target) {
		text := testenv.Must(os.ReadFile("doc.go"))(tg)
		listed := func(after string) []string {
			_, list, ok := strings.Cut(strings.Join(strings.Fields(strings.ReplaceAll(string(text), "\n//", " ")), " "), after)
			require.True(tg, ok, after)
			list, _, _ = strings.Cut(list, ".")
			return strings.Split(list, ", ")
		}
		var not []string
		for op, name := range opNames {
			c := tg.connect()
			c.write(frame(&jute.RequestHeader{Xid: 1, Op: op}))
			if h, _, err := c.read(); err == nil && h.Err == jute.ErrUnimplemented {
				c.closes()
				not = append(not, name)
			}
		}
		slices.Sort(not)
		require.Equal(tg, not, listed("Not served, and answered with -6 and a closed connection: "))

		srv := zkserver.Run(tg, zkserver.WithWords("*"))
		words := strings.Fields("conf cons crst dirs dump envi gtmk hash isro lead mntr ruok srst srvr stat stmk wchc wchp wchs")
		words = slices.DeleteFunc(words, func(word string) bool {
			return !strings.Contains((&target{T: tg.T, srv: srv}).say(word), "not in the whitelist")
		})
		require.Equal(tg, words, listed("Never on the whitelist: "))
	})
}
