package zkserver_test

import (
	"fmt"

	"example.com/zklock/internal/jute"
	"pgregory.net/rapid"
)

// A diffStep is one thing that one of the clients does.
type diffStep struct {
	client int
	what   string // "request", or what else a client can do
	op     jute.Op
	body   func(root string, writes []int64) encoder // writes: zxids so far
	text   string
}

// String is what a failing sequence is printed as.
func (s diffStep) String() string { return fmt.Sprintf("client %d: %s", s.client, s.text) }

func anyPath() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SampledFrom(odd).Draw(t, "path")
		}
		return rapid.SampledFrom(names).Draw(t, "path")
	})
}

// watchedPath is more often one of two than any other, so that the watches of
// a sequence meet each other and the writes.
func watchedPath() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.Just("/a"), anyPath())
}

func version() *rapid.Generator[int32] { return rapid.SampledFrom([]int32{-1, -1, 0, 1, 2}) }

// write draws a request that changes the tree.
func drawWrite(t *rapid.T) (jute.Op, func(root string) encoder, string) {
	path := anyPath().Draw(t, "path")
	data := rapid.SampledFrom([][]byte{nil, {}, []byte("data")}).Draw(t, "data")
	v := version().Draw(t, "version")
	switch rapid.IntRange(0, 9).Draw(t, "write") {
	case 0, 1, 2, 3, 4:
		op := rapid.SampledFrom([]jute.Op{jute.OpCreate, jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer}).Draw(t, "op")
		flags := rapid.SampledFrom([]int32{0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, -1}).Draw(t, "flags")
		acl := rapid.SampledFrom(diffACLs).Draw(t, "acl")
		return op, func(root string) encoder {
			return &jute.CreateRequest{Path: root + path, Data: data, ACL: acl, Flags: flags}
		}, fmt.Sprintf("%v %q flags %d acl %v", op, path, flags, acl)
	case 5, 6, 7:
		return jute.OpDelete, func(root string) encoder { return &jute.PathVersion{Path: root + path, Version: v} },
			fmt.Sprintf("delete %q version %d", path, v)
	case 8:
		return jute.OpSetData, func(root string) encoder { return &jute.SetDataRequest{Path: root + path, Data: data, Version: v} },
			fmt.Sprintf("setData %q version %d", path, v)
	}
	return jute.OpCheck, func(root string) encoder { return &jute.PathVersion{Path: root + path, Version: v} },
		fmt.Sprintf("check %q version %d", path, v)
}

func sequence() *rapid.Generator[[]diffStep] {
	return rapid.SliceOfN(rapid.Custom(drawStep), 1, 30)
}

