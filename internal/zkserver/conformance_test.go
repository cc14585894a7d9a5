package zkserver_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
)

// The tests of this file assert what a real ZooKeeper 3.8.0 does, and run
// against one with ZK=host:port.

func TestHandshake(t *testing.T) {
	tg := newTarget(t)
	password := make([]byte, 16)

	t.Run("answers with readOnly a client that has sent it", func(t *testing.T) {
		for _, has := range []bool{true, false} {
			c := tg.dial()
			c.write(frame(&jute.ConnectRequest{TimeoutMs: 10_000, Password: password, HasReadOnly: has}))
			b, err := c.readFrame()
			require.NoError(t, err)
			require.Len(t, b, map[bool]int{true: 37, false: 36}[has])
		}
	})
	t.Run("clamps the timeout to 2 and 20 ticks", func(t *testing.T) {
		for asked, want := range map[int32]int32{-5: 4000, 0: 4000, 3999: 4000, 10_000: 10_000, 99_999: 40_000} {
			resp, err := tg.dial().handshake(jute.ConnectRequest{TimeoutMs: asked, Password: password})
			require.NoError(t, err)
			require.Equal(t, want, resp.TimeoutMs, "asked for %d", asked)
		}
	})
	t.Run("ignores the password of a new session", func(t *testing.T) {
		resp, err := tg.dial().handshake(jute.ConnectRequest{TimeoutMs: 10_000, Password: []byte("short")})
		require.NoError(t, err)
		require.NotZero(t, resp.SessionID)
		require.Len(t, resp.Password, 16)
	})
	t.Run("takes a client back into its session and closes its old connection", func(t *testing.T) {
		old := tg.connect()
		before := old.session
		back := tg.dial()
		resp, err := back.handshake(jute.ConnectRequest{TimeoutMs: 30_000, SessionID: before.SessionID, Password: before.Password})
		require.NoError(t, err)
		require.Equal(t, before.SessionID, resp.SessionID)
		require.Equal(t, before.Password, resp.Password)
		require.EqualValues(t, 30_000, resp.TimeoutMs)
		old.closes()
		require.Equal(t, jute.OK, back.create(tg.root+"/back", jute.FlagEphemeral))
	})
	t.Run("refuses a wrong password, and kicks out the connection all the same", func(t *testing.T) {
		old := tg.connect()
		intruder := tg.dial()
		resp, err := intruder.handshake(jute.ConnectRequest{TimeoutMs: longest, SessionID: old.session.SessionID, Password: password, HasReadOnly: true})
		require.NoError(t, err)
		require.Equal(t, jute.ConnectResponse{Password: password, HasReadOnly: true}, resp)
		intruder.closes()
		old.closes()
		// The session itself lives.
		resp, err = tg.dial().handshake(jute.ConnectRequest{TimeoutMs: longest, SessionID: old.session.SessionID, Password: old.session.Password})
		require.NoError(t, err)
		require.Equal(t, old.session.SessionID, resp.SessionID)
	})
	t.Run("refuses a session that it does not know", func(t *testing.T) {
		c := tg.dial()
		resp, err := c.handshake(jute.ConnectRequest{TimeoutMs: 5000, SessionID: 12345, Password: password})
		require.NoError(t, err)
		require.Equal(t, jute.ConnectResponse{Password: password}, resp)
		c.closes()
	})
	t.Run("closes on a client that has seen the future", func(t *testing.T) {
		c := tg.dial()
		c.write(frame(&jute.ConnectRequest{TimeoutMs: 5000, LastZxidSeen: 1 << 60, Password: password}))
		c.closes()
	})
}

// set of paths that are wrong in one way each.
func TestOrderOfChecks(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	p := tg.root
	require.Equal(t, jute.OK, c.create(p+"/a", jute.FlagPersistent))
	require.Equal(t, jute.OK, c.create(p+"/a/b", jute.FlagPersistent))
	require.Equal(t, jute.OK, c.create(p+"/e", jute.FlagEphemeral))

	createWith := func(path string, flags int32, acl []jute.ACL, op jute.Op) jute.Code {
		code, _ := c.do(op, &jute.CreateRequest{Path: path, Data: []byte{}, ACL: acl, Flags: flags})
		return code
	}
	world := jute.WorldACL()
	for _, tc := range []struct {
		what  string
		path  string
		flags int32
		acl   []jute.ACL
		want  jute.Code
	}{
		{"flags come before everything", "no slash", 7, nil, jute.ErrBadArguments},
		{"negative flags", p + "/x", -1, world, jute.ErrBadArguments},
		{"TTL flags", p + "/x", jute.FlagTTL, world, jute.ErrUnimplemented},
		{"a slash is looked for before the ACL", "no slash", 0, nil, jute.ErrBadArguments},
		{"a NUL is looked for before the ACL", p + "/\x00", 0, nil, jute.ErrBadArguments},
		{"the ACL comes before the parent", p + "/no/x", 0, nil, jute.ErrInvalidACL},
		{"the parent comes before the whole path", p + "//x", 0, world, jute.ErrNoNode},
		{"the whole path comes before what exists", p + "/a/", 0, world, jute.ErrBadArguments},
		{"relative path", p + "/a/..", 0, world, jute.ErrBadArguments},
		{"relative path", p + "/.", 0, world, jute.ErrBadArguments},
		{"control character", p + "/\x01", 0, world, jute.ErrBadArguments},
		{"not UTF-8", p + "/\xff", 0, world, jute.ErrBadArguments},
		{"outside of the basic plane", p + "/\U0001F600", 0, world, jute.ErrBadArguments},
		{"exists", p + "/a", 0, world, jute.ErrNodeExists},
		{"the root exists", "/", 0, world, jute.ErrNodeExists},
		{"the empty path", "", 0, world, jute.ErrBadArguments},
		{"under an ephemeral node", p + "/e/x", 0, world, jute.ErrNoChildrenForEphemeral},
		{"a slash at the end is fine with a number behind it", p + "/a/", jute.FlagSequential, world, jute.OK},
		{"Chinese", p + "/锁", 0, world, jute.OK},
		{"dots that are not relative path", p + "/...", 0, world, jute.OK},
	} {
		require.Equal(t, tc.want, createWith(tc.path, tc.flags, tc.acl, jute.OpCreate), "create: %s", tc.what)
		if tc.want != jute.OK && tc.flags == 0 {
			require.Equal(t, tc.want, createWith(tc.path, tc.flags, tc.acl, jute.OpCreateContainer), "createContainer: %s", tc.what)
		}
	}

	delete := func(path string, version int32) jute.Code {
		code, _ := c.do(jute.OpDelete, &jute.PathVersion{Path: path, Version: version})
		return code
	}
	require.Equal(t, jute.ErrBadVersion, delete(p+"/a", 7), "the version comes before the children")
	require.Equal(t, jute.ErrNotEmpty, delete(p+"/a", 0))
	require.Equal(t, jute.ErrNoNode, delete(p+"/a/no", -1))
	require.Equal(t, jute.ErrNoNode, delete(p+"/no/no", -1))
	for _, special := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", "", "x"} {
		require.Equal(t, jute.ErrBadArguments, delete(special, -1), "delete %q", special)
	}
	code, _ := c.do(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: jute.CreateRequest{Path: p + "/ttl", ACL: world}, TTL: 5})
	require.Equal(t, jute.ErrBadArguments, code, "a time to live without the flag")
	code, _ = c.do(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: jute.CreateRequest{Path: p + "/ttl", ACL: world, Flags: jute.FlagTTL}, TTL: 5})
	require.Equal(t, jute.ErrUnimplemented, code)
	require.Equal(t, jute.ErrBadArguments, c.set(p+"/a/", "", -1), "an invalid path fails a write")
	require.Equal(t, jute.ErrBadVersion, c.set(p+"/a", "", 1))
	require.Equal(t, jute.ErrNoNode, c.set(p+"/no", "", -1))
	for _, op := range []jute.Op{jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2} {
		code, _ := c.do(op, &jute.PathWatch{Path: p + "/a/"})
		require.Equal(t, jute.ErrNoNode, code, "a read of an invalid path, %v", op)
	}
	code, _ = c.do(jute.OpExists, &jute.PathWatch{Path: p + "/\x00"})
	require.Equal(t, jute.ErrBadArguments, code)
	code, _ = c.do(jute.OpGetData, &jute.PathWatch{Path: ""})
	require.Equal(t, jute.OK, code, "the empty path reads the root")
}

