package zkserver_test

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"example.com/zklock/internal/jute"
)

// nodePaths are the nodes that a sequence works on, so few that requests meet.
var nodePaths = []string{"~", "~/a", "~/b", "~/a/c", "~/a/d", "~/b/e", "~/a/c/f"}

// oddPaths are paths that are wrong, or special.
var oddPaths = []string{"~/a/", "~//a", "~/a//c", "~/.", "~/a/..", `"~/a\x00"`, `"~/\x01"`, "~/锁", "~/no/such", `"~/\xff"`}

// someACLs all leave the clean-up, which authenticates as u:p, the right to
// remove what it finds.
var someACLs = []string{
	"", "", "", "",
	" acl world:anyone:r,digest:u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=:rwcda",
	" acl auth::rwcda", " acl nonsense:x:rwcda", ` acl ""`,
}

// among draws one of some.
func among[T any](t *rapid.T, label string, some ...T) T {
	return rapid.SampledFrom(some).Draw(t, label)
}

func anyPath(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		return among(t, "path", oddPaths...)
	}
	return among(t, "path", nodePaths...)
}

// watchedPath is more often one of two than any other, so that the watches of
// a sequence meet each other and the writes.
func watchedPath(t *rapid.T) string {
	switch rapid.IntRange(0, 2).Draw(t, "watched") {
	case 0:
		return "~"
	case 1:
		return "~/a"
	}
	return anyPath(t)
}

func drawVersion(t *rapid.T) string { // "" is -1, which any version fulfils
	return among(t, "version", "", "", " version 0", " version 1", " version 2")
}

// drawWrite draws a request that changes the tree; a check is one in a multi.
func drawWrite(t *rapid.T) string {
	path := anyPath(t)
	data := among(t, "data", "", ` data ""`, " data data")
	switch rapid.IntRange(0, 9).Draw(t, "write") {
	case 0, 1, 2, 3, 4:
		op := among(t, "op", "create", "create", "create2", "createContainer", "createTTL")
		flags := among(t, "flags", 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, -1)
		if op == "createTTL" { // one without a time stops a real server
			flags = among(t, "flags", 0, 5, 5, 5, 6, 6)
			data += among(t, "ttl", " ttl 0", " ttl 1000000", " ttl 1000000", " ttl 1000000", " ttl 1099511627776")
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

func sequence() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{rapid.IntRange(0, clients-1).Draw(t, "client"), drawText(t)}
	}), 1, 30)
}

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

// A step is one thing that one of the clients does, as a script and a failing
// sequence have it: the client's number, a request, its path, and its arguments,
// each with its name before it. A word with blanks or unprintable characters is quoted
// as in Go; ~ is the node that a script works on. Three lines are not requests of ZooKeeper:
//
//	reconnect setWatches …   on a new connection, the session's watches are set again
//	wrongPassword            another client asks for the session, and does not know its password
//	raw REQUEST HEX          a body byte by byte
type step struct {
	client int
	text   string
}

func (l step) String() string { return fmt.Sprintf("%d %s", l.client, l.text) }

// split returns the words of a request.
func split(text string) (words []string) {
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		word, rest, _ := strings.Cut(text, " ")
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			word, _ = strconv.Unquote(quoted)
			rest = text[len(quoted):]
		}
		words, text = append(words, word), rest
	}
	return words
}

var opsByName = func() map[string]jute.Op {
	ops := map[string]jute.Op{"closeSession": jute.OpCloseSession}
	for op := range jute.OpWhoAmI + 1 {
		ops[op.String()] = op
	}
	return ops
}()

// arguments are those of a request, by name.
type arguments map[string]string

func (a arguments) number(name string, without int) int32 {
	n, err := strconv.Atoi(a[name])
	if err != nil {
		return int32(without)
	}
	return int32(n)
}

func (a arguments) data() []byte {
	data, ok := a["data"]
	if !ok {
		return nil
	}
	return []byte(data)
}

func (a arguments) list(name, root string) (paths []string) {
	for _, path := range strings.Fields(strings.ReplaceAll(a[name], ",", " ")) {
		paths = append(paths, root+strings.TrimPrefix(path, "~"))
	}
	return paths
}

const permissions = "rwcda" // in the order of their bits

