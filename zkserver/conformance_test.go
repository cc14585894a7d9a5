// Tests of what a real ZooKeeper 3.8.0 does, too: with ZK=host:port they run against one. tg is the server, and c a
// client that sends packets itself: wire_test.go. A step and its player are in script_test.go and differential_test.go.
package zkserver_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

var record = flag.Bool("record", false, "write the answers of the server that ZK names into the scripts")

// playScripts plays testdata/name.txt: cases of steps, each followed by what the clients received, with an empty line
// between two cases. A step begins with the number of its client, and ~ is the root, a new node for each case:
//
//	= create: flags come before everything
//	0 create ~/x flags -1
//	  BadArguments #0
//
// The answers are those of a real 3.8.0; -record writes them. A sequence that TestDifferential prints is such a case.
func playScripts(t *testing.T, name string, options ...zkserver.Option) {
	tg := newTarget(t, options...)
	file := filepath.Join("testdata", name+".txt")
	text := testenv.Must(os.ReadFile(file))(t)
	var recorded []string
	for script := range strings.SplitSeq(string(text), "\n\n") {
		title, _, _ := strings.Cut(script, "\n")
		t.Run(strings.TrimPrefix(title, "= "), func(t *testing.T) {
			var steps []step
			for text := range strings.Lines(script) {
				client := int(text[0]) - '0'
				if client >= 0 && client < clients {
					steps = append(steps, step{client: client, text: strings.TrimSpace(text[2:])})
				}
			}
			got := answered(script, play(t, tg, newRoot(), steps))
			recorded = append(recorded, got)
			if !*record {
				require.Equal(t, strings.TrimSpace(script), got)
			}
		})
	}
	if *record && !t.Failed() {
		require.Nil(t, tg.srv, "record the answers of a real server: set ZK=host:port")
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(recorded, "\n\n")+"\n"), 0o644))
	}
}

// answered puts what was received into a script, in place of the answers there: the lines that begin with a blank.
func answered(script string, received []string) string {
	var out []string
	for text := range strings.Lines(script) {
		switch text[0] {
		case '=', '#': // a title, or a comment
			out = append(out, strings.TrimSpace(text))
		case ' ', '\n': // an answer
		default: // a step; play has returned it, too, with its answers behind it
			n := 1
			for n < len(received) && received[n][0] == ' ' {
				n++
			}
			out, received = append(out, received[:n]...), received[n:]
		}
	}
	return strings.Join(out, "\n")
}

func TestRequests(t *testing.T)                                { playScripts(t, "requests") }
func TestSequenceNumbersCountTheChildrenEverMade(t *testing.T) { playScripts(t, "sequence") }
func TestMulti(t *testing.T)                                   { playScripts(t, "multi") }
func TestWatches(t *testing.T)                                 { playScripts(t, "watches") }
func TestACLs(t *testing.T)                                    { playScripts(t, "acls") }
func TestTTL(t *testing.T)                                     { playScripts(t, "ttl", needsExtended(t)...) }
func TestAllFourLetterWords(t *testing.T)                      { playScripts(t, "words", needsExtended(t)...) }

