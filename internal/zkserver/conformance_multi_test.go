package zkserver_test

import (
	"testing"

	"example.com/zklock/internal/jute"
	"github.com/stretchr/testify/require"
)

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
	require.Equal(t, jute.OK, code, "the header does not show it")
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
	c.do(jute.OpCloseSession, emptyBody{})
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
	code, _ = c.do(jute.OpMulti, multi{{99, emptyBody{}}})
	require.Equal(t, jute.ErrMarshalling, code)
	code, _ = c.do(jute.OpMulti, multi{{jute.OpGetData, &jute.PathWatch{Path: p}}})
	require.Equal(t, jute.ErrMarshalling, code)
}
