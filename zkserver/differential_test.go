// The same random requests are sent to two servers, and the answers are compared.
package zkserver_test

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// TestDifferential sends generated sequences of requests to the embedded server and to the real one that
// ZK names, byte for byte the same. Replies, events and their order must agree; session ids, passwords
// and times are masked, zxids compared by their order. A difference is shrunk to its smallest case.
// -rapid.checks says how many sequences. Where there is no real server, two embedded ones must agree.
func TestDifferential(t *testing.T) {
	var options []zkserver.Option
	if !testenv.Elsewhere() { // two embedded servers
		options = append(needsExtended(t), noExpiry)
	} else if os.Getenv("ZK_EXTENDED") != "" { // the real one has TTL nodes and all words: so has the embedded one
		options = needsExtended(t)
	}
	one, other := &target{T: t, srv: zkserver.Run(t, options...)}, newTarget(t, options...)
	rapid.Check(t, func(rt *rapid.T) {
		steps, root := sequence().Draw(rt, "steps"), newRoot()
		if found := difference(play(rt, one, root, steps), play(rt, other, root, steps)); found != "" {
			rt.Fatal(found)
		}
	})
}

// The comparison finds a difference where there is one: a server that has TTL nodes differs from one that has none.
func TestDifferentialFindsADifference(t *testing.T) {
	needsEmbedded(t)
	one, other := &target{T: t, srv: zkserver.Run(t, noExpiry)}, &target{T: t, srv: zkserver.Run(t, noExpiry, zkserver.WithTTL())}
	found := ""
	for seed := 0; found == "" && seed < 1000; seed++ {
		steps, root := sequence().Example(seed), newRoot()
		found = difference(play(t, one, root, steps), play(t, other, root, steps))
	}
	require.Contains(t, found, "embedded:\n  Unimplemented")
}

// newRoot is the path of the node that a sequence works on. It has a parent of its own,
// because a sequential node's number depends on what was made below its parent before.
func newRoot() string { return "/diff" + rand.Text() + "/r" }

const (
	clients   = 3
	unknownOp = 99 // the number of no request
)

// A player plays a sequence on one server and records the answers.
type player struct {
	tg       *target
	conns    []*wire
	sessions map[int64]string // id → name that is the same on both servers
	writes   []int64          // zxids of our own writes
	received []string
}

func (p *player) say(format string, args ...any) {
	p.received = append(p.received, fmt.Sprintf(format, args...))
}

func (p *player) connect(i int) {
	c := p.tg.dial()
	resp, err := c.handshake(jute.ConnectRequest{TimeoutMs: longest, Password: make([]byte, 16)})
	if err != nil || resp.SessionID == 0 {
		p.say("no session: %v", err)
	}
	p.sessions[resp.SessionID] = fmt.Sprintf("<session %d.%d>", i, len(p.sessions))
	p.conns[i] = c
}

// reattach takes client i back into its session with a password, and records what becomes of its old connection.
func (p *player) reattach(i int, password []byte) {
	old := p.conns[i]
	c := p.tg.dial()
	resp, err := c.handshake(jute.ConnectRequest{TimeoutMs: longest, SessionID: old.session.SessionID, Password: password})
	p.say("  handshake: %v %s timeout %d", err, p.sessions[resp.SessionID], resp.TimeoutMs)
	for {
		if _, err := old.readFrame(patience); err != nil {
			p.say("  old connection: closed %v", !errors.Is(err, os.ErrDeadlineExceeded))
			break
		}
	}
	old.Close()
	if resp.SessionID != 0 {
		c.xid = old.xid
		p.conns[i] = c
	}
}

// play returns what every client received, in order.
func play(t require.TestingT, tg *target, root string, steps []step) []string {
	p := &player{tg: tg, conns: make([]*wire, clients), sessions: map[int64]string{0: "none"}}
	admin := tg.connect()
	auth := func() { admin.do(jute.OpAuth, &jute.AuthPacket{Scheme: "digest", Auth: []byte("u:p")}) }
	auth()
	parent := path.Dir(root)
	for _, node := range []string{parent, root, root + "/a", root + "/a/c"} { // something to begin with
		require.Equal(t, jute.OK, admin.create(node, jute.FlagPersistent), node)
	}
	p.writes = append(p.writes, admin.zxid)
	for i := range p.conns {
		p.connect(i)
	}

	for _, st := range steps {
		p.say("%v", st)
		p.playStep(st, root)
		p.recordEvents(parent, st.text == "closeSession")
		admin.eventsNow() // keeps its session alive
	}
	for _, c := range p.conns {
		c.write(frame(&jute.RequestHeader{Xid: 1 << 20, Op: jute.OpCloseSession})) // an xid that no step has
		io.Copy(io.Discard, c.r)
		c.Close()
	}
	tg.removeAll(admin, parent)
	admin.do(jute.OpCloseSession, raw{})
	admin.Close()
	return p.masked(root)
}

// values match what differs between two servers in the answer to a four-letter word, and from one moment to the next.
var (
	values         = regexp.MustCompile(`=.*|: .*|\t.*`)
	valuesOfClient = regexp.MustCompile(`/[0-9.:]+\[\d+\]|=[^,)]*`)
)

