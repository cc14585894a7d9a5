// Package record is the name and the data of a contender's node. It is made for
// zklock, and its API may change.
package record

import (
	"encoding/json"
	"regexp"
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

var kazoo = regexp.MustCompile(`^[0-9a-f]{32}__lock__$`)

// libraries are known by what they write before the number. The names of zk.Lock's
// nodes are like ours.
var libraries = []struct {
	name   string
	prefix *regexp.Regexp
}{
	{"zk.Lock", regexp.MustCompile(`^_c_[0-9a-f]{32}-lock-`)},
	{"Curator mutex", regexp.MustCompile(`^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-`)},
	{"kazoo lock", regexp.MustCompile(`^[0-9a-f]{32}__lock__`)},
	{"lock-", regexp.MustCompile(`^lock-`)},
}

// Library returns which library has made a contender's node; "lock-" if that has no
// id, as in hand-written locks, and "" if none of those is known to write such a name.
// Our nodes are known by their data.
func Library(name string, data []byte) string {
	if _, ok := Parse(name, data); ok {
		return "zklock"
	}
	for _, l := range libraries {
		if l.prefix.MatchString(name) {
			return l.name
		}
	}
	return ""
}

// isContender reports whether a contender's name may have this prefix before its
// number: ours, Curator's and zk.Lock's; that of a lock without an id; kazoo's.
func isContender(prefix string) bool {
	switch {
	case strings.HasPrefix(prefix, "_c_"):
		return strings.HasSuffix(prefix, "-lock-")
	case strings.HasSuffix(prefix, "__lock__"):
		return kazoo.MatchString(prefix)
	}
	return prefix == "lock-"
}

// Sequence reads the number out of a contender's name, which the server has written
// with %010d. ok is false if the child is not a contender.
func Sequence(name string) (n int32, ok bool) {
	for _, digits := range []int{10, 11} { // 11 with a sign
		i := len(name) - digits
		if i < 0 || !isContender(name[:i]) {
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
