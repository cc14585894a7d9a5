// Package record is the name and the data of a contender's node. It is made for zklock, and its API may change.
package record

import (
	"encoding/json"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Prefix returns the name of a contender's node before the number, which the server appends, ten digits. The name is
// Curator's: _c_<id>-lock-<number>. By the id a contender finds its node if the reply to its create was lost; and
// because of the id no other node ever has the same name.
func Prefix(id string) string { return "_c_" + id + "-lock-" }

// CuratorRevoke is what Curator's Revoker writes into the node of a holder.
const CuratorRevoke = "__REVOKE__"

// A Record is the data of a contender's node, as JSON.
type Record struct {
	Owner  string `json:"owner"`            // for whom the node was made
	Name   []byte `json:"name,omitempty"`   // in place of Owner if that is not text, as base64
	Data   string `json:"data,omitempty"`   // WithData
	Bytes  []byte `json:"base64,omitempty"` // in place of Data if that is not text
	ID     string `json:"id"`               // the id in the node's name: it shows that the record is ours
	Revoke bool   `json:"revoke,omitempty"` // the holder is asked to release the lock
}

// New returns the record of an owner's node, without the id.
func New(owner string, data []byte) (r Record) {
	if utf8.ValidString(owner) {
		r.Owner = owner
	} else {
		r.Name = []byte(owner)
	}
	if utf8.Valid(data) {
		r.Data = string(data)
	} else {
		r.Bytes = data
	}
	return r
}

// Parse reads the data of a node. ok is false if the node is another library's, or its data has been written over.
func Parse(name string, data []byte) (r Record, ok bool) {
	ok = json.Unmarshal(data, &r) == nil && r.ID != "" && strings.HasPrefix(name, Prefix(r.ID))
	return r, ok
}

func (r Record) Encode() []byte {
	data, _ := json.Marshal(r) // JSON can hold every field of a record
	return data
}

// OwnerName returns the name that the owner was given.
func (r Record) OwnerName() string { return r.Owner + string(r.Name) } // one of them is empty

// Contents returns the data that WithData was given.
func (r Record) Contents() []byte { return append(r.Bytes, r.Data...) } // one of them is empty

// A Class is a set of contenders that others wait for.
type Class int

const (
	mutex     Class = 1 << iota // the name ends in lock-: zklock's, zk.Lock's, Curator's, and hand-written ones
	kazooLock                   // and kazoo's WriteLock, whose node is the same
	kazooRead
	kazooLease
	curatorRead
	curatorWrite
	curatorLatch
	curatorLease
	writeLock
)

// rivals are those that a Mutex waits for, readers too. A semaphore excludes nobody, and a latch elects a leader.
const rivals = mutex | kazooLock | kazooRead | curatorRead | curatorWrite | writeLock
const anyChild Class = ^0 // whatever it is

// A Kind is a library's kind of node, which is known by what the library writes before the
// number. docs/sharing-a-path.md has been played, and says the same.
type Kind struct {
	Library string // "lock-" for a name without an id, as of hand-written locks, and "" if unknown
	Role    string // "reader", "writer", "semaphore", "leader"; "" for a mutex
	prefix  *regexp.Regexp
	Is      Class
	After   Class // those before it that it waits for, or fails at
}

func kind(library, role, prefix string, is, after Class) *Kind {
	return &Kind{library, role, regexp.MustCompile(`^` + prefix + `$`), is, after}
}

// Passes reports whether the library's lock is acquired while a Mutex holds the path. A kazoo lock is, unless its
// extra_lock_patterns name mutexes.
func (k *Kind) Passes() bool { return k.After&mutex == 0 || k.Is == kazooLock }

// The ids in a name: of zklock, zk.Lock and kazoo, and of Curator.
const guid, uuid = `[0-9a-f]{32}`, `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// ours are known by their data: the names of zk.Lock's nodes are the same.
var ours = kind("zklock", "", `_c_`+guid+`-lock-`, mutex, rivals)

// kinds has of each: library, role, what is before the number in its name, its Class, and those before it that it waits for.
var kinds = []*Kind{
	kind("zk.Lock", "", `_c_`+guid+`-lock-`, mutex, anyChild),
	kind("Curator mutex", "", `_c_`+uuid+`-lock-`, mutex, mutex),
	kind("Curator read lock", "reader", `_c_`+uuid+`-__READ__`, curatorRead, curatorWrite),
	kind("Curator write lock", "writer", `_c_`+uuid+`-__WRIT__`, curatorWrite, curatorRead|curatorWrite),
	kind("Curator semaphore", "semaphore", `_c_`+uuid+`-lease-`, curatorLease, 0),
	kind("Curator latch", "leader", `_c_`+uuid+`-latch-`, curatorLatch, curatorLatch),
	kind("kazoo lock", "", guid+`__lock__`, kazooLock, mutex|kazooLock|kazooRead),
	kind("kazoo read lock", "reader", guid+`__rlock__`, kazooRead, kazooLock),
	kind("ZooKeeper WriteLock", "", `x-(?:-?[0-9]{1,19}|[0-9a-f]{16})-`, writeLock, mutex|curatorLatch|curatorLease|writeLock),
	kind("lock-", "", `lock-`, mutex, mutex|kazooLock),
	kind("", "", `_c_.*-lock-`, mutex, mutex|kazooLock),
}

func kindOf(prefix string) *Kind {
	i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.prefix.MatchString(prefix) })
	if i < 0 {
		return nil
	}
	return kinds[i]
}

// semaphore is kazoo's, whose node has no number: it counts all children of the path.
var semaphore = kind("kazoo semaphore", "semaphore", guid, kazooLease, anyChild)

// KindOf returns the kind of a node, nil if no library is known to write such a name.
func KindOf(name string, data []byte) (k *Kind) {
	if semaphore.prefix.MatchString(name) {
		return semaphore
	}
	_, ok := sequence(name, func(prefix string) bool {
		k = kindOf(prefix)
		return k != nil
	})
	if !ok {
		return nil
	}
	if _, ok := Parse(name, data); ok {
		return ours
	}
	return k
}

// Request returns what is written into a node to ask its owner for the lock; nil if the owner is not known to read
// that. The data of a Curator mutex is an address. Other data may be the id of a LeaderSelector, and would be lost.
func Request(name string, data []byte) []byte {
	if r, ours := Parse(name, data); ours {
		r.Revoke = true
		return r.Encode()
	}
	_, err := netip.ParseAddr(string(data))
	if k := KindOf(name, data); k == nil || k.Library != "Curator mutex" || err != nil && string(data) != CuratorRevoke {
		return nil
	}
	return []byte(CuratorRevoke)
}

// isRival reports whether the name of a contender that a Mutex waits for may have this prefix before its number.
// It looks at each child of each list that a waiter reads, so it has to be quick.
func isRival(prefix string) bool {
	if strings.HasPrefix(prefix, "_c_") && strings.HasSuffix(prefix, "-lock-") {
		return true
	}
	if !strings.HasSuffix(prefix, "-") && !strings.HasSuffix(prefix, "__") {
		return false
	}
	k := kindOf(prefix)
	return k != nil && k.Is&rivals != 0
}

// Sequence reads the number out of a name. ok is false if a Mutex waits for no contender with such a name.
func Sequence(name string) (n int32, ok bool) { return sequence(name, isRival) }

// sequence reads the number out of a name, which the server has written with %010d.
func sequence(name string, isPrefix func(string) bool) (n int32, ok bool) {
	for _, digits := range []int{10, 11} { // 11 with a sign
		i := len(name) - digits
		if i < 0 || !isPrefix(name[:i]) {
			continue
		}
		v, err := strconv.ParseInt(name[i:], 10, 32)
		sign := name[i] == '-'
		isCanonical := name[i] != '+' && sign == (v < 0) && (digits == 10 || sign && name[i+1] != '0') // as %010d writes v
		return int32(v), err == nil && isCanonical
	}
	return 0, false
}

// Order is negative if the number a was given out before b. The server's counter has 32 bits: where it wraps, 2³¹-1 is
// followed by -2³¹, and the difference wraps with it.
func Order(a, b int32) int { return int(a - b) }
