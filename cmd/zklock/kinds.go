package main

import (
	"encoding/json"
	"regexp"
	"strconv"

	"example.com/zklock/internal/language"
)

// A class is a set of contenders that others wait for.
type class int

const (
	exclusive class = 1 << iota
	kazooLock       // and kazoo's WriteLock, whose node is the same
	kazooRead
	curatorRead
	curatorWrite
	latch
	lease
)

// A kind is a library's kind of node, which is known by the node's name.
type kind struct {
	library language.Text
	name    *regexp.Regexp
	is      class
	after   class // those before it that it waits for
	asked   bool  // it may read a request to release the lock
}

// The ids in a name: of zklock, zk.Lock and kazoo, and of Curator.
const guid, uuid = `[0-9a-f]{32}`, `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

func named(prefix string) *regexp.Regexp {
	return regexp.MustCompile(`^` + prefix + `(\d{10}|-\d{9,10})$`)
}

var kinds = []kind{
	{language.Same("zk.Lock"), named(`_c_(?:` + guid + `)-lock-`), exclusive, exclusive | kazooLock, false}, // or zklock: see described
	{language.Say("Curator mutex", "Curator 互斥锁"), named(`_c_` + uuid + `-lock-`), exclusive, exclusive | kazooLock, true},
	{language.Say("Curator read lock", "Curator 读锁"), named(`_c_` + uuid + `-__READ__`), curatorRead, curatorWrite, false},
	{language.Say("Curator write lock", "Curator 写锁"), named(`_c_` + uuid + `-__WRIT__`), curatorWrite, curatorRead | curatorWrite, false},
	{language.Say("Curator semaphore", "Curator 信号量"), named(`_c_` + uuid + `-lease-`), lease, 0, false},
	{language.Say("Curator latch", "Curator 选举"), named(`_c_` + uuid + `-latch-`), latch, latch, false},
	{language.Say("kazoo lock", "kazoo 锁"), named(guid + `__lock__`), kazooLock, exclusive | kazooLock | kazooRead, false},
	{language.Say("kazoo read lock", "kazoo 读锁"), named(guid + `__rlock__`), kazooRead, kazooLock, false},
	{language.Same("lock-"), named(`lock-`), exclusive, exclusive | kazooLock, false},
}

// kindOf returns the kind of a node, and the number in its name. ok is false if the node is not
// a contender's.
func kindOf(name string) (k kind, number int32, ok bool) {
	for _, k := range kinds {
		if found := k.name.FindStringSubmatch(name); found != nil {
			n, err := strconv.ParseInt(found[1], 10, 32)
			return k, int32(n), err == nil
		}
	}
	return kind{}, 0, false
}

// described reads what the library has written into the node: zklock's data is JSON, with the
// id in the node's name.
func (p *contender) described(name string, data []byte) {
	var record struct {
		Owner, Data, ID string
		Base64          []byte
	}
	if p.kind.library == kinds[0].library && json.Unmarshal(data, &record) == nil && len(record.ID) == 32 && record.ID == name[3:35] {
		p.kind.library, p.kind.asked = language.Same("zklock"), true
		p.Owner, data = record.Owner, append(record.Base64, record.Data...) // one of them is empty
	}
	p.Data = string(data)
}
