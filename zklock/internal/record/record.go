// Package record is the name and the data of a contender's node. It is made for
// zklock, and its API may change.
package record

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Prefix returns the name of a contender's node before the number, which the server
// appends, ten digits. The name is Curator's: _c_<id>-lock-<number>. By the id a
// contender finds its node if the reply to its create was lost; and because of the
// id no other node ever has the same name.
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

// Parse reads the data of a node. ok is false if the node is another library's, or
// its data has been written over.
func Parse(name string, data []byte) (r Record, ok bool) {
	ok = json.Unmarshal(data, &r) == nil && r.ID != "" && strings.HasPrefix(name, Prefix(r.ID))
	return r, ok
}

// Encode returns the data of the node.
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
	exclusive Class = 1 << iota
	kazooLock       // and kazoo's WriteLock, whose node is the same
	kazooRead
	curatorRead
	curatorWrite
	latch
	lease
)

// A Kind is a library's kind of node, which is known by what the library writes before the
// number.
type Kind struct {
	library string
	prefix  *regexp.Regexp
	Is      Class
	After   Class // those before it that it waits for
}

func kind(library, prefix string, is, after Class) *Kind {
	return &Kind{library, regexp.MustCompile(`^` + prefix + `$`), is, after}
}

// The ids in a name: of zklock, zk.Lock and kazoo, and of Curator.
const guid, uuid = `[0-9a-f]{32}`, `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

var kazoo = kind("kazoo lock", guid+`__lock__`, kazooLock, exclusive|kazooLock|kazooRead)

// The names of zk.Lock's nodes are like ours, which are known by their data.
var kinds = []*Kind{
	kind("zk.Lock", `_c_`+guid+`-lock-`, exclusive, exclusive|kazooLock),
	kind("Curator mutex", `_c_`+uuid+`-lock-`, exclusive, exclusive|kazooLock),
	kind("Curator read lock", `_c_`+uuid+`-__READ__`, curatorRead, curatorWrite),
	kind("Curator write lock", `_c_`+uuid+`-__WRIT__`, curatorWrite, curatorRead|curatorWrite),
	kind("Curator semaphore", `_c_`+uuid+`-lease-`, lease, 0),
	kind("Curator latch", `_c_`+uuid+`-latch-`, latch, latch),
	kazoo,
	kind("kazoo read lock", guid+`__rlock__`, kazooRead, kazooLock),
	kind("lock-", `lock-`, exclusive, exclusive|kazooLock),
	kind("", `_c_.*-lock-`, exclusive, exclusive|kazooLock),
}

// KindOf returns the kind of a node, and the number in its name. k is nil if no library is
// known to write such a name.
func KindOf(name string) (k *Kind, n int32) {
	n, ok := sequence(name, func(prefix string) bool {
		i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.prefix.MatchString(prefix) })
		if i >= 0 {
			k = kinds[i]
		}
		return i >= 0
	})
	if !ok {
		return nil, 0
	}
	return k, n
}

// Library returns which library has made a node; "lock-" if that has no id, as in
// hand-written locks, and "" if none of those is known to write such a name.
func Library(name string, data []byte) string {
	if _, ok := Parse(name, data); ok {
		return "zklock"
	}
	if k, _ := KindOf(name); k != nil {
		return k.library
	}
	return ""
}

// isContender reports whether the name of a contender for this lock may have this prefix
// before its number: ours, Curator's mutex's and zk.Lock's; that of a lock without an id;
// kazoo's. It looks at each child of each list that a waiter reads, so it has to be quick.
func isContender(prefix string) bool {
	switch {
	case strings.HasPrefix(prefix, "_c_"):
		return strings.HasSuffix(prefix, "-lock-")
	case strings.HasSuffix(prefix, "__lock__"):
		return kazoo.prefix.MatchString(prefix)
	}
	return prefix == "lock-"
}

// Sequence reads the number out of the name of a contender for this lock. ok is false if
// the child is none.
func Sequence(name string) (n int32, ok bool) { return sequence(name, isContender) }

// sequence reads the number out of a name, which the server has written with %010d.
func sequence(name string, isPrefix func(string) bool) (n int32, ok bool) {
	for _, digits := range []int{10, 11} { // 11 with a sign
		i := len(name) - digits
		if i < 0 || !isPrefix(name[:i]) {
			continue
		}
		v, err := strconv.ParseInt(name[i:], 10, 32)
		sign := name[i] == '-'
		return int32(v), err == nil && name[i] != '+' && sign == (v < 0) && (digits == 10 || sign && name[i+1] != '0')
	}
	return 0, false
}

// Order is negative if the number a was given out before b. The server's counter
// has 32 bits: where it wraps, 2³¹-1 is followed by -2³¹, and the difference
// wraps with it.
func Order(a, b int32) int { return int(a - b) }