// recordWord records the lines of the answer to a four-letter word, without values. Those of
// clients come in any order, and a connection may be listed after its end.
func (p *player) recordWord(word string) {
	var ofClients, lines []string
	for line := range strings.Lines(p.tg.askWord(word)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, " "):
			ofClients = append(ofClients, valuesOfClient.ReplaceAllString(line, "…"))
		case strings.Contains(line, "_per_namespace"): // only those namespaces that have been written to
		default:
			lines = append(lines, values.ReplaceAllString(line, "…"))
		}
	}
	slices.Sort(ofClients)
	p.say("  %s | %s", strings.Join(slices.Compact(ofClients), " | "), strings.Join(lines, " | "))
}

// playStep plays a step such as "getData ~/a watch", "reconnect setWatches ago 1 data ~/a" or "word srvr".
func (p *player) playStep(st step, root string) {
	c := p.conns[st.client]
	if word, ok := strings.CutPrefix(st.text, "word "); ok {
		p.recordWord(word)
		return
	}
	if st.text == "wrongPassword" {
		p.reattach(st.client, []byte("wrong password !"))
		p.reattach(st.client, c.session.Password)
		return
	}
	text, reconnects := strings.CutPrefix(st.text, "reconnect ")
	if reconnects {
		p.reattach(st.client, c.session.Password)
		c = p.conns[st.client]
	}

	op, body := parse(text, root, p.writes)
	code := p.request(c, op, body)
	if op != jute.OpCloseSession && code != jute.ErrAuthFailed && op != unknownOp {
		return
	}
	_, err := c.readFrame(patience)
	p.say("  connection closed: %v", err != nil && !errors.Is(err, os.ErrDeadlineExceeded))
	if op == jute.OpCloseSession {
		p.connect(st.client)
	} else {
		p.reattach(st.client, c.session.Password)
	}
}

var codeNames = map[jute.Code]string{
	jute.OK: "ok", jute.ErrRuntimeInconsistency: "RuntimeInconsistency", jute.ErrMarshalling: "Marshalling",
	jute.ErrUnimplemented: "Unimplemented", jute.ErrBadArguments: "BadArguments", jute.ErrNoNode: "NoNode",
	jute.ErrNoAuth: "NoAuth", jute.ErrBadVersion: "BadVersion", jute.ErrNoChildrenForEphemeral: "NoChildrenForEphemeral",
	jute.ErrNodeExists: "NodeExists", jute.ErrNotEmpty: "NotEmpty", jute.ErrInvalidACL: "InvalidACL",
	jute.ErrAuthFailed: "AuthFailed", jute.ErrNoWatcher: "NoWatcher",
}

// request sends one request and records its reply and the events before it.
func (p *player) request(c *wire, op jute.Op, body encoder) jute.Code {
	c.xid++
	c.write(frame(&jute.RequestHeader{Xid: c.xid, Op: op}, body))
	h, d, err := c.read()
	for _, ev := range c.events {
		p.say("  before the reply: %v %s", ev.typ, ev.path)
	}
	if err != nil {
		p.say("  no reply: %v", err)
		return 0
	}
	text := cmp.Or(codeNames[h.Err], fmt.Sprint("code ", int32(h.Err)))
	switch { // the zxid of a read is not compared: it depends on what others write to the real server
	case isWrite(op):
		p.writes = append(p.writes, h.Zxid)
		text += " " + mark(h.Zxid)
	case op == jute.OpAuth || op == unknownOp:
		text += fmt.Sprint(" zxid ", h.Zxid)
	}
	text += p.bodyText(op, h.Err, d)
	if h.Xid != c.xid || d.Len() > 0 || d.Err() != nil {
		text += fmt.Sprintf(" xid+%d, %d bytes more, error %v", h.Xid-c.xid, d.Len(), d.Err())
	}
	p.say("  %s", text)
	return h.Err
}

func mark(zxid int64) string { return fmt.Sprintf("{%d}", zxid) } // so that masked finds it

func (p *player) statText(d *jute.Decoder) string {
	var s jute.Stat
	s.Decode(d)
	text := fmt.Sprintf(" stat{c%s m%s p%s v%d cv%d av%d", mark(s.Czxid), mark(s.Mzxid), mark(s.Pzxid), s.Version, s.Cversion, s.Aversion)
	if s.EphemeralOwner != 0 {
		text += " owner " + p.sessions[s.EphemeralOwner]
	}
	return text + fmt.Sprintf(" len %d children %d times %v}", s.DataLength, s.NumChildren, s.Ctime > 0 && s.Mtime > 0)
}