func TestStat(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	p := tg.root + "/n"
	require.Equal(t, jute.OK, c.create(p, jute.FlagPersistent))
	made := c.zxid
	s := c.stat(p)
	require.Equal(t, jute.Stat{Czxid: made, Mzxid: made, Pzxid: made, Ctime: s.Ctime, Mtime: s.Ctime}, s)

	require.Equal(t, jute.OK, c.set(p, "four", -1))
	changed := c.zxid
	s = c.stat(p)
	require.Equal(t, []int64{made, changed, made, 1, 0, 0, 4}, []int64{s.Czxid, s.Mzxid, s.Pzxid, int64(s.Version), int64(s.Cversion), int64(s.Aversion), int64(s.DataLength)})

	code, _ := c.do(jute.OpSetACL, &jute.SetACLRequest{Path: p, ACL: jute.WorldACL(), Version: 0})
	require.Equal(t, jute.OK, code)
	s = c.stat(p)
	require.EqualValues(t, 1, s.Aversion)
	require.Equal(t, changed, s.Mzxid, "setACL changes aversion alone")

	for i := range 3 {
		require.Equal(t, jute.OK, c.create(fmt.Sprintf("%s/%d", p, i), jute.FlagPersistent))
	}
	require.Equal(t, jute.OK, c.delete(p+"/1"))
	s = c.stat(p)
	require.EqualValues(t, 4, s.Cversion, "three were made, one deleted")
	require.EqualValues(t, 2, s.NumChildren)
	require.Equal(t, c.zxid, s.Pzxid)
	require.Equal(t, changed, s.Mzxid)
	before := c.zxid
	require.Equal(t, jute.ErrNodeExists, c.create(p+"/0", jute.FlagPersistent))
	require.Greater(t, c.zxid, before, "a write that fails uses up a zxid")
	require.Equal(t, s, c.stat(p), "and changes nothing else")

	require.Equal(t, jute.OK, c.create(p+"/e", jute.FlagEphemeral))
	require.Equal(t, c.session.SessionID, c.stat(p+"/e").EphemeralOwner)
}

func TestCreate2AndContainersAnswerWithAStat(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	for _, tc := range []struct {
		op    jute.Op
		flags int32
		owned bool
		path  string
	}{
		{jute.OpCreate2, jute.FlagEphemeralSequential, true, tg.root + "/x0000000000"},
		{jute.OpCreateContainer, jute.FlagContainer, false, tg.root + "/x"},
		{jute.OpCreateContainer, jute.FlagEphemeralSequential, false, tg.root + "/x0000000002"},
	} {
		code, d := c.do(tc.op, &jute.CreateRequest{Path: tg.root + "/x", Data: []byte("data"), ACL: jute.WorldACL(), Flags: tc.flags})
		require.Equal(t, jute.OK, code)
		require.Equal(t, tc.path, d.String())
		var s jute.Stat
		s.Decode(d)
		require.NoError(t, d.Err())
		require.Zero(t, d.Len())
		require.EqualValues(t, 4, s.DataLength)
		require.Equal(t, tc.owned, s.EphemeralOwner == c.session.SessionID)
	}
}

func TestSequenceNumbersCountTheChildrenEverMade(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	next := func() string {
		code, d := c.do(jute.OpCreate, &jute.CreateRequest{Path: tg.root + "/q/n-", Data: []byte{}, ACL: jute.WorldACL(), Flags: jute.FlagEphemeralSequential})
		require.Equal(t, jute.OK, code)
		return d.String()[len(tg.root):]
	}
	require.Equal(t, jute.OK, c.create(tg.root+"/q", jute.FlagPersistent))
	require.Equal(t, "/q/n-0000000000", next())
	require.Equal(t, jute.OK, c.create(tg.root+"/q/plain", jute.FlagPersistent))
	require.Equal(t, "/q/n-0000000002", next(), "a child without a number counts")
	require.Equal(t, jute.ErrNodeExists, c.create(tg.root+"/q/plain", jute.FlagPersistent))
	require.Equal(t, jute.OK, c.create(tg.root+"/q/plain/grandchild", jute.FlagPersistent))
	require.Equal(t, "/q/n-0000000003", next(), "failures and grandchildren do not")
	c.do(jute.OpMulti, multi{
		{jute.OpCreate, &jute.CreateRequest{Path: tg.root + "/q/m", ACL: jute.WorldACL()}},
		{jute.OpCheck, &jute.PathVersion{Path: tg.root + "/q", Version: 99}},
	})
	require.Equal(t, "/q/n-0000000004", next(), "nor does a multi that fails")
	require.Equal(t, jute.OK, c.delete(tg.root+"/q/plain/grandchild"))
	for _, child := range c.children(tg.root + "/q") {
		require.Equal(t, jute.OK, c.delete(tg.root+"/q/"+child))
	}
	require.Equal(t, "/q/n-0000000005", next(), "an empty queue counts on")
	require.Equal(t, jute.OK, c.delete(tg.root+"/q/n-0000000005"))
	require.Equal(t, jute.OK, c.delete(tg.root+"/q"))
	require.Equal(t, jute.OK, c.create(tg.root+"/q", jute.FlagPersistent))
	require.Equal(t, "/q/n-0000000000", next(), "a new parent counts from 0 again")
}

