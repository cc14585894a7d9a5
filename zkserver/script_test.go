// The language of testdata/*.txt, in which a step is a line of text, and which TestDifferential prints.
package zkserver_test

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"example.com/zklock/internal/jute"
)

// A step is one thing that one of the clients does, as a script and a failing sequence have it: the client's number, a
// request, its path, and its arguments, each with its name before it. A word with blanks or unprintable characters is
// quoted as in Go; ~ is the node that a script works on. Some lines have a form of their own:
//
//	multi [REQUEST] [REQUEST] …
//	word WORD                a four-letter word, on a connection of its own
//	reconnect setWatches …   on a new connection, the session's watches are set again
//	wrongPassword            another client asks for the session, and does not know its password
//	raw REQUEST HEX          a body byte by byte
type step struct {
	client int
	text   string
}

func (s step) String() string { return fmt.Sprintf("%d %s", s.client, s.text) }

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

type arguments map[string]string // of a request, by name

func (a arguments) number(name string, otherwise int) int32 {
	n, err := strconv.Atoi(a[name])
	if err != nil {
		return int32(otherwise)
	}
	return int32(n)
}

func (a arguments) data() []byte {
	if data, ok := a["data"]; ok {
		return []byte(data)
	}
	return nil
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

// parse returns the request that a text stands for, on the nodes below root. writes are the zxids of all writes so far:
// in a setWatches, "ago N" says that the client has seen all but the last N of them.
func parse(text, root string, writes []int64) (jute.Op, encoder) {
	words := append(split(text), "", "", "") // so that words[1] and words[2] are there
	op, path := opsByName[words[0]], words[1]
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		path = root + rest
	}
	firstArg := 2 // behind the path
	if op == jute.OpSetWatches || op == jute.OpSetWatches2 {
		firstArg = 1 // these have none
	}
	args := make(arguments)
	for i := firstArg; i+1 < len(words); i += 2 {
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
	return op, raw{} // closeSession and whoAmI have no body
}

type multi []operation // the body of a multi request

type operation struct {
	op   jute.Op
	body encoder
}

func (m multi) Encode(e *jute.Encoder) {
	for _, part := range m {
		(&jute.MultiHeader{Op: part.op, Err: -1}).Encode(e)
		part.body.Encode(e)
	}
	jute.EndOfMulti.Encode(e)
}