func (p *player) bodyText(op jute.Op, code jute.Code, d *jute.Decoder) string {
	if code != jute.OK {
		return ""
	}
	data := func() string {
		if b := d.Buffer(); b != nil {
			return fmt.Sprintf(" %q", b)
		}
		return " null"
	}
	sorted := func() string {
		names := d.Strings()
		slices.Sort(names)
		return fmt.Sprintf(" %q", names)
	}
	switch op {
	case jute.OpCreate, jute.OpSync:
		return " " + d.String()
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return " " + d.String() + p.statText(d)
	case jute.OpExists, jute.OpSetData, jute.OpSetACL:
		return p.statText(d)
	case jute.OpGetData:
		return data() + p.statText(d)
	case jute.OpGetChildren, jute.OpGetEphemerals:
		return sorted()
	case jute.OpGetChildren2:
		return sorted() + p.statText(d)
	case jute.OpAddWatch, jute.OpGetAllChildrenNumber:
		return fmt.Sprint(" ", d.Int32())
	case jute.OpGetACL:
		return " " + aclText(d.ACLs()) + p.statText(d)
	case jute.OpWhoAmI:
		var who []string
		for range d.Int32() {
			scheme, user := d.String(), d.String()
			if scheme == "ip" {
				user = "address"
			}
			who = append(who, scheme+" "+user)
		}
		slices.Sort(who)
		return " " + strings.Join(who, ", ")
	case jute.OpMulti:
		return p.resultsText(d)
	}
	return ""
}

// resultsText returns the results of a multi as text.
func (p *player) resultsText(d *jute.Decoder) (text string) {
	for {
		var h jute.MultiHeader
		h.Decode(d)
		malformed := d.Err() != nil || h.Done || h.Op != jute.OpError && h.Err != jute.OK
		switch {
		case h == jute.EndOfMulti:
			return text
		case malformed:
			return text + fmt.Sprintf(" %+v", h)
		}
		text += fmt.Sprintf(" [%v", h.Op)
		switch h.Op {
		case jute.OpCreate:
			text += " " + d.String()
		case jute.OpCreate2:
			text += " " + d.String() + p.statText(d)
		case jute.OpSetData:
			text += p.statText(d)
		case jute.OpError:
			text += fmt.Sprintf(" %s %s", codeNames[h.Err], codeNames[jute.Code(d.Int32())])
		}
		text += "]"
	}
}

// recordEvents records the events below parent that the clients got of a step.
func (p *player) recordEvents(parent string, anyOrder bool) {
	for i, c := range p.conns {
		c.write(frame(&jute.RequestHeader{Xid: jute.XidPing, Op: jute.OpPing}))
		if h, _, err := c.read(); err != nil || h.Xid != jute.XidPing {
			p.say("  client %d: ping: %v %d", i, err, h.Xid)
		}
		if anyOrder { // the nodes of a session go in no particular order
			slices.SortFunc(c.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.typ, b.typ)) })
		}
		for _, ev := range c.events {
			if strings.HasPrefix(ev.path, parent) || ev.path == "" { // a watch of / sees what others do
				p.say("  client %d: event %v %s", i, ev.typ, ev.path)
			}
		}
	}
}

var marked = regexp.MustCompile(`\{(-?\d+)\}`)

// masked replaces each zxid by its rank among all that were received, and the name of the root, which is random.
func (p *player) masked(root string) []string {
	var zxids []int64
	for _, line := range p.received {
		for _, m := range marked.FindAllStringSubmatch(line, -1) {
			z, _ := strconv.ParseInt(m[1], 10, 64)
			zxids = append(zxids, z)
		}
	}
	slices.Sort(zxids)
	zxids = slices.Compact(zxids)
	for i, line := range p.received {
		line = strings.ReplaceAll(line, root, "~")
		p.received[i] = marked.ReplaceAllStringFunc(line, func(m string) string {
			z, _ := strconv.ParseInt(strings.Trim(m, "{}"), 10, 64)
			rank, _ := slices.BinarySearch(zxids, z)
			return fmt.Sprintf("#%d", rank)
		})
	}
	return p.received
}

// difference returns the first place at which the answers of two servers differ, with all before it; "" if none does.
func difference(ours, other []string) string {
	for i := range max(len(ours), len(other)) {
		if i < len(ours) && i < len(other) && ours[i] == other[i] {
			continue
		}
		tail := func(lines []string) string { return strings.Join(lines[min(i, len(lines)):min(i+3, len(lines))], "\n") }
		same := strings.Join(ours[:min(i, len(ours))], "\n")
		return fmt.Sprintf("after\n%s\nembedded:\n%s\nthe other:\n%s", same, tail(ours), tail(other))
	}
	return ""
}

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

// among draws one of some values. rapid prints it with the label.
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

func drawVersion(t *rapid.T) string { // "", for any version, is twice as likely as each of the others
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

// nullList is the body of a setWatches in hex: a zxid of 8 bytes, a null list, and empty ones, of 4 bytes each.
const nullList = "0000000000000000ffffffff0000000000000000000000000000000000000000"

func sequence() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{rapid.IntRange(0, clients-1).Draw(t, "client"), drawText(t)}
	}), 1, 30)
}

func drawText(t *rapid.T) string {
	switch kind := rapid.IntRange(0, 45).Draw(t, "kind"); { // a case's share of the 46 is how often it is drawn
	case kind < 18: // a write
		text := drawWrite(t)
		if strings.HasPrefix(text, "check ") { // only in a multi
			return "sync " + anyPath(t)
		}
		return text
	case kind < 29: // a read that can set a watch
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

	// The kinds 43 and 44 set watches again.
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