func TestNullAndEmptyDataStayApart(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	for i, data := range [][]byte{nil, {}, []byte("x")} {
		p := fmt.Sprintf("%s/%d", tg.root, i)
		code, _ := c.do(jute.OpCreate, &jute.CreateRequest{Path: p, Data: data, ACL: jute.WorldACL()})
		require.Equal(t, jute.OK, code)
		_, d := c.do(jute.OpGetData, &jute.PathWatch{Path: p})
		require.Equal(t, data, d.Buffer())
	}
}

func TestWatches(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	created, deleted, changed, children := jute.EventCreated, jute.EventDeleted, jute.EventDataChanged, jute.EventChildrenChanged

	require.Equal(t, jute.ErrNoNode, watcher.watch(jute.OpGetData, p))
	require.Equal(t, jute.ErrNoNode, watcher.watch(jute.OpGetChildren, p))
	require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
	require.Empty(t, watcher.eventsNow(), "a read that finds nothing leaves no watch")
	require.Equal(t, jute.OK, writer.delete(p))

	require.Equal(t, jute.ErrNoNode, watcher.watch(jute.OpExists, p))
	require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
	require.Equal(t, []event{{created, p}}, watcher.eventsNow(), "exists leaves one")
	require.Equal(t, jute.OK, writer.set(p, "", -1))
	require.Empty(t, watcher.eventsNow(), "a watch fires once")

	for _, op := range []jute.Op{jute.OpGetData, jute.OpExists, jute.OpGetData} {
		require.Equal(t, jute.OK, watcher.watch(op, p))
	}
	require.Equal(t, jute.OK, writer.set(p, "", -1))
	require.Equal(t, []event{{changed, p}}, watcher.eventsNow(), "three watches of one connection, one event")

	require.Equal(t, jute.OK, watcher.watch(jute.OpGetChildren2, p))
	require.Equal(t, jute.OK, watcher.watch(jute.OpGetData, p))
	require.Equal(t, jute.OK, writer.create(p+"/c", jute.FlagPersistent))
	require.Equal(t, []event{{children, p}}, watcher.eventsNow())
	require.Equal(t, jute.OK, watcher.watch(jute.OpGetChildren, p))
	require.Equal(t, jute.OK, watcher.watch(jute.OpGetChildren, p+"/c"))
	require.Equal(t, jute.OK, watcher.watch(jute.OpGetData, p+"/c"))
	require.Equal(t, jute.OK, writer.delete(p+"/c"))
	require.Equal(t, []event{{deleted, p + "/c"}, {children, p}}, watcher.eventsNow(),
		"a client that watches a node's data and children is told once that it has gone, then the parent's watchers are")

	require.Equal(t, jute.OK, watcher.watch(jute.OpGetChildren, p))
	code, _ := writer.do(jute.OpSetACL, &jute.SetACLRequest{Path: p, ACL: jute.WorldACL(), Version: -1})
	require.Equal(t, jute.OK, code)
	writer.do(jute.OpMulti, multi{
		{jute.OpSetData, &jute.SetDataRequest{Path: p, Version: -1}},
		{jute.OpDelete, &jute.PathVersion{Path: p + "/no", Version: -1}},
	})
	require.Empty(t, watcher.eventsNow(), "setACL and a multi that fails fire nothing")
	require.Equal(t, jute.OK, writer.delete(p))
	require.Equal(t, []event{{deleted, p}}, watcher.eventsNow())

	require.Equal(t, jute.ErrNoNode, watcher.watch(jute.OpExists, p))
	require.Equal(t, jute.OK, watcher.create(p, jute.FlagPersistent))
	require.Equal(t, []event{{created, p}}, watcher.events, "one's own event comes before the reply")
}

func TestAWriteIsToldBeforeItCanBeRead(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
	for i := range 20 {
		require.Equal(t, jute.OK, watcher.watch(jute.OpGetData, p))
		writer.write(frame(&jute.RequestHeader{Xid: int32(i), Op: jute.OpSetData}, &jute.SetDataRequest{Path: p, Data: []byte{byte(i)}, Version: -1}))
		for told := false; ; {
			_, d := watcher.do(jute.OpGetData, &jute.PathWatch{Path: p})
			told = told || len(watcher.events) > 0
			if data := d.Buffer(); len(data) == 1 && data[0] == byte(i) {
				require.True(t, told, "the change can be read, and the event has not come")
				break
			}
		}
		_, _, err := writer.read()
		require.NoError(t, err)
	}
}

func TestSetWatchesTellsWhatWasMissed(t *testing.T) {
	tg := newTarget(t)
	c, writer := tg.connect(), tg.connect()
	p := tg.root
	for _, name := range []string{"/gone", "/changed", "/same", "/children"} {
		require.Equal(t, jute.OK, writer.create(p+name, jute.FlagPersistent))
	}
	c.stat(p)
	seen := c.seen
	require.Equal(t, jute.OK, writer.delete(p+"/gone"))
	require.Equal(t, jute.OK, writer.set(p+"/changed", "", -1))
	require.Equal(t, jute.OK, writer.create(p+"/came", jute.FlagPersistent))
	require.Equal(t, jute.OK, writer.create(p+"/children/x", jute.FlagPersistent))
	c.xid = 41 // not -8: go-zookeeper numbers this request like others
	code, _ := c.do(jute.OpSetWatches, &jute.SetWatches{
		RelativeZxid: seen,
		Data:         []string{p + "/gone", p + "/changed", p + "/same"},
		Exist:        []string{p + "/came", p + "/never"},
		Child:        []string{p + "/children", p + "/gone", p + "/same"},
	})
	require.Equal(t, jute.OK, code)
	require.Equal(t, []event{
		{jute.EventDeleted, p + "/gone"}, {jute.EventDataChanged, p + "/changed"},
		{jute.EventCreated, p + "/came"},
		{jute.EventChildrenChanged, p + "/children"}, {jute.EventDeleted, p + "/gone"},
	}, c.events, "before the reply")
	require.Equal(t, jute.OK, writer.create(p+"/never", jute.FlagPersistent))
	require.Equal(t, jute.OK, writer.create(p+"/same/x", jute.FlagPersistent))
	require.Equal(t, jute.OK, writer.set(p+"/same", "", -1))
	require.Equal(t, []event{{jute.EventCreated, p + "/never"}, {jute.EventChildrenChanged, p + "/same"}, {jute.EventDataChanged, p + "/same"}}, c.eventsNow(), "the rest is armed")
}

