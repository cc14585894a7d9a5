package record

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSequenceReadsOursAndThePeersAndNothingElse(t *testing.T) {
	const id = "01dc6acfac0000010000000000000001"
	ours := Prefix(id)
	const curator = "_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-"
	for name, want := range map[string]int32{
		"lock-0000000000":        0,
		"lock-0000000042":        42,
		"lock-2147483647":        math.MaxInt32,
		"lock--2147483648":       math.MinInt32,
		"lock--000000005":        -5,
		curator + "0000000007":   7,
		curator + "-2147483648":  math.MinInt32,
		ours + "0000000042":      42,
		ours + "-000000005":      -5,
		"_c_00ff-lock-lock-lock": 0, // not a number
	} {
		n, ok := Sequence(name)
		require.Equal(t, want, n, name)
		require.Equal(t, name != "_c_00ff-lock-lock-lock", ok, name)
	}
	for _, name := range []string{
		"", "0", "0000000000", "config", "lock-", "lock-1", "lock-000000001", "lock-00000000001", "lock-000000000x",
		"lock-+000000001", "lock--0000000005", "lock-9999999999", "block-0000000001", "x-lock-0000000001",
		"_c_lock-0000000001", "_c_01dc6acfac0000010000000000000001-lock-", "01dc6acfac0000010000000000000001-lock-0000000001",
		"__READ__0000000001", "9f8e__lock__0000000001",
		id[1:] + "__lock__0000000000", id + "0__lock__0000000000", strings.Repeat("x", 32) + "__lock__0000000000", // nearly names of kazoo's
		"__lock__0000000000", "lock__0000000000", id + "__lock__", id + "__lock__000000000", id + "__lock__00000000000", id + "__lock__000000000x",
		id + "__lock__+000000000", id + "__lock__0000000000 ", id + "__lease__0000000000", id + "_lock_0000000000", id + "-lock-0000000000",
	} {
		_, ok := Sequence(name)
		require.False(t, ok, name)
		k, _ := KindOf(name)
		require.Nil(t, k, name)
	}
}

// TestNodesAreThoseOfEarlierVersions: processes of several versions share a path while a
// new one is rolled out. A change here breaks that; CHANGELOG.md has to say so.
func TestNodesAreThoseOfEarlierVersions(t *testing.T) {
	const id = "01dc6acfac0000010000000000000001"
	const name = "_c_" + id + "-lock-0000000042"
	require.Equal(t, name, Prefix(id)+"0000000042")
	for data, want := range map[string]Record{
		`{"owner":"worker 7","data":"host:1","id":"` + id + `"}`:       {Owner: "worker 7", Data: "host:1", ID: id},
		`{"owner":"","base64":"/w==","id":"` + id + `","revoke":true}`: {Bytes: []byte{0xff}, ID: id, Revoke: true},
		`{"owner":"","name":"Y2Fm6Q==","id":"` + id + `"}`:             {Name: []byte("caf\xe9"), ID: id},
	} {
		require.Equal(t, data, string(want.Encode()))
		r, ok := Parse(name, []byte(data))
		require.True(t, ok)
		require.Equal(t, want, r)
	}
	require.Equal(t, "caf\xe9", New("caf\xe9", nil).OwnerName(), "JSON has text only")
}

func TestLibraryIsKnownByTheNameAndOursByTheData(t *testing.T) {
	const id = "01dc6acfac0000010000000000000001"
	ours := New("owner", []byte("data"))
	ours.ID = id
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{Prefix(id) + "0000000001", ours.Encode(), "zklock"},
		{Prefix(id) + "0000000001", nil, "zk.Lock"},
		{Prefix(id) + "-000000001", []byte(CuratorRevoke), "zk.Lock"},
		{Prefix("ff"+id[2:]) + "0000000001", ours.Encode(), "zk.Lock"}, // a record of another node
		{"_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-0000000001", []byte("192.0.2.1"), "Curator mutex"},
		{id + "__lock__0000000001", []byte("host"), "kazoo lock"},
		{"lock-0000000001", nil, "lock-"},
		{"_c_00ff-lock-0000000001", nil, ""},
	} {
		_, ok := Sequence(c.name)
		require.True(t, ok, c.name)
		require.Equal(t, c.want, Library(c.name, c.data), c.name)
	}
}

func TestNumbersAreOrderedWhereTheyWrap(t *testing.T) {
	numbers := []int32{math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1}
	for i, a := range numbers {
		for j, b := range numbers {
			require.Equal(t, i < j, Order(a, b) < 0, "%d, %d", a, b)
		}
	}
	for _, n := range []int32{0, -1, math.MinInt32, math.MaxInt32} {
		got, ok := Sequence(fmt.Sprintf("lock-%010d", n))
		require.True(t, ok)
		require.Equal(t, n, got)
	}
}