func TestHandshake(t *testing.T) {
	tg := newTarget(t)
	password := make([]byte, 16)

	t.Run("answers with readOnly a client that has sent it", func(t *testing.T) {
		for _, has := range []bool{true, false} {
			c := tg.dial()
			c.write(frame(&jute.ConnectRequest{TimeoutMs: 10_000, Password: password, HasReadOnly: has}))
			b := testenv.Must(c.readFrame(patience))(t)
			want := 4 + 4 + 8 + 4 + 16 // protocol, timeout, session, and the password behind its length
			if has {
				want++ // readOnly
			}
			require.Len(t, b, want)
		}
	})
	t.Run("clamps the timeout to 2 and 20 ticks", func(t *testing.T) {
		for asked, want := range map[int32]int32{-5: 4000, 0: 4000, 3999: 4000, 10_000: 10_000, 99_999: 40_000} {
			resp := testenv.Must(tg.dial().handshake(jute.ConnectRequest{TimeoutMs: asked, Password: password}))(t)
			require.Equal(t, want, resp.TimeoutMs, "asked for %d", asked)
		}
	})
	t.Run("ignores the password of a new session", func(t *testing.T) {
		resp := testenv.Must(tg.dial().handshake(jute.ConnectRequest{TimeoutMs: 10_000, Password: []byte("short")}))(t)
		require.NotZero(t, resp.SessionID)
		require.Len(t, resp.Password, 16)
	})
	t.Run("takes a client back into its session and closes its old connection", func(t *testing.T) {
		old := tg.connect()
		before := old.session
		back := tg.dial()
		resp := testenv.Must(back.handshake(reopen(before, 30_000)))(t)
		require.Equal(t, before.SessionID, resp.SessionID)
		require.Equal(t, before.Password, resp.Password)
		require.EqualValues(t, 30_000, resp.TimeoutMs)
		old.requireClosed()
		require.Equal(t, jute.OK, back.create(tg.root+"/back", jute.FlagEphemeral))
	})
	t.Run("refuses a wrong password, and kicks out the connection all the same", func(t *testing.T) {
		old := tg.connect()
		intruder := tg.dial()
		resp := testenv.Must(intruder.handshake(jute.ConnectRequest{TimeoutMs: longest, SessionID: old.session.SessionID, Password: password, HasReadOnly: true}))(t)
		require.Equal(t, jute.ConnectResponse{Password: password, HasReadOnly: true}, resp)
		intruder.requireClosed()
		old.requireClosed()
		resp = testenv.Must(tg.dial().handshake(reopen(old.session, longest)))(t) // the session itself lives
		require.Equal(t, old.session.SessionID, resp.SessionID)
	})
	t.Run("refuses a session that it does not have", func(t *testing.T) {
		c := tg.dial()
		resp := testenv.Must(c.handshake(jute.ConnectRequest{TimeoutMs: 5000, SessionID: 12345, Password: password}))(t)
		require.Equal(t, jute.ConnectResponse{Password: password}, resp)
		c.requireClosed()
	})
	t.Run("closes on a client that has seen the future", func(t *testing.T) {
		c := tg.dial()
		c.write(frame(&jute.ConnectRequest{TimeoutMs: 5000, LastZxidSeen: 1 << 60, Password: password}))
		c.requireClosed()
	})
}

func TestMalformedBodiesAreMarshallingErrors(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	for _, op := range []jute.Op{jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete, jute.OpExists, jute.OpGetData,
		jute.OpSetData, jute.OpGetACL, jute.OpSetACL, jute.OpGetChildren, jute.OpGetChildren2,
		jute.OpMulti, jute.OpSetWatches, jute.OpSetWatches2, jute.OpAddWatch, jute.OpSync,
		jute.OpGetAllChildrenNumber, jute.OpGetEphemerals} {
		for what, body := range map[string]raw{"nothing": {}, "a path that is cut off": {0, 0, 0, 9, '/'},
			"a negative length": {0xff, 0xff, 0xff, 0xf0}, "a huge length": {0x7f, 0xff, 0xff, 0xff}} {
			require.Equal(t, jute.ErrMarshalling, c.code(op, body), "%v with %s", op, what)
		}
	}

	for op, lists := range map[jute.Op]int{jute.OpSetWatches: 3, jute.OpSetWatches2: 5} {
		for null := range lists {
			body := make(raw, 8+4*lists) // the zxid, and empty lists
			copy(body[8+4*null:], "\xff\xff\xff\xff")
			require.Equal(t, jute.ErrMarshalling, c.code(op, body), "%v, list %d is null", op, null)
		}
	}
	require.Equal(t, jute.OK, c.code(jute.OpExists, raw("\x00\x00\x00\x01/\x02junk behind it")), "what is too much is ignored")
}

