package zkserver_test

import (
	"bytes"
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
	t.Run("refuses a session that it does not have", func(t *testing.T) {
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

	remove := func(path string, version int32) jute.Code {
		code, _ := c.do(jute.OpDelete, &jute.PathVersion{Path: path, Version: version})
		return code
	}
	require.Equal(t, jute.ErrBadVersion, remove(p+"/a", 7), "the version comes before the children")
	require.Equal(t, jute.ErrNotEmpty, remove(p+"/a", 0))
	require.Equal(t, jute.ErrNoNode, remove(p+"/a/no", -1))
	require.Equal(t, jute.ErrNoNode, remove(p+"/no/no", -1))
	for _, special := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", "", "x"} {
		require.Equal(t, jute.ErrBadArguments, remove(special, -1), "delete %q", special)
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
	code, _ := c.do(jute.OpCloseSession, emptyBody{})
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

func TestSyncEchoesThePath(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	code, d := c.do(jute.OpSync, pathBody("/no/such//path"))
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
		{pathBody("/"), all},
		{pathBody(""), all},
		{pathBody(" \t/\n"), all},
		{raw{0xff, 0xff, 0xff, 0xff}, all}, // null
		{pathBody(p), all},
		{pathBody(p + "/a"), all[:2]}, // a prefix of the text
		{pathBody(p + "/a/"), nil},
		{pathBody(" " + p), nil},
		{pathBody("no path"), nil},
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
		code, d := c.do(jute.OpGetAllChildrenNumber, pathBody(path))
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
		code, _ := c.do(jute.OpGetAllChildrenNumber, pathBody(path))
		require.Equal(t, want, code, path)
	}
	code, _ := c.do(jute.OpGetAllChildrenNumber, raw{0xff, 0xff, 0xff, 0xff})
	require.Equal(t, jute.ErrMarshalling, code, "null")

	secret := &jute.CreateRequest{Path: p + "/secret", ACL: []jute.ACL{{Perms: jute.PermAll &^ jute.PermRead, Scheme: "world", ID: "anyone"}}}
	code, _ = c.do(jute.OpCreate, secret)
	require.Equal(t, jute.OK, code)
	code, _ = c.do(jute.OpGetAllChildrenNumber, pathBody(p+"/secret"))
	require.Equal(t, jute.ErrNoAuth, code)
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
		"a client that watches a node's data and children gets one event that it has gone, then the parent's watchers get theirs")

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