func TestCheckAndRemoveWatches(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	ask := func(op jute.Op, typ int32) jute.Code {
		code, _ := c.do(op, &jute.PathType{Path: tg.root, Type: typ})
		return code
	}
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherAny))
	require.Equal(t, jute.OK, c.watch(jute.OpGetData, tg.root))
	require.Equal(t, jute.OK, ask(jute.OpCheckWatches, jute.WatcherAny))
	require.Equal(t, jute.OK, ask(jute.OpCheckWatches, jute.WatcherData))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherChildren))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherChildren))
	require.Equal(t, jute.OK, ask(jute.OpRemoveWatches, jute.WatcherAny))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherAny))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherAny))
	other := tg.connect()
	require.Equal(t, jute.OK, other.watch(jute.OpGetChildren, tg.root))
	require.Equal(t, jute.OK, ask(jute.OpCheckWatches, jute.WatcherChildren), "anybody's watch will do")
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherChildren))
	require.Equal(t, jute.OK, other.set(tg.root, "", -1))
	require.Equal(t, jute.OK, c.set(tg.root, "", -1))
	require.Empty(t, c.events)
	require.Equal(t, jute.ErrMarshalling, ask(jute.OpCheckWatches, 9))
}

func (c *wire) addWatch(path string, mode int32) jute.Code {
	c.t.Helper()
	code, d := c.do(jute.OpAddWatch, &jute.AddWatch{Path: path, Mode: mode})
	if code == jute.OK {
		require.Zero(c.t, d.Int32())
		require.NoError(c.t, d.Err())
		require.Zero(c.t, d.Len())
	}
	return code
}

func TestAPersistentWatchTellsEveryChangeOfItsNodeAndItsChildren(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistent), "on a node that is not there yet")
	for range 2 {
		require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.set(p, "", -1))
		require.Equal(t, jute.OK, writer.create(p+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.set(p+"/c", "", -1))
		require.Equal(t, jute.OK, writer.delete(p+"/c"))
		require.Equal(t, jute.OK, writer.delete(p))
		require.Equal(t, []event{
			{jute.EventCreated, p}, {jute.EventDataChanged, p},
			{jute.EventChildrenChanged, p}, {jute.EventChildrenChanged, p},
			{jute.EventDeleted, p},
		}, watcher.eventsNow())
	}
}

func TestARecursiveWatchTellsEveryChangeOfANodeBelow(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistentRecursive))
	require.Equal(t, jute.OK, watcher.addWatch(tg.root, jute.ModePersistentRecursive), "two watches that cover a node, one event")
	require.Equal(t, jute.OK, writer.create(p+"x", jute.FlagPersistent), "a neighbour whose name begins alike")
	require.Equal(t, []event{{jute.EventCreated, p + "x"}}, watcher.eventsNow(), "from the watch of the parent")
	for range 2 {
		require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.create(p+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.create(p+"/c/d", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.set(p+"/c/d", "", -1))
		require.Equal(t, jute.OK, writer.delete(p+"/c/d"))
		require.Equal(t, jute.OK, writer.delete(p+"/c"))
		require.Equal(t, jute.OK, writer.delete(p))
		require.Equal(t, []event{
			{jute.EventCreated, p}, {jute.EventCreated, p + "/c"}, {jute.EventCreated, p + "/c/d"},
			{jute.EventDataChanged, p + "/c/d"},
			{jute.EventDeleted, p + "/c/d"}, {jute.EventDeleted, p + "/c"}, {jute.EventDeleted, p},
		}, watcher.eventsNow(), "no change of a list of children")
	}
	root := tg.connect()
	require.Equal(t, jute.OK, root.addWatch("/", jute.ModePersistentRecursive))
	require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
	require.Contains(t, root.eventsNow(), event{jute.EventCreated, p}, "everything lies below the root")
}

func TestTheLastWatchOnAPathSaysHowLongItLasts(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root
	created, children := event{jute.EventCreated, p + "/c"}, event{jute.EventChildrenChanged, p}
	change := func() []event {
		require.Equal(t, jute.OK, writer.create(p+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.delete(p+"/c"))
		return watcher.eventsNow()
	}
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistentRecursive))
	require.Equal(t, []event{created, {jute.EventDeleted, p + "/c"}}, change())
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistent))
	require.Equal(t, []event{children, children}, change())
	require.Equal(t, jute.OK, watcher.watch(jute.OpGetChildren, p))
	require.Equal(t, []event{children}, change(), "a read with a watch makes it one-shot")
	require.Equal(t, jute.OK, writer.set(p, "", -1))
	require.Equal(t, jute.OK, writer.set(p, "", -1))
	require.Len(t, watcher.eventsNow(), 2, "but not the half of it that is about the node")
}

func TestRemoveWatchesEndsWatchesOfEveryKind(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	ask := func(op jute.Op, typ int32) jute.Code {
		code, _ := watcher.do(op, &jute.PathType{Path: tg.root, Type: typ})
		return code
	}
	change := func() []event {
		require.Equal(t, jute.OK, writer.set(tg.root, "", -1))
		require.Equal(t, jute.OK, writer.create(tg.root+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.delete(tg.root+"/c"))
		return watcher.eventsNow()
	}
	for _, mode := range []int32{jute.ModePersistent, jute.ModePersistentRecursive} {
		require.Equal(t, jute.OK, watcher.addWatch(tg.root, mode))
		require.Len(t, change(), 3)
		for _, typ := range []int32{jute.WatcherAny, jute.WatcherData, jute.WatcherChildren} {
			require.Equal(t, jute.OK, ask(jute.OpCheckWatches, typ))
		}
		require.Equal(t, jute.OK, ask(jute.OpRemoveWatches, jute.WatcherAny))
		require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherAny))
		require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherAny))
		require.Empty(t, change())
	}
	require.Equal(t, jute.OK, watcher.addWatch(tg.root, jute.ModePersistent))
	require.Equal(t, jute.OK, ask(jute.OpRemoveWatches, jute.WatcherData))
	require.Equal(t, []event{{jute.EventChildrenChanged, tg.root}, {jute.EventChildrenChanged, tg.root}}, change(), "the half that is about the children")
	require.Equal(t, jute.ErrMarshalling, watcher.addWatch(tg.root, 2))
	require.Equal(t, jute.ErrMarshalling, watcher.addWatch(tg.root, -1))
}

