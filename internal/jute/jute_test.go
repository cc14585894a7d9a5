// Tests that ZooKeeper's records are written and read back, and that malformed ones are refused.
package jute_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
)

type record interface {
	Encode(*jute.Encoder)
	Decode(*jute.Decoder)
}

// records has at least one record of each kind. Together they set every field.
var records = []record{
	&jute.ConnectRequest{Protocol: 1, LastZxidSeen: 2, TimeoutMs: 3, SessionID: 4, Password: []byte("p"), HasReadOnly: true, ReadOnly: true},
	&jute.ConnectRequest{SessionID: 4, Password: []byte{}},
	&jute.ConnectResponse{Protocol: 1, TimeoutMs: 2, SessionID: 3, Password: []byte("p"), HasReadOnly: true, ReadOnly: true},
	&jute.RequestHeader{Xid: 1, Op: jute.OpDelete},
	&jute.ReplyHeader{Xid: 1, Zxid: 2, Err: jute.ErrNoNode},
	&jute.WatcherEvent{Type: jute.EventDeleted, State: 3, Path: "/a"},
	&jute.Stat{Czxid: 1, Mzxid: 2, Ctime: 3, Mtime: 4, Version: 5, Cversion: 6, Aversion: 7, EphemeralOwner: 8, DataLength: 9, NumChildren: 10, Pzxid: 11},
	&jute.CreateRequest{Path: "/锁", Data: []byte("d"), ACL: []jute.ACL{{Perms: 1, Scheme: "s", ID: "i"}}, Flags: 3},
	&jute.CreateRequest{Path: "/a", Data: []byte{}, ACL: jute.WorldACL()},
	&jute.CreateRequest{Path: "/a", Data: nil, ACL: jute.WorldACL()},
	&jute.CreateTTLRequest{CreateRequest: jute.CreateRequest{Path: "/a", ACL: jute.WorldACL()}, TTL: 5},
	&jute.PathVersion{Path: "/a", Version: -1},
	&jute.PathWatch{Path: "/a", Watch: true},
	&jute.SetDataRequest{Path: "/a", Data: []byte("d"), Version: 2},
	&jute.SetACLRequest{Path: "/a", ACL: jute.WorldACL(), Version: 2},
	&jute.SetWatches{RelativeZxid: 1, Data: []string{"/a", "/b"}, Exist: []string{"/c"}, Child: []string{"/d"}},
	&jute.SetWatches2{
		SetWatches: jute.SetWatches{RelativeZxid: 1, Data: []string{"/a"}, Exist: []string{"/b"}, Child: []string{"/c"}},
		Persistent: []string{"/d", "/e"}, Recursive: []string{"/f"},
	},
	&jute.AddWatch{Path: "/a", Mode: jute.ModePersistentRecursive},
	&jute.PathType{Path: "/a", Type: jute.WatcherAny},
	&jute.AuthPacket{Type: 1, Scheme: "digest", Auth: []byte("a:b")},
	&jute.MultiHeader{Op: jute.OpCheck, Done: true, Err: -1},
}

func zeroLike(r record) record { return reflect.New(reflect.TypeOf(r).Elem()).Interface().(record) }

func encode(r record) []byte {
	var e jute.Encoder
	r.Encode(&e)
	return e.Bytes()
}

// A record that is cut off is malformed, unless what is left is a record, too: ReadOnly may be missing.
func TestRecordsComeBackAsTheyWereAndATruncatedOneIsMalformed(t *testing.T) {
	for _, want := range records {
		b := encode(want)
		for n := range len(b) + 1 {
			got, d := zeroLike(want), jute.NewDecoder(b[:n])
			got.Decode(d)
			if n < len(b) && d.Err() != nil {
				require.ErrorIs(t, d.Err(), jute.ErrMalformed, "%T, %d of %d bytes", want, n, len(b))
				continue
			}
			require.NoError(t, d.Err(), "%T", want)
			require.Equal(t, b[:n], encode(got), "%T", want)
			if n == len(b) {
				require.Equal(t, want, got)
			}
		}
	}
}

func TestAnAnnouncedLengthCostsNoMemory(t *testing.T) {
	var e jute.Encoder
	e.Int32(math.MaxInt32)
	perRun := testing.AllocsPerRun(10, func() {
		for _, read := range []func(*jute.Decoder){
			func(d *jute.Decoder) { d.Buffer() },
			func(d *jute.Decoder) { d.NullString() },
			func(d *jute.Decoder) { d.Strings() },
			func(d *jute.Decoder) { d.ACLs() },
		} {
			d := jute.NewDecoder(e.Bytes())
			read(d)
			if d.Err() == nil {
				t.Error("a length without its bytes is accepted")
			}
		}
	})
	require.Less(t, perRun, 10.0)
}

func TestFramesCutAStreamAnywhere(t *testing.T) {
	var e jute.Encoder
	want := [][]byte{{}, []byte("a"), bytes.Repeat([]byte("x"), 200_000), []byte("end")}
	for _, body := range want {
		mark := e.BeginFrame()
		e.Raw(body)
		e.EndFrame(mark)
	}
	r := iotest.OneByteReader(bytes.NewReader(e.Bytes()))
	var buf []byte
	for _, body := range want {
		buf = testenv.Must(jute.ReadFrame(r, buf, jute.MaxFrame))(t)
		require.True(t, bytes.Equal(body, buf))
	}
	require.ErrorIs(t, testenv.Err(jute.ReadFrame(r, buf, jute.MaxFrame)), io.EOF)
}

func TestAFrameThatIsTooLongIsRefusedBeforeItIsRead(t *testing.T) {
	for length, ok := range map[int32]bool{0: true, jute.MaxFrame: true, jute.MaxFrame + 1: false, math.MaxInt32: false, -1: false, math.MinInt32: false} {
		var e jute.Encoder
		e.Int32(length)
		r := bytes.NewReader(e.Bytes())
		_, err := jute.ReadFrame(r, nil, jute.MaxFrame)
		require.Equal(t, !ok, errors.Is(err, jute.ErrMalformed), "length %d: %v", length, err)
	}
	_, err := jute.ReadFrame(bytes.NewReader([]byte{0, 0, 0, 9, 1, 2}), nil, jute.MaxFrame)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// FuzzDecode decodes any bytes: it must not panic, and what was read must come back the same after it was written.
func FuzzDecode(f *testing.F) {
	for i, r := range records {
		f.Add(i, encode(r))
	}
	f.Fuzz(func(t *testing.T, which int, b []byte) {
		if which < 0 || which >= len(records) {
			return
		}
		first, d := zeroLike(records[which]), jute.NewDecoder(b)
		first.Decode(d)
		if d.Err() != nil {
			return
		}
		second, d2 := zeroLike(records[which]), jute.NewDecoder(encode(first))
		second.Decode(d2)
		require.NoError(t, d2.Err())
		require.Equal(t, first, second)
	})
}
