package zkserver_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// nodePaths are the nodes that a sequence works on. They are few, so that requests often name the same node.
var nodePaths = []string{"~", "~/a", "~/b", "~/a/c", "~/a/d", "~/b/e", "~/a/c/f"}

// oddPaths are paths that are wrong, or special.
var oddPaths = []string{"~/a/", "~//a", "~/a//c", "~/.", "~/a/..", `"~/a\x00"`, `"~/\x01"`, "~/锁", "~/no/such", `"~/\xff"`}

// someACLs all leave the clean-up, which authenticates as u:p, the right to remove what it finds.
var someACLs = []string{
	"", "", "", "",
	" acl world:anyone:r,digest:u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=:rwcda",
	" acl auth::rwcda", " acl nonsense:x:rwcda", ` acl ""`,
}

// among draws one of some.
func among[T any](t *rapid.T, label string, some ...T) T {
	return rapid.SampledFrom(some).Draw(t, label)
}

func anyPath(t *rapid.T) string { // one in ten is odd
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		return among(t, "path", oddPaths...)
	}
	return among(t, "path", nodePaths...)
}

// watchedPath prefers two paths, so that the watches of a sequence meet each other and the writes.
func watchedPath(t *rapid.T) string {
	switch rapid.IntRange(0, 2).Draw(t, "watched") {
	case 0:
		return "~"
	case 1:
		return "~/a"
	}
	return anyPath(t)
}

func drawVersion(t *rapid.T) string { // "": any version fulfils it
	return among(t, "version", "", "", " version 0", " version 1", " version 2")
}

// drawWrite draws a request that a multi may have. Of ten, five create, three delete, one sets data and one checks.
func drawWrite(t *rapid.T) string {
	path := anyPath(t)
	data := among(t, "data", "", ` data ""`, " data data")
	switch rapid.IntRange(0, 9).Draw(t, "write") {
	case 0, 1, 2, 3, 4:
		op := among(t, "op", "create", "create", "create2", "createContainer", "createTTL")
		flags := among(t, "flags", 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, -1)
		if op == "createTTL" { // one without a time stops a real server
			flags = among(t, "flags", 0, 5, 5, 5, 6, 6)
			data += among(t, "ttl", " ttl 0", " ttl 1000000", " ttl 1000000", " ttl 1000000", " ttl 1099511627776") // 2⁴⁰
		}
		return fmt.Sprintf("%s %s flags %d%s%s", op, path, flags, data, among(t, "acl", someACLs...))
	case 5, 6, 7:
		return "delete " + path + drawVersion(t)
	case 8:
		return "setData " + path + data + drawVersion(t)
	}
	return "check " + path + drawVersion(t)
}

// nullList is the body of a setWatches: a zxid, a null list, and empty ones.
const nullList = "0000000000000000ffffffff0000000000000000000000000000000000000000"

// sequence generates the steps of some clients.
func sequence() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{rapid.IntRange(0, clients-1).Draw(t, "client"), drawText(t)}
	}), 1, 30)
}

// drawText draws the text of a step.
func drawText(t *rapid.T) string {
	switch kind := rapid.IntRange(0, 45).Draw(t, "kind"); { // a case's share of the 46 is how often it is drawn
	case kind < 18:
		text := drawWrite(t)
		if strings.HasPrefix(text, "check ") { // only in a multi
			return "sync " + anyPath(t)
		}
		return text
	case kind < 29:
		return among(t, "op", "exists ", "getData ", "getChildren ", "getChildren2 ") + watchedPath(t) + among(t, "watch", "", " watch")
	case kind < 33:
		text := "multi"
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			text += " [" + drawWrite(t) + "]"
		}
		return text
	case kind == 33:
		return "getACL " + anyPath(t)
	case kind == 34:
		return "setACL " + anyPath(t) + among(t, "acl", someACLs...) + drawVersion(t)
	case kind == 35:
		return fmt.Sprintf("%s %s type %d", among(t, "op", "checkWatches", "removeWatches"), watchedPath(t), among(t, "type", 0, 1, 2, 3, 3, 3, 4))
	case kind == 36:
		return "auth digest u:p"
	case kind == 37:
		return among(t, "odd", "closeSession", "wrongPassword", "op(99)", "raw create 00000063", "raw getData 00000063", "auth digest")
	case kind == 38:
		return "raw " + among(t, "op", "setWatches ", "setWatches2 ") + nullList
	case kind < 43:
		return fmt.Sprintf("addWatch %s mode %d", watchedPath(t), among(t, "mode", 0, 0, 0, 1, 1, 1, 2, -1))
	case kind == 45:
		return "word " + among(t, "word", "srvr", "stat", "cons", "mntr", "isro", "envi", "conf", "ruok")
	}

	lists := []string{"data", "exist", "child"}
	op := among(t, "op", "setWatches", "setWatches2")
	if op == "setWatches2" {
		lists = append(lists, "persistent", "recursive")
	}
	text := fmt.Sprintf("reconnect %s ago %d", op, rapid.IntRange(0, 5).Draw(t, "writes missed"))
	for _, list := range lists {
		if paths := rapid.SliceOfN(rapid.SampledFrom(nodePaths), 0, 3).Draw(t, list); len(paths) > 0 {
			text += " " + list + " " + strings.Join(paths, ",")
		}
	}
	return text
}
