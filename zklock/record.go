package zklock

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The name of a contender's node is Curator's: _c_<id>-lock-<number>. By the id a
// contender finds its node if the reply to its create was lost, and no other
// node ever has the same name. The server appends the number, ten digits.
const (
	protected = "_c_"
	suffix    = "-lock-"
)

// curatorRevoke is what Curator's Revoker writes into the node of a holder.
const curatorRevoke = "__REVOKE__"

// A record is the data of a contender's node, as JSON.
type record struct {
	Owner  string `json:"owner"`            // for whom the node was made
	Data   string `json:"data,omitempty"`   // WithData
	Bytes  []byte `json:"base64,omitempty"` // in place of Data if that is not text
	ID     string `json:"id"`               // the id in the node's name: by it the record is known to be ours
	Revoke bool   `json:"revoke,omitempty"` // the holder is asked to let go
}

func newRecord(owner string, data []byte) record {
	if utf8.Valid(data) {
		return record{Owner: owner, Data: string(data)}
	}
	return record{Owner: owner, Bytes: data}
}

// parseRecord reads the data of a node. False: the node is another library's, or
// its data has been written over.
func parseRecord(name string, data []byte) (r record, ok bool) {
	ok = json.Unmarshal(data, &r) == nil && r.ID != "" && strings.HasPrefix(name, protected+r.ID+suffix)
	return r, ok
}

func (r record) encode() []byte {
	data, _ := json.Marshal(r) // there is nothing in a record that JSON cannot hold
	return data
}

func (r record) data() []byte { return append(r.Bytes, r.Data...) } // one of them is empty

// contenders matches what stands before the number in a contender's name: ours,
// Curator's and zk.Lock's; that of a lock without an id; kazoo's.
var contenders = regexp.MustCompile(`^(?:_c_.*-lock-|lock-|[0-9a-f]{32}__lock__)$`)

// sequence reads the number out of a contender's name. False: the child is not a
// contender.
func sequence(name string) (n int32, ok bool) {
	for _, digits := range []int{10, 11} { // 11 with a sign
		i := len(name) - digits
		if i < 0 || !contenders.MatchString(name[:i]) {
			continue
		}
		v, err := strconv.ParseInt(name[i:], 10, 32)
		return int32(v), err == nil && name[i:] == fmt.Sprintf("%010d", v)
	}
	return 0, false
}

// order is negative if the number a was given out before b. The server's counter
// has 32 bits: where it wraps, 2³¹-1 is followed by -2³¹, and the difference
// wraps with it.
func order(a, b int32) int { return int(a - b) }
