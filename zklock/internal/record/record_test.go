// Tests of the names and the data of nodes: which library has made a node, and what it says.
package record

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// Sequence reads the number of each contender that a Mutex waits for; the names in foreign.txt are of no contender.
func TestSequenceReadsOursAndThePeersAndNothingElse(t *testing.T) {
	for name, want := range map[string]int32{
		"lock-0000000000":  0,
		"lock-0000000042":  42,
		"lock-2147483647":  math.MaxInt32,
		"lock--2147483648": math.MinInt32,
		"lock--000000005":  -5,
	} {
		n, ok := Sequence(name)
		require.True(t, ok, name)
		require.Equal(t, want, n, name)
	}
	// Other names are nearly those of kazoo, of WriteLock or of Curator.
	for line := range strings.Lines(string(testenv.Must(os.ReadFile("testdata/foreign.txt"))(t))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.Trim(line, "\"\n")
		_, ok := Sequence(name)
		require.False(t, ok, name)
		require.Nil(t, KindOf(name, nil), name)
	}
}

// The name and the record of a node are those of earlier versions: processes of several versions share a path while a
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

// A flag is a relation between a Mutex and a node of some library.
type flag string

const (
	waitedFor    flag = "a Mutex waits for it"
	ignoresMutex flag = "it does not wait for a Mutex"
	canBeAsked   flag = "it reads requests to release the lock"
)

// The kind of each known node says whether a Mutex and its holder wait for each other, as docs/sharing-a-path.md plays.
func TestEachKindOfNodeIsKnown(t *testing.T) {
	const id, number = "01dc6acfac0000010000000000000001", "0000000001"
	const curator = "_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-"
	record := New("owner", []byte("data"))
	record.ID = id
	for _, c := range []struct {
		name, data, library, role string
		flags                     []flag
	}{
		{Prefix(id) + number, string(record.Encode()), "zklock", "", []flag{waitedFor, canBeAsked}},
		{Prefix(id) + number, "", "zk.Lock", "", []flag{waitedFor}},
		{Prefix(id) + "-000000001", CuratorRevoke, "zk.Lock", "", []flag{waitedFor}},
		{Prefix("ff"+id[2:]) + number, string(record.Encode()), "zk.Lock", "", []flag{waitedFor}}, // a record of another node
		{curator + "lock-" + number, "192.0.2.1", "Curator mutex", "", []flag{waitedFor, canBeAsked}},
		{curator + "lock-" + number, "fe80::1%eth0", "Curator mutex", "", []flag{waitedFor, canBeAsked}}, // with a zone
		{curator + "lock-" + number, CuratorRevoke, "Curator mutex", "", []flag{waitedFor, canBeAsked}},
		{curator + "lock-" + number, "web-7:8080", "Curator mutex", "", []flag{waitedFor}}, // the id of a LeaderSelector
		{curator + "lock-" + number, "", "Curator mutex", "", []flag{waitedFor}},
		{curator + "__READ__" + number, "192.0.2.1", "Curator read lock", "reader", []flag{waitedFor, ignoresMutex}},
		{curator + "__WRIT__" + "-2147483648", "192.0.2.1", "Curator write lock", "writer", []flag{waitedFor, ignoresMutex}},
		{curator + "lease-" + number, "", "Curator semaphore", "semaphore", []flag{ignoresMutex}},
		{curator + "latch-" + number, "id", "Curator latch", "leader", []flag{ignoresMutex}},
		{id + "__lock__" + number, "host", "kazoo lock", "", []flag{waitedFor, ignoresMutex}},
		{id + "__rlock__" + number, "", "kazoo read lock", "reader", []flag{waitedFor, ignoresMutex}},
		{id, "", "kazoo semaphore", "semaphore", []flag{}},
		{"x-117698527313657884-" + number, "\x124", "ZooKeeper WriteLock", "", []flag{waitedFor}},
		{"x--8070450532247928832-" + number, "", "ZooKeeper WriteLock", "", []flag{waitedFor}},
		{"x-01a2262fdf1e0004-" + number, "", "ZooKeeper WriteLock", "", []flag{waitedFor}}, // in C
		{"lock-" + number, "", "lock-", "", []flag{waitedFor}},
		{"_c_00ff-lock-" + number, "", "", "", []flag{waitedFor}},
	} {
		k := KindOf(c.name, []byte(c.data))
		require.NotNil(t, k, c.name)
		require.Equal(t, []string{c.library, c.role}, []string{k.Library, k.Role}, c.name)
		_, isRival := Sequence(c.name)
		asks := Request(c.name, []byte(c.data)) != nil
		for f, has := range map[flag]bool{waitedFor: isRival, ignoresMutex: k.Passes(), canBeAsked: asks} {
			require.Equal(t, slices.Contains(c.flags, f), has, "%s: %s", c.name, f)
		}
	}
}

func TestNumbersAreOrderedWhereTheyWrap(t *testing.T) {
	numbers := []int32{math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1}
	for i, a := range numbers {
		for j, b := range numbers {
			require.Equal(t, i < j, Order(a, b) < 0, "%d, %d", a, b)
		}
	}
}
