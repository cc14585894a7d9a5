package locktest

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
)

// idsOfProcesses checks that Unlock does not take the node of another process for its own. It compares
// what a lock writes into its node in two processes: in each, the first contender locks. Their clocks and
// their sessions differ. If both write the same, the next holder may have written that, too, and Unlock
// must distinguish the two nodes by something else. A lock that writes random data passes.
//
// The address of a contender counts as the same in both processes, because how the runtime places memory varies.
//
// The case runs three times: first among other cases, where it only asks for a new process; then
// in two new processes. About tells the second one what the first one has written.
func idsOfProcesses(w *World) {
	if !w.Watched() {
		w.Skip(i18n.Text("needs processes of its own (leave out -locktest.here)"))
	}
	const alone, seen = "alone", "seen "
	if amongOthers := !w.First() || w.About == ""; amongOthers {
		w.Again(alone) // in a new process, where About is this text
		return
	}
	inFirst, isSecond := strings.CutPrefix(w.About, seen)
	if isSecond { // give its sessions other numbers, and its clock another time, also in nanoseconds
		for range 3 {
			w.Session()
		}
		time.Sleep(1234567891 * time.Nanosecond)
	}

	var holder Lock // made as most programs do: after zk.Connect, which returns before there is a session
	s, admin := w.Ordinary(func(conn *zk.Conn) { holder = w.Subject.New(conn, w.Path) }), w.Session()
	w.MustLock(holder, "the holder")
	data, _, err := admin.Get(w.Path)
	require.NoError(w, err)
	written := hex.EncodeToString([]byte(withoutAddresses(string(data), holder, s.Conn)))
	switch {
	case !isSecond:
		w.idsDifferInOneProcess(holder, s, admin, data)
		w.Again(seen + written)
	case inFirst != written:
		w.anotherProcessLocks(nil, holder, s, "a contender of another program has the lock, whose node has no data")
	default:
		w.anotherProcessLocks(data, holder, s, i18n.Textf(
			"a contender of another process has the lock, whose node has the same data, %q: a number that is counted, an "+
				"address, or a session's number before there is one, is the same in two processes", data))
	}
}

// idsDifferInOneProcess ends the holder's session and has 300 contenders lock in turn. It stops at one whose data
// another one has written before, or whose data contain the holder's. Then the holder unlocks, and may delete nothing.
func (w *World) idsDifferInOneProcess(holder Lock, s, admin *Session, data []byte) {
	w.Expire(s)
	next, nextSession := w.Contender()
	known := map[string]Lock{} // by their data; none is collected, so that no other contender gets its address
	// Of ids that are counted, the tenth begins as the first does. Of ten thousand random ids, two of 300 are equal.
	for range 300 {
		time.Sleep(1234567 * time.Nanosecond) // so ids that are a time differ
		next, _ = w.Contender(nextSession)
		w.MustLock(next, "the next holder")
		theirs, _, _ := admin.Get(w.Path)
		if known[string(theirs)] != nil && len(theirs) > 0 {
			w.anotherProcessLocks(theirs, next, nextSession, i18n.Textf("another contender has the lock, whose node has the "+
				"same data, %q: there are too few ids, and two of 300 are the same", theirs))
			break
		}
		contains := len(data) > 0 && strings.Contains(string(theirs), string(data))
		if contains || numberGoesOn(string(data), string(theirs)) {
			break
		}
		known[string(theirs)] = next
		w.MustUnlock(next, "the next holder")
	}
	w.expiredUnlock(holder, s, "a later contender has the lock, whose node has data in which this one's occur or go on")
}

var number, digitFirst = regexp.MustCompile(`\d+`), regexp.MustCompile(`^\d`)

// numberGoesOn reports whether two ids differ in their numbers alone, and the other one begins as id does up to the end
// of a number, where it has one more digit: "p-10 since 8:16" and "p-1 since 8:15". A lock that compares such
// beginnings takes one for the other.
func numberGoesOn(id, other string) bool {
	return number.ReplaceAllString(id, "0") == number.ReplaceAllString(other, "0") &&
		slices.ContainsFunc(number.FindAllStringIndex(id, -1), func(at []int) bool {
			rest, same := strings.CutPrefix(other, id[:at[1]])
			return same && digitFirst.MatchString(rest)
		})
}

// anotherProcessLocks ends the holder's session and makes another process's node, with data. Then the holder unlocks,
// and the case fails if that deletes the node.
func (w *World) anotherProcessLocks(data []byte, holder Lock, s *Session, who i18n.Text) {
	admin := w.Session()
	w.Expire(s)
	w.MustCreate(admin, w.Path, data, zk.FlagEphemeral)
	w.expiredUnlock(holder, s, who)
	require.NoError(w, admin.Delete(w.Path, -1))
}

// withoutAddresses takes the addresses of a contender and its client out of data.
func withoutAddresses(data string, things ...any) string {
	for _, thing := range things {
		if v := reflect.ValueOf(thing); v.Kind() == reflect.Pointer {
			for _, verb := range []string{"%x", "%X", "%d"} {
				data = strings.ReplaceAll(data, fmt.Sprintf(verb, v.Pointer()), "address")
			}
		}
	}
	return data
}