func drawStep(t *rapid.T) diffStep {
	s := diffStep{client: rapid.IntRange(0, clients-1).Draw(t, "client"), what: "request"}
	fixed := func(body func(root string) encoder) func(string, []int64) encoder {
		return func(root string, _ []int64) encoder { return body(root) }
	}
	path := anyPath().Draw(t, "path")
	switch kind := rapid.IntRange(0, 44).Draw(t, "kind"); {
	case kind < 18:
		op, body, text := drawWrite(t)
		if op == jute.OpCheck { // only in a multi
			op, body, text = jute.OpSync, func(root string) encoder { return pathBody(root + path) }, fmt.Sprintf("sync %q", path)
		}
		s.op, s.body, s.text = op, fixed(body), text
	case kind < 29:
		watch := rapid.Bool().Draw(t, "watch")
		path := watchedPath().Draw(t, "path")
		s.op = rapid.SampledFrom([]jute.Op{jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2}).Draw(t, "op")
		s.body = fixed(func(root string) encoder { return &jute.PathWatch{Path: root + path, Watch: watch} })
		s.text = fmt.Sprintf("%v %q watch %v", s.op, path, watch)
	case kind < 33:
		var ops []jute.Op
		var bodies []func(string) encoder
		s.text = "multi"
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			op, body, text := drawWrite(t)
			ops, bodies = append(ops, op), append(bodies, body)
			s.text += " [" + text + "]"
		}
		s.op, s.body = jute.OpMulti, fixed(func(root string) encoder {
			var m multi
			for i := range ops {
				m = append(m, struct {
					op   jute.Op
					body encoder
				}{ops[i], bodies[i](root)})
			}
			return m
		})
	case kind == 33:
		s.op, s.text = jute.OpGetACL, fmt.Sprintf("getACL %q", path)
		s.body = fixed(func(root string) encoder { return pathBody(root + path) })
	case kind == 34:
		acl := rapid.SampledFrom(diffACLs).Draw(t, "acl")
		v := version().Draw(t, "version")
		s.op, s.text = jute.OpSetACL, fmt.Sprintf("setACL %q %v version %d", path, acl, v)
		s.body = fixed(func(root string) encoder { return &jute.SetACLRequest{Path: root + path, ACL: acl, Version: v} })
	case kind == 35:
		s.op = rapid.SampledFrom([]jute.Op{jute.OpCheckWatches, jute.OpRemoveWatches}).Draw(t, "op")
		path := watchedPath().Draw(t, "path")
		typ := rapid.SampledFrom([]int32{0, 1, 2, 3, 3, 3, 4}).Draw(t, "type")
		s.text = fmt.Sprintf("%v %q type %d", s.op, path, typ)
		s.body = fixed(func(root string) encoder { return &jute.PathType{Path: root + path, Type: typ} })
	case kind == 36:
		s.op, s.text = jute.OpAuth, "auth u:p"
		s.body = fixed(func(string) encoder { return &jute.AuthPacket{Scheme: "digest", Auth: []byte("u:p")} })
	case kind == 37:
		s.what = rapid.SampledFrom([]string{"closeSession", "wrong password", "unknown op", "garbage body", "auth without data"}).Draw(t, "what")
		s.text = s.what
	case kind == 38:
		s.op = rapid.SampledFrom([]jute.Op{jute.OpSetWatches, jute.OpSetWatches2}).Draw(t, "op")
		s.text = fmt.Sprintf("%v with a null list", s.op)
		s.body = fixed(func(string) encoder {
			return raw{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		})
	case kind < 43:
		path := watchedPath().Draw(t, "path")
		mode := rapid.SampledFrom([]int32{0, 0, 0, 1, 1, 1, 2, -1}).Draw(t, "mode")
		s.op, s.text = jute.OpAddWatch, fmt.Sprintf("addWatch %q mode %d", path, mode)
		s.body = fixed(func(root string) encoder { return &jute.AddWatch{Path: root + path, Mode: mode} })
	default:
		s.what = "reconnect"
		s.op = rapid.SampledFrom([]jute.Op{jute.OpSetWatches, jute.OpSetWatches2}).Draw(t, "op")
		ago := rapid.IntRange(0, 5).Draw(t, "writes missed")
		data := rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "data")
		exist := rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "exist")
		child := rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "child")
		s.text = fmt.Sprintf("reconnect, %v as of %d writes ago: data %q exist %q child %q", s.op, ago, data, exist, child)
		var persistent, recursive []string
		if s.op == jute.OpSetWatches2 {
			persistent = rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "persistent")
			recursive = rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "recursive")
			s.text += fmt.Sprintf(" persistent %q recursive %q", persistent, recursive)
		}
		s.body = func(root string, writes []int64) encoder {
			prefix := func(ps []string) (out []string) {
				for _, p := range ps {
					out = append(out, root+p)
				}
				return out
			}
			r := jute.SetWatches{RelativeZxid: writes[max(0, len(writes)-1-ago)], Data: prefix(data), Exist: prefix(exist), Child: prefix(child)}
			if s.op == jute.OpSetWatches {
				return &r
			}
			return &jute.SetWatches2{SetWatches: r, Persistent: prefix(persistent), Recursive: prefix(recursive)}
		}
	}
	return s
}