func (a arguments) acl() (acl []jute.ACL) {
	text, ok := a["acl"]
	if !ok {
		return jute.WorldACL()
	}
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		scheme, rest, _ := strings.Cut(entry, ":")
		i := strings.LastIndex(rest, ":")
		one := jute.ACL{Scheme: scheme, ID: rest[:i]}
		for _, letter := range rest[i+1:] {
			one.Perms |= 1 << strings.IndexRune(permissions, letter)
		}
		acl = append(acl, one)
	}
	return acl
}

func aclText(acl []jute.ACL) string {
	var entries []string
	for _, one := range acl {
		entry := one.Scheme + ":" + one.ID + ":"
		for i, letter := range permissions {
			if one.Perms&(1<<i) != 0 {
				entry += string(letter)
			}
		}
		entries = append(entries, entry)
	}
	return strings.Join(entries, ",")
}

// parse returns the request that a text is, on the nodes below root. A setWatches
// counts back from the last of the writes.
func parse(text, root string, writes []int64) (jute.Op, encoder) {
	words := append(split(text), "", "", "")
	op, path := opsByName[words[0]], words[1]
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		path = root + rest
	}
	first := 2 // of the arguments
	if op == jute.OpSetWatches || op == jute.OpSetWatches2 {
		first = 1
	}
	args := make(arguments)
	for i := first; i+1 < len(words); i += 2 {
		if words[i] != "" {
			args[words[i]] = words[i+1]
		}
	}
	version := args.number("version", -1)
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		return op, &jute.CreateRequest{Path: path, Data: args.data(), ACL: args.acl(), Flags: args.number("flags", 0)}
	case jute.OpCreateTTL:
		r := jute.CreateRequest{Path: path, Data: args.data(), ACL: args.acl(), Flags: args.number("flags", 0)}
		ttl, err := strconv.ParseInt(args["ttl"], 10, 64)
		if err != nil {
			ttl = -1
		}
		return op, &jute.CreateTTLRequest{CreateRequest: r, TTL: ttl}
	case jute.OpDelete, jute.OpCheck:
		return op, &jute.PathVersion{Path: path, Version: version}
	case jute.OpSetData:
		return op, &jute.SetDataRequest{Path: path, Data: args.data(), Version: version}
	case jute.OpSetACL:
		return op, &jute.SetACLRequest{Path: path, ACL: args.acl(), Version: version}
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		return op, &jute.PathWatch{Path: path, Watch: words[2] == "watch"}
	case jute.OpGetACL, jute.OpSync, jute.OpGetAllChildrenNumber, jute.OpGetEphemerals:
		return op, pathBody(path)
	case jute.OpCheckWatches, jute.OpRemoveWatches:
		return op, &jute.PathType{Path: path, Type: args.number("type", int(jute.WatcherAny))}
	case jute.OpAddWatch:
		return op, &jute.AddWatch{Path: path, Mode: args.number("mode", 0)}
	case jute.OpAuth:
		r := &jute.AuthPacket{Scheme: path}
		if words[2] != "" {
			r.Auth = []byte(words[2])
		}
		return op, r
	case jute.OpSetWatches, jute.OpSetWatches2:
		seen := writes[max(0, len(writes)-1-int(args.number("ago", 0)))]
		r := jute.SetWatches{RelativeZxid: seen, Data: args.list("data", root), Exist: args.list("exist", root), Child: args.list("child", root)}
		if op == jute.OpSetWatches {
			return op, &r
		}
		return op, &jute.SetWatches2{SetWatches: r, Persistent: args.list("persistent", root), Recursive: args.list("recursive", root)}
	case jute.OpMulti:
		var m multi
		for part := range strings.SplitSeq(text, "[") {
			if part, ok := strings.CutSuffix(strings.TrimSpace(part), "]"); ok {
				op, body := parse(part, root, writes)
				m = append(m, operation{op, body})
			}
		}
		return op, m
	}
	if words[0] == "raw" {
		b, err := hex.DecodeString(words[2])
		if err != nil {
			panic(err)
		}
		return opsByName[words[1]], raw(b)
	}
	if op == 0 {
		panic("no such request: " + text)
	}
	return op, raw{}
}

// An operation is one of a multi.
type operation struct {
	op   jute.Op
	body encoder
}

// A multi is the body of a multi request.
type multi []operation

func (m multi) Encode(e *jute.Encoder) {
	for _, part := range m {
		(&jute.MultiHeader{Op: part.op, Err: -1}).Encode(e)
		part.body.Encode(e)
	}
	(&jute.MultiHeader{Op: -1, Done: true, Err: -1}).Encode(e)
}
