package zkserver_test

import (
	"crypto/sha1"
	"encoding/base64"
	"testing"

	"example.com/zklock/internal/jute"
	"github.com/stretchr/testify/require"
)

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

	_, d := owner.do(jute.OpGetACL, pathBody(p))
	require.Equal(t, []jute.ACL{{Perms: jute.PermAll, Scheme: "digest", ID: "me:016djjlksVQS5RgX3M7biBGyYwY="}}, d.ACLs())
	for op, body := range map[jute.Op]encoder{
		jute.OpGetData:      &jute.PathWatch{Path: p},
		jute.OpGetChildren:  &jute.PathWatch{Path: p},
		jute.OpGetChildren2: &jute.PathWatch{Path: p},
		jute.OpGetACL:       pathBody(p),
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
	_, d = stranger.do(jute.OpGetACL, pathBody(tg.root+"/half"))
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
			owner.do(jute.OpSync, pathBody(tg.root))
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

	// A recursive watch gets events only of the nodes that its client may read.
	below := tg.connect()
	require.Equal(t, jute.OK, below.addWatch(tg.root, jute.ModePersistentRecursive))
	require.Equal(t, jute.OK, create(owner, tg.root+"/secret", secret))
	require.Equal(t, jute.OK, create(owner, tg.root+"/open", jute.WorldACL()))
	require.Equal(t, []event{{jute.EventCreated, tg.root + "/open"}}, below.eventsNow())

	// A client that may not read a node gets no event of it; its watch is gone all the same.
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

func TestWhoAmINamesUsersWithoutTheirDigests(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	who := func() (out []string) {
		t.Helper()
		code, d := c.do(jute.OpWhoAmI, emptyBody{})
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
