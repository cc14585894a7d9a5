package zklock

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const prefix = "lock-" // the server appends the number, ten digits

// curatorRevoke is what Curator's Revoker writes into the node of a holder.
const curatorRevoke = "__REVOKE__"

// A record is the data of a contender's node, as JSON. The id is here and not
// in the name, as it is with Curator. So names are short, and tell what the
// name before them is likely to be.
type record struct {
	Owner  string `json:"owner"`
	Data   string `json:"data,omitempty"`
	Bytes  []byte `json:"base64,omitempty"` // in place of Data if that is no text
	ID     string `json:"id"`               // identifies a node whose create was never answered
	Of     int64  `json:"of,omitempty"`     // the czxid of the node, in all but its first record
	Revoke int64  `json:"revoke,omitempty"` // the same, if it is asked for the lock
}

func newRecord(owner, id string, data []byte) record {
	if utf8.Valid(data) {
		return record{Owner: owner, ID: id, Data: string(data)}
	}
	return record{Owner: owner, ID: id, Bytes: data}
}

// parseRecord reads the data of a node. False: it is not a node of ours.
func parseRecord(data []byte) (r record, ok bool) {
	return r, json.Unmarshal(data, &r) == nil && r.ID != ""
}

func (r record) encode() []byte {
	data, _ := json.Marshal(r) // there is nothing in a record that JSON cannot hold
	return data
}

func (r record) data() []byte { return append(r.Bytes, r.Data...) } // one of them is empty

// foreign matches the names that put an id before the number: Curator's and
// zk.Lock's, and kazoo's.
var foreign = regexp.MustCompile(`^(?:_c_.*-lock-|[0-9a-f]{32}__lock__)(-?[0-9]+)$`)

// sequence reads the number out of a contender's name. False: the child is no
// contender.
func sequence(name string) (n int32, ok bool) {
	digits, ours := strings.CutPrefix(name, prefix)
	if !ours {
		match := foreign.FindStringSubmatch(name)
		if match == nil {
			return 0, false
		}
		digits = match[1]
	}
	v, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || digits != fmt.Sprintf("%010d", v) {
		return 0, false
	}
	return int32(v), true
}

// order is negative if the number a was given out before b. The server's counter
// has 32 bits: where it wraps, 2³¹-1 is followed by -2³¹, and the difference
// wraps with it.
func order(a, b int32) int { return int(a - b) }

// A contender is a child of the queue's parent.
type contender struct {
	name   string
	number int32
}