func TestPacketsThatCloseTheConnection(t *testing.T) {
	tg := newTarget(t)
	bystander := tg.connect()
	require.Equal(t, jute.OK, bystander.create(tg.root+"/bystander", jute.FlagEphemeral))

	for name, b := range map[string][]byte{
		"no room for a header": {0, 0, 0, 3, 1, 2, 3},
		"empty":                {0, 0, 0, 0},
		"negative length":      {0xff, 0xff, 0xff, 0xff},
		"huge length":          {0x7f, 0xff, 0xff, 0xff},
		"truncated auth":       frame(&jute.RequestHeader{Xid: -4, Op: jute.OpAuth}, raw{0, 0, 0, 0, 0, 0, 0, 99}),
	} {
		c := tg.connect()
		require.Equal(t, jute.OK, c.create(tg.root+"/e", jute.FlagEphemeral), name)
		c.write(b)
		c.requireClosed()
		back := tg.dial() // the session lives on
		resp := testenv.Must(back.handshake(reopen(c.session, longest)))(t, name)
		require.Equal(t, c.session.SessionID, resp.SessionID, name)
		require.Equal(t, jute.OK, back.delete(tg.root+"/e"), name)
	}

	for name, b := range map[string][]byte{
		"a handshake that is too short": {0, 0, 0, 5, 'a', 'b', 'c', 'd', 'e'},
		"garbage":                       []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		c := tg.dial()
		c.write(b)
		t.Log(name)
		c.requireClosed()
	}

	for _, op := range []jute.Op{999, -1} { // kinds that do not exist
		c := tg.connect()
		c.write(frame(&jute.RequestHeader{Xid: 5, Op: op}))
		h, _ := c.reply()
		require.Equal(t, jute.ReplyHeader{Xid: 5, Zxid: -1, Err: jute.ErrUnimplemented}, h)
		c.requireClosed()
	}
	require.Equal(t, jute.OK, bystander.delete(tg.root+"/bystander"), "others notice nothing")
}

func TestTheLargestPacket(t *testing.T) {
	tg := newTarget(t)
	body := func(frameLen int) []byte {
		b := frame(&jute.RequestHeader{Xid: 1, Op: jute.OpCreate}, &jute.CreateRequest{Path: tg.root + "/large", Data: []byte{}, ACL: jute.WorldACL()})
		data := bytes.Repeat([]byte("x"), frameLen-(len(b)-4)) // b begins with its length, in 4 bytes
		return frame(&jute.RequestHeader{Xid: 1, Op: jute.OpCreate}, &jute.CreateRequest{Path: tg.root + "/large", Data: data, ACL: jute.WorldACL()})
	}
	c := tg.connect()
	c.write(body(jute.MaxFrame))
	h, _ := c.reply()
	require.Equal(t, jute.OK, h.Err)
	_, d := c.do(jute.OpGetData, &jute.PathWatch{Path: tg.root + "/large"})
	require.Greater(t, len(d.Buffer()), jute.MaxFrame-1000, "most of the packet is data")
	c.write(body(jute.MaxFrame + 1))
	c.requireClosed()
}

func TestFourLetterWords(t *testing.T) {
	tg := newTarget(t)
	require.Regexp(t, `\nMode: (standalone|leader|follower)\n(Proposal.*\n)?Node count: `, tg.askWord("srvr"))
	require.Contains(t, tg.askWord("srvr"), "Zookeeper version: 3.")
	if tg.srv != nil || os.Getenv("ZK_EXTENDED") == "" { // by default a server has these words off
		for _, word := range []string{"ruok", "stat", "cons", "mntr", "isro", "envi", "conf", "dump"} {
			require.Equal(t, word+" is not executed because it is not in the whitelist.\n", tg.askWord(word))
		}
	}
}

func TestTheEventOfAWriteComesBeforeItCanBeRead(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
	for i := range 20 {
		require.Equal(t, jute.OK, watcher.watch(jute.OpGetData, p))
		writer.write(frame(&jute.RequestHeader{Xid: int32(i), Op: jute.OpSetData}, &jute.SetDataRequest{Path: p, Data: []byte{byte(i)}, Version: -1}))
		hasEvent, canRead := false, false
		for !canRead {
			_, d := watcher.do(jute.OpGetData, &jute.PathWatch{Path: p})
			hasEvent = hasEvent || len(watcher.events) > 0
			canRead = bytes.Equal(d.Buffer(), []byte{byte(i)})
		}
		require.True(t, hasEvent, "the change can be read, and the event has not come")
		writer.reply()
	}
}