func TestSetWatches2ArmsWatchesOfEveryKind(t *testing.T) {
	tg := newTarget(t)
	c, writer := tg.connect(), tg.connect()
	p := tg.root
	for _, name := range []string{"/gone", "/one", "/all"} {
		require.Equal(t, jute.OK, writer.create(p+name, jute.FlagPersistent))
	}
	before := writer.zxid
	require.Equal(t, jute.OK, writer.delete(p+"/gone"))
	require.Equal(t, jute.OK, writer.set(p+"/one", "", -1))
	require.Equal(t, jute.OK, writer.set(p+"/all", "", -1))
	code, d := c.do(jute.OpSetWatches2, &jute.SetWatches2{
		SetWatches: jute.SetWatches{RelativeZxid: before, Data: []string{p + "/gone"}},
		Persistent: []string{p + "/one"}, Recursive: []string{p + "/all"},
	})
	require.Equal(t, jute.OK, code)
	require.Zero(t, d.Len())
	require.Equal(t, []event{{jute.EventDeleted, p + "/gone"}}, c.events, "a persistent watch is told nothing that it missed")
	for range 2 {
		require.Equal(t, jute.OK, writer.set(p+"/one", "", -1))
		require.Equal(t, jute.OK, writer.create(p+"/all/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.delete(p+"/all/c"))
		require.Equal(t, []event{
			{jute.EventDataChanged, p + "/one"}, {jute.EventCreated, p + "/all/c"}, {jute.EventDeleted, p + "/all/c"},
		}, c.eventsNow())
	}
}

func TestWatchesOfANullListAreMarshallingErrors(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	for op, lists := range map[jute.Op]int{jute.OpSetWatches: 3, jute.OpSetWatches2: 5} {
		for null := range lists {
			body := make(raw, 8) // the zxid
			for i := range lists {
				if i == null {
					body = append(body, 0xff, 0xff, 0xff, 0xff)
				} else {
					body = append(body, 0, 0, 0, 0)
				}
			}
			code, _ := c.do(op, body)
			require.Equal(t, jute.ErrMarshalling, code, "%v, list %d", op, null)
		}
	}
}

// A multi is the body of a multi request.
type multi []struct {
	op   jute.Op
	body encoder
}

func (m multi) Encode(e *jute.Encoder) {
	for _, part := range m {
		(&jute.MultiHeader{Op: part.op, Err: -1}).Encode(e)
		part.body.Encode(e)
	}
	(&jute.MultiHeader{Op: -1, Done: true, Err: -1}).Encode(e)
}

func TestMulti(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	p := tg.root
	header := func(d *jute.Decoder) (h jute.MultiHeader) { h.Decode(d); return h }
	end := jute.MultiHeader{Op: -1, Done: true, Err: -1}

	code, d := c.do(jute.OpMulti, multi{
		{jute.OpCreate, &jute.CreateRequest{Path: p + "/m-", Data: []byte{}, ACL: jute.WorldACL(), Flags: jute.FlagSequential}},
		{jute.OpCreate2, &jute.CreateRequest{Path: p + "/m2", Data: []byte{}, ACL: jute.WorldACL()}},
		{jute.OpCheck, &jute.PathVersion{Path: p + "/m2", Version: 0}},
		{jute.OpSetData, &jute.SetDataRequest{Path: p + "/m2", Data: []byte("x"), Version: 0}},
		{jute.OpDelete, &jute.PathVersion{Path: p + "/m2", Version: 1}},
	})
	require.Equal(t, jute.OK, code)
	require.Equal(t, jute.MultiHeader{Op: jute.OpCreate}, header(d))
	require.Equal(t, p+"/m-0000000000", d.String())
	require.Equal(t, jute.MultiHeader{Op: jute.OpCreate}, header(d), "create2 is answered as create")
	require.Equal(t, p+"/m2", d.String())
	require.Equal(t, jute.MultiHeader{Op: jute.OpCheck}, header(d))
	require.Equal(t, jute.MultiHeader{Op: jute.OpSetData}, header(d))
	var s jute.Stat
	s.Decode(d)
	require.Equal(t, c.zxid, s.Mzxid)
	require.Equal(t, c.zxid, s.Czxid, "all share one zxid")
	require.Equal(t, jute.MultiHeader{Op: jute.OpDelete}, header(d))
	require.Equal(t, end, header(d))
	require.Zero(t, d.Len())
	require.Equal(t, []string{"m-0000000000"}, c.children(p))

	before := c.stat(p)
	code, d = c.do(jute.OpMulti, multi{
		{jute.OpDelete, &jute.PathVersion{Path: p + "/m-0000000000", Version: -1}},
		{jute.OpCreate, &jute.CreateRequest{Path: p + "/m3", ACL: jute.WorldACL(), Flags: jute.FlagEphemeral}},
		{jute.OpSetData, &jute.SetDataRequest{Path: p, Data: []byte("x"), Version: -1}},
		{jute.OpCheck, &jute.PathVersion{Path: p, Version: 77}},
		{jute.OpDelete, &jute.PathVersion{Path: p + "/m3", Version: -1}},
	})
	require.Equal(t, jute.OK, code, "the header does not tell")
	for _, want := range []jute.Code{jute.OK, jute.OK, jute.OK, jute.ErrBadVersion, jute.ErrRuntimeInconsistency} {
		require.Equal(t, jute.MultiHeader{Op: jute.OpError, Err: want}, header(d))
		require.Equal(t, int32(want), d.Int32())
	}
	require.Equal(t, end, header(d))
	require.Equal(t, before, c.stat(p), "nothing has changed")
	require.Equal(t, []string{"m-0000000000"}, c.children(p))

	// A failing create alone in its parent, and a deleted ephemeral that must
	// come back as its owner's.
	require.Equal(t, jute.OK, c.create(p+"/e", jute.FlagEphemeral))
	before = c.stat(p)
	ephemeral := c.stat(p + "/e")
	c.do(jute.OpMulti, multi{
		{jute.OpCreate, &jute.CreateRequest{Path: p + "/m4", ACL: jute.WorldACL(), Flags: jute.FlagSequential}},
		{jute.OpCheck, &jute.PathVersion{Path: p, Version: 77}},
	})
	require.Equal(t, before, c.stat(p))
	c.do(jute.OpMulti, multi{
		{jute.OpDelete, &jute.PathVersion{Path: p + "/e", Version: -1}},
		{jute.OpCheck, &jute.PathVersion{Path: p, Version: 77}},
	})
	require.Equal(t, before, c.stat(p))
	require.Equal(t, ephemeral, c.stat(p+"/e"))
	c.do(jute.OpCloseSession, none{})
	c = tg.connect()
	require.Equal(t, []string{"m-0000000000"}, c.children(p), "the ephemeral went with its session")

	code, d = c.do(jute.OpMulti, multi{
		{jute.OpCreate, &jute.CreateRequest{Path: p + "/c", Data: []byte("xyz"), ACL: jute.WorldACL(), Flags: jute.FlagContainer}},
		{jute.OpCreateContainer, &jute.CreateRequest{Path: p + "/c2", Data: []byte{}, ACL: jute.WorldACL()}},
	})
	require.Equal(t, jute.OK, code)
	require.Equal(t, jute.MultiHeader{Op: jute.OpCreate2}, header(d), "the flag makes a container, and a container answers with its stat")
	require.Equal(t, p+"/c", d.String())
	s.Decode(d)
	require.EqualValues(t, 3, s.DataLength)
	require.Equal(t, jute.MultiHeader{Op: jute.OpCreate}, header(d), "without the flag it is a plain node")
	require.Equal(t, p+"/c2", d.String())
	require.Equal(t, end, header(d))
	code, _ = c.do(jute.OpMulti, multi{{jute.OpCreate, &jute.CreateRequest{Path: p + "/ttl", ACL: jute.WorldACL(), Flags: jute.FlagTTL}}})
	require.Equal(t, jute.ErrMarshalling, code)

	code, d = c.do(jute.OpMulti, multi{})
	require.Equal(t, jute.OK, code)
	require.Equal(t, end, header(d))
	code, _ = c.do(jute.OpMulti, multi{{99, none{}}})
	require.Equal(t, jute.ErrMarshalling, code)
	code, _ = c.do(jute.OpMulti, multi{{jute.OpGetData, &jute.PathWatch{Path: p}}})
	require.Equal(t, jute.ErrMarshalling, code)
}

func TestMalformedBodiesAreMarshallingErrors(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	for _, op := range []jute.Op{jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete, jute.OpExists, jute.OpGetData,
		jute.OpSetData, jute.OpGetACL, jute.OpSetACL, jute.OpGetChildren, jute.OpGetChildren2, jute.OpMulti, jute.OpSetWatches, jute.OpSetWatches2, jute.OpAddWatch, jute.OpSync,
		jute.OpGetAllChildrenNumber, jute.OpGetEphemerals} {
		for _, body := range []raw{{}, {0, 0, 0, 9, '/'}, {0xff, 0xff, 0xff, 0xf0}, {0x7f, 0xff, 0xff, 0xff}} {
			code, _ := c.do(op, body)
			require.Equal(t, jute.ErrMarshalling, code, "%v % x", op, body)
		}
	}
	code, _ := c.do(jute.OpExists, raw("\x00\x00\x00\x01/\x02junk behind it"))
	require.Equal(t, jute.OK, code, "what is too much is ignored")
}

func TestPacketsThatCloseTheConnection(t *testing.T) {
	tg := newTarget(t)
	bystander := tg.connect()
	require.Equal(t, jute.OK, bystander.create(tg.root+"/bystander", jute.FlagEphemeral))

	for name, b := range map[string][]byte{
		"no room for a header": {0, 0, 0, 3, 1, 2, 3},
		"empty":                {0, 0, 0, 0},
		"negative length":      {0xff, 0xff, 0xff, 0xff},
		"huge length":          {0x7f, 0xff, 0xff, 0xff},
		"truncated auth":       frame(&jute.RequestHeader{Xid: -4, Op: jute.OpAuth}, raw{0, 0, 0, 0, 0, 0, 0, 99}),
	} {
		c := tg.connect()
		require.Equal(t, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral), name)
		c.write(b)
		c.closes()
		// The session lives on.
		back := tg.dial()
		resp, err := back.handshake(jute.ConnectRequest{TimeoutMs: longest, SessionID: c.session.SessionID, Password: c.session.Password})
		require.NoError(t, err, name)
		require.Equal(t, c.session.SessionID, resp.SessionID, name)
		require.Equal(t, jute.OK, back.delete(tg.root+"/e"), name)
	}
	for name, b := range map[string][]byte{
		"a handshake that is too short": {0, 0, 0, 5, 'a', 'b', 'c', 'd', 'e'},
		"garbage":                       []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		c := tg.dial()
		c.write(b)
		t.Log(name)
		c.closes()
	}
	for _, op := range []jute.Op{999, -1} {
		c := tg.connect()
		c.write(frame(&jute.RequestHeader{Xid: 5, Op: op}))
		h, _, err := c.read()
		require.NoError(t, err)
		require.Equal(t, jute.ReplyHeader{Xid: 5, Zxid: -1, Err: jute.ErrUnimplemented}, h)
		c.closes()
	}
	require.Equal(t, jute.OK, bystander.delete(tg.root+"/bystander"), "others notice nothing")
}

func TestTheLargestPacket(t *testing.T) {
	tg := newTarget(t)
	body := func(frameLen int) []byte {
		b := frame(&jute.RequestHeader{Xid: 1, Op: jute.OpCreate}, &jute.CreateRequest{Path: tg.root + "/large", Data: []byte{}, ACL: jute.WorldACL()})
		data := bytes.Repeat([]byte("x"), frameLen-(len(b)-4))
		return frame(&jute.RequestHeader{Xid: 1, Op: jute.OpCreate}, &jute.CreateRequest{Path: tg.root + "/large", Data: data, ACL: jute.WorldACL()})
	}
	c := tg.connect()
	c.write(body(1_048_575))
	h, _, err := c.read()
	require.NoError(t, err)
	require.Equal(t, jute.OK, h.Err)
	_, d := c.do(jute.OpGetData, &jute.PathWatch{Path: tg.root + "/large"})
	require.Greater(t, len(d.Buffer()), 1_048_000)
	c.write(body(1_048_576))
	c.closes()
}

func TestCloseSession(t *testing.T) {
	tg := newTarget(t)
	c, other := tg.connect(), tg.connect()
	for _, name := range []string{"/a", "/b"} {
		require.Equal(t, jute.OK, c.create(tg.root+name, jute.FlagEphemeral))
		require.Equal(t, jute.OK, other.watch(jute.OpExists, tg.root+name))
	}
	code, _ := c.do(jute.OpCloseSession, none{})
	require.Equal(t, jute.OK, code)
	c.closes()
	events := other.eventsNow()
	slices.SortFunc(events, func(a, b event) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	require.Equal(t, []event{{jute.EventDeleted, tg.root + "/a"}, {jute.EventDeleted, tg.root + "/b"}}, events)
	s := other.stat(tg.root)
	require.Zero(t, s.NumChildren)
	require.Equal(t, c.zxid, s.Pzxid, "all ephemerals go in the transaction that ends the session")
	resp, err := tg.dial().handshake(jute.ConnectRequest{TimeoutMs: 4000, SessionID: c.session.SessionID, Password: c.session.Password})
	require.NoError(t, err)
	require.Zero(t, resp.SessionID)
}

func TestACLs(t *testing.T) {
	tg := newTarget(t)
	owner, stranger := tg.connect(), tg.connect()
	p := tg.root + "/private"
	secret := []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}
	create := func(c *wire, path string, acl []jute.ACL) jute.Code {
		code, _ := c.do(jute.OpCreate, &jute.CreateRequest{Path: path, Data: []byte{}, ACL: acl})
		return code
	}
	require.Equal(t, jute.ErrInvalidACL, create(owner, p, secret), "auth without having authenticated")
	auth := func(c *wire, scheme, who string) jute.Code {
		c.xid = jute.XidAuth - 1
		code, _ := c.do(jute.OpAuth, &jute.AuthPacket{Scheme: scheme, Auth: []byte(who)})
		c.xid = 100
		return code
	}
	require.Equal(t, jute.OK, auth(owner, "digest", "me:secret"))
	require.Zero(t, owner.seen)
	require.Equal(t, jute.OK, create(owner, p, secret))
	require.Equal(t, jute.OK, create(owner, p+"/child", secret))

	_, d := owner.do(jute.OpGetACL, justPath(p))
	require.Equal(t, []jute.ACL{{Perms: jute.PermAll, Scheme: "digest", ID: "me:016djjlksVQS5RgX3M7biBGyYwY="}}, d.ACLs())
	for op, body := range map[jute.Op]encoder{
		jute.OpGetData:      &jute.PathWatch{Path: p},
		jute.OpGetChildren:  &jute.PathWatch{Path: p},
		jute.OpGetChildren2: &jute.PathWatch{Path: p},
		jute.OpGetACL:       justPath(p),
		jute.OpSetData:      &jute.SetDataRequest{Path: p, Version: -1},
		jute.OpSetACL:       &jute.SetACLRequest{Path: p, ACL: jute.WorldACL(), Version: -1},
		jute.OpCreate:       &jute.CreateRequest{Path: p + "/x", ACL: jute.WorldACL()},
		jute.OpDelete:       &jute.PathVersion{Path: p + "/child", Version: -1},
	} {
		code, _ := stranger.do(op, body)
		require.Equal(t, jute.ErrNoAuth, code, "%v by a stranger", op)
	}
	stranger.stat(p) // whether a node exists is not a secret
	require.Equal(t, jute.OK, owner.delete(p+"/child"))

	half := []jute.ACL{{Perms: jute.PermRead, Scheme: "world", ID: "anyone"}, {Perms: jute.PermAll, Scheme: "digest", ID: "me:hash"}, {Perms: jute.PermWrite, Scheme: "ip", ID: "0.0.0.0/0"}}
	require.Equal(t, jute.OK, create(owner, tg.root+"/half", half))
	_, d = stranger.do(jute.OpGetACL, justPath(tg.root+"/half"))
	half[1].ID = "me:x"
	require.Equal(t, half, d.ACLs(), "a hash is shown only to a client that may administer the node")
	require.Equal(t, jute.OK, stranger.set(tg.root+"/half", "", -1), "from this address")
	for _, bad := range []jute.ACL{{Scheme: "foo", ID: "bar"}, {Scheme: "digest", ID: "nocolon"}, {Scheme: "ip", ID: "nonsense"}, {Scheme: "world", ID: "someone"}} {
		require.Equal(t, jute.ErrInvalidACL, create(owner, tg.root+"/bad", []jute.ACL{bad}), "%v", bad)
	}
	for id, want := range map[string]jute.Code{"a:": jute.ErrInvalidACL, "a:b:": jute.OK, "a:b:c": jute.ErrInvalidACL} {
		require.Equal(t, want, create(owner, tg.root+"/digest", []jute.ACL{{Perms: jute.PermAll, Scheme: "digest", ID: id}}), id)
	}
	require.Equal(t, jute.ErrInvalidACL, create(owner, tg.root+"/v6", []jute.ACL{{Perms: jute.PermAll, Scheme: "ip", ID: "::1"}}))

	// A client that has authenticated, as another user.
	require.Equal(t, jute.OK, auth(stranger, "digest", "other:secret"))
	code, _ := stranger.do(jute.OpGetData, &jute.PathWatch{Path: p})
	require.Equal(t, jute.ErrNoAuth, code)

	// Each permission is for its own kind of request.
	for _, tc := range []struct {
		perm  int32
		op    jute.Op
		body  encoder
		where string // the node whose ACL counts
	}{
		{jute.PermRead, jute.OpGetData, &jute.PathWatch{Path: tg.root + "/p/n"}, "/p/n"},
		{jute.PermRead, jute.OpMulti, multi{{jute.OpCheck, &jute.PathVersion{Path: tg.root + "/p/n", Version: -1}}}, "/p/n"},
		{jute.PermWrite, jute.OpSetData, &jute.SetDataRequest{Path: tg.root + "/p/n", Version: -1}, "/p/n"},
		{jute.PermAdmin, jute.OpSetACL, &jute.SetACLRequest{Path: tg.root + "/p/n", ACL: jute.WorldACL(), Version: -1}, "/p/n"},
		{jute.PermCreate, jute.OpCreate, &jute.CreateRequest{Path: tg.root + "/p/new", ACL: jute.WorldACL()}, "/p"},
		{jute.PermDelete, jute.OpDelete, &jute.PathVersion{Path: tg.root + "/p/n", Version: -1}, "/p"},
	} {
		for _, granted := range []bool{true, false} {
			require.Equal(t, jute.OK, create(owner, tg.root+"/p", jute.WorldACL()))
			require.Equal(t, jute.OK, create(owner, tg.root+"/p/n", jute.WorldACL()))
			perms := tc.perm
			if !granted {
				perms = jute.PermAll &^ tc.perm
			}
			acl := []jute.ACL{{Perms: perms, Scheme: "digest", ID: "other:" + digestOf("other:secret")}, {Perms: jute.PermAll, Scheme: "digest", ID: "me:" + digestOf("me:secret")}}
			code, _ := owner.do(jute.OpSetACL, &jute.SetACLRequest{Path: tg.root + tc.where, ACL: acl, Version: -1})
			require.Equal(t, jute.OK, code)
			// In an ensemble the leader goes by the old ACL until it has carried
			// out the change itself.
			owner.do(jute.OpSync, justPath(tg.root))
			code, d := stranger.do(tc.op, tc.body)
			if tc.op == jute.OpMulti {
				d.Int32()
				d.Bool()
				code = jute.Code(d.Int32())
			}
			require.Equal(t, granted, code == jute.OK, "%v with permissions %d: %d", tc.op, perms, code)
			for _, n := range []string{"/p/n", "/p/new", "/p"} {
				owner.delete(tg.root + n)
			}
		}
	}

	// A recursive watch is told only of the nodes that its client may read.
	below := tg.connect()
	require.Equal(t, jute.OK, below.addWatch(tg.root, jute.ModePersistentRecursive))
	require.Equal(t, jute.OK, create(owner, tg.root+"/secret", secret))
	require.Equal(t, jute.OK, create(owner, tg.root+"/open", jute.WorldACL()))
	require.Equal(t, []event{{jute.EventCreated, tg.root + "/open"}}, below.eventsNow())

	// A client that may not read a node is not told of it; its watch is gone all the same.
	hidden := tg.root + "/hidden"
	require.Equal(t, jute.ErrNoNode, stranger.watch(jute.OpExists, hidden))
	require.Equal(t, jute.OK, create(owner, hidden, secret))
	require.Empty(t, stranger.eventsNow())
	require.Equal(t, jute.OK, stranger.watch(jute.OpExists, hidden))
	require.Equal(t, jute.OK, owner.set(hidden, "", -1))
	require.Empty(t, stranger.eventsNow())
	require.Equal(t, jute.OK, owner.delete(hidden))
	require.Empty(t, stranger.eventsNow())

	require.Equal(t, jute.OK, owner.delete(p))
	require.Equal(t, jute.ErrAuthFailed, auth(stranger, "nonsense", ""))
	stranger.closes()
	for _, proof := range []raw{
		{0, 0, 0, 0, 0, 0, 0, 6, 'd', 'i', 'g', 'e', 's', 't', 0xff, 0xff, 0xff, 0xff}, // no data
		{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},                               // no scheme
	} {
		c := tg.connect()
		code, _ := c.do(jute.OpAuth, proof)
		require.Equal(t, jute.ErrAuthFailed, code)
		c.closes()
	}
}

func digestOf(userPassword string) string {
	sum := sha1.Sum([]byte(userPassword))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func TestSyncEchoesThePath(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	code, d := c.do(jute.OpSync, justPath("/no/such//path"))
	require.Equal(t, jute.OK, code)
	require.Equal(t, "/no/such//path", d.String())
}

func TestFourLetterWords(t *testing.T) {
	tg := newTarget(t)
	say := func(word string) string {
		c := tg.dial()
		c.write([]byte(word))
		var b bytes.Buffer
		c.SetReadDeadline(time.Now().Add(patience))
		_, err := b.ReadFrom(c.r)
		require.NoError(t, err)
		return b.String()
	}
	require.Regexp(t, `\nMode: (standalone|leader|follower)\n(Proposal.*\n)?Node count: `, say("srvr"))
	require.Contains(t, say("srvr"), "Zookeeper version: 3.")
	if tg.srv != nil { // on a real one both are up to its configuration
		require.Equal(t, "imok", say("ruok"))
		require.Equal(t, "stat is not executed because it is not in the whitelist.\n", say("stat"))
	}
}

func TestTheServersOwnNodes(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	require.Subset(t, c.children("/zookeeper"), []string{"config", "quota"})
	s := c.stat("/zookeeper/config")
	require.EqualValues(t, -1, s.Aversion)
	require.Contains(t, []int32{0, -1}, s.Version, "-1 in an ensemble, whose configuration it holds")
	require.Equal(t, jute.ErrNoAuth, c.set("/zookeeper/config", "", -1))
}

func TestGetEphemeralsListsTheSessionsOwn(t *testing.T) {
	tg := newTarget(t)
	c, other := tg.connect(), tg.connect()
	p := tg.root
	for _, path := range []string{p + "/a", p + "/ab", p + "/b"} {
		require.Equal(t, jute.OK, c.create(path, jute.FlagEphemeral))
	}
	require.Equal(t, jute.OK, other.create(p+"/others", jute.FlagEphemeral))
	require.Equal(t, jute.OK, c.create(p+"/persistent", jute.FlagPersistent))

	all := []string{p + "/a", p + "/ab", p + "/b"}
	for _, test := range []struct {
		prefix encoder
		want   []string
	}{
		{justPath("/"), all},
		{justPath(""), all},
		{justPath(" \t/\n"), all},
		{raw{0xff, 0xff, 0xff, 0xff}, all}, // null
		{justPath(p), all},
		{justPath(p + "/a"), all[:2]}, // a prefix of the text
		{justPath(p + "/a/"), nil},
		{justPath(" " + p), nil},
		{justPath("no path"), nil},
	} {
		code, d := c.do(jute.OpGetEphemerals, test.prefix)
		require.Equal(t, jute.OK, code, "%q", test.prefix)
		require.ElementsMatch(t, test.want, d.Strings(), "%q", test.prefix)
		require.NoError(t, d.Err())
		require.Zero(t, d.Len())
	}
}

func TestGetAllChildrenNumberCountsAtAnyDepth(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	p := tg.root
	number := func(path string) int32 {
		t.Helper()
		code, d := c.do(jute.OpGetAllChildrenNumber, justPath(path))
		require.Equal(t, jute.OK, code)
		n := d.Int32()
		require.NoError(t, d.Err())
		require.Zero(t, d.Len())
		return n
	}
	require.EqualValues(t, 0, number(p))
	for _, path := range []string{"/a", "/a/b", "/a/b/c", "/ab", "/d"} {
		require.Equal(t, jute.OK, c.create(p+path, jute.FlagPersistent))
	}
	require.EqualValues(t, 5, number(p))
	require.EqualValues(t, 2, number(p+"/a"))
	require.EqualValues(t, 0, number(p+"/d"))
	require.GreaterOrEqual(t, number("/"), int32(6))
	if tg.srv != nil { // no other test makes nodes there
		require.EqualValues(t, 9, number("/"))
		require.EqualValues(t, 10, number(""))
	}
	for path, want := range map[string]jute.Code{p + "/none": jute.ErrNoNode, p + "/": jute.ErrNoNode, "a": jute.ErrNoNode} {
		code, _ := c.do(jute.OpGetAllChildrenNumber, justPath(path))
		require.Equal(t, want, code, path)
	}
	code, _ := c.do(jute.OpGetAllChildrenNumber, raw{0xff, 0xff, 0xff, 0xff})
	require.Equal(t, jute.ErrMarshalling, code, "null")

	secret := &jute.CreateRequest{Path: p + "/secret", ACL: []jute.ACL{{Perms: jute.PermAll &^ jute.PermRead, Scheme: "world", ID: "anyone"}}}
	code, _ = c.do(jute.OpCreate, secret)
	require.Equal(t, jute.OK, code)
	code, _ = c.do(jute.OpGetAllChildrenNumber, justPath(p+"/secret"))
	require.Equal(t, jute.ErrNoAuth, code)
}

func TestWhoAmINamesUsersWithoutTheirDigests(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	who := func() (out []string) {
		t.Helper()
		code, d := c.do(jute.OpWhoAmI, none{})
		require.Equal(t, jute.OK, code)
		for range d.Int32() {
			out = append(out, d.String()+" "+d.String())
		}
		require.NoError(t, d.Err())
		require.Zero(t, d.Len())
		return out
	}
	require.Len(t, who(), 1)
	ip := who()[0]
	require.Regexp(t, "^ip [0-9a-f.:]+$", ip)
	for _, as := range []string{"ann:secret", "ann:secret", "ann:other", "bob:", "carl"} {
		c.write(frame(&jute.RequestHeader{Xid: jute.XidAuth, Op: jute.OpAuth}, &jute.AuthPacket{Scheme: "digest", Auth: []byte(as)}))
		h, _, err := c.read()
		require.NoError(t, err)
		require.Equal(t, jute.OK, h.Err, as)
	}
	require.ElementsMatch(t, []string{ip, "digest ann", "digest ann", "digest bob", "digest carl"}, who())
}
