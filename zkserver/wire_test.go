// A client of these tests that sends and receives packets itself, and the server under test.
package zkserver_test

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// A target is a server: the embedded one, or with ZK=host:port a real ZooKeeper. What the tests assert holds for both.
type target struct {
	*testing.T
	srv  *zkserver.Server // nil: a real one
	addr string
	root string // a node of the test's own; "/t" on the embedded server
}

// needsExtended returns options for TTL nodes and all four-letter words on the embedded server. On a real server with
// the default configuration, which has neither, it skips the test.
func needsExtended(t *testing.T) []zkserver.Option {
	if locktest.Real(t) != nil && os.Getenv("ZK_EXTENDED") == "" {
		t.Skip("needs a server with TTL nodes and all four-letter words: internal/servers/with zookeeper-extended")
	}
	return []zkserver.Option{zkserver.WithTTL(), zkserver.WithWords("*")}
}

// newTarget returns the server that ZK names, or an embedded one, with a node for the test.
func newTarget(t *testing.T, options ...zkserver.Option) *target {
	tg := &target{T: t, root: "/t"}
	if zoo := locktest.Real(t); zoo != nil {
		tg.addr = zoo.Servers()[0]
		tg.root += rand.Text()
	} else {
		tg.srv = zkserver.Run(t, options...)
	}
	c := tg.connect()
	require.Equal(t, jute.OK, c.create(tg.root, jute.FlagPersistent))
	t.Cleanup(func() { tg.removeAll(tg.connect(), tg.root) })
	return tg
}

// needsEmbedded skips a test that needs what only the embedded server can do.
func needsEmbedded(t *testing.T) { testenv.Embedded(t, "is about the embedded server alone") }

func (tg *target) removeAll(c *wire, path string) {
	_, d := c.do(jute.OpGetChildren, &jute.PathWatch{Path: path})
	for _, child := range d.Strings() {
		tg.removeAll(c, path+"/"+child)
	}
	c.do(jute.OpDelete, &jute.PathVersion{Path: path, Version: anyVersion})
}

func (tg *target) dial() *wire {
	var nc net.Conn
	var err error
	if tg.srv != nil {
		nc, err = tg.srv.Dial("", "", 0)
	} else {
		nc, err = net.Dial("tcp", tg.addr)
	}
	require.NoError(tg, err)
	tg.Cleanup(func() { nc.Close() })
	return &wire{t: tg.T, Conn: nc, r: bufio.NewReader(nc)}
}

// askWord sends a four-letter word on a connection of its own and returns the answer.
func (tg *target) askWord(word string) string {
	tg.Helper()
	c := tg.dial()
	defer c.Close()
	c.write([]byte(word))
	c.SetReadDeadline(time.Now().Add(patience))
	return string(testenv.Must(io.ReadAll(c.r))(tg))
}

// longest is the longest session timeout that a server grants by default, in milliseconds, as the protocol has it.
const longest = 40_000

// connect opens a connection with a session of its own, of the longest timeout: a test that is slow does not lose it.
func (tg *target) connect() *wire {
	tg.Helper()
	c := tg.dial()
	resp := testenv.Must(c.handshake(jute.ConnectRequest{TimeoutMs: longest, Password: make([]byte, 16)}))(tg)
	require.NotZero(tg, resp.SessionID)
	return c
}

// A wire is a client of a test that sends and receives packets itself.
type wire struct {
	net.Conn
	t       *testing.T
	r       *bufio.Reader
	xid     int32
	session jute.ConnectResponse
	zxid    int64   // of the reply to the last write
	seen    int64   // the zxid of the last reply, also to a read
	events  []event // that came before the last reply
}

type event struct {
	typ  jute.EventType
	path string
}

type encoder = interface{ Encode(*jute.Encoder) }

type raw []byte

func (r raw) Encode(e *jute.Encoder) { e.Raw(r) }

type pathBody string

func (p pathBody) Encode(e *jute.Encoder) { e.String(string(p)) }

// frame is a packet: its parts, with their length before them.
func frame(parts ...encoder) []byte {
	var e jute.Encoder
	e.Frame(parts...)
	return e.Bytes()
}

func createFrame(xid int32, path string) []byte {
	return frame(&jute.RequestHeader{Xid: xid, Op: jute.OpCreate}, &jute.CreateRequest{Path: path, ACL: jute.WorldACL()})
}

// write sends bytes from a goroutine of its own: a pipe waits for its reader, and the server may be writing to us.
func (c *wire) write(b []byte) { go c.Conn.Write(b) }

const patience = 10 * time.Minute // how long a reply may take before a test fails
const anyVersion = -1             // of a node, for set and delete

func (c *wire) readFrame(within time.Duration) ([]byte, error) {
	c.SetReadDeadline(time.Now().Add(within))
	return jute.ReadFrame(c.r, nil, 64<<20) // a reply may be longer than a request
}

// reopen is the handshake that asks for a session again.
func reopen(session jute.ConnectResponse, timeoutMs int32) jute.ConnectRequest {
	return jute.ConnectRequest{TimeoutMs: timeoutMs, SessionID: session.SessionID, Password: session.Password}
}

func (c *wire) handshake(r jute.ConnectRequest) (jute.ConnectResponse, error) {
	c.write(frame(&r))
	b, err := c.readFrame(patience)
	if err != nil {
		return jute.ConnectResponse{}, err
	}
	d := jute.NewDecoder(b)
	c.session = jute.ConnectResponse{}
	c.session.Decode(d)
	return c.session, d.Err()
}

// read returns the next packet that is not an event.
func (c *wire) read() (jute.ReplyHeader, *jute.Decoder, error) {
	c.events = nil
	for {
		b, err := c.readFrame(patience)
		if err != nil {
			return jute.ReplyHeader{}, nil, err
		}
		d := jute.NewDecoder(b)
		var h jute.ReplyHeader
		h.Decode(d)
		if h.Xid != jute.XidEvent {
			return h, d, d.Err()
		}
		var ev jute.WatcherEvent
		ev.Decode(d)
		if d.Err() != nil || h.Zxid != -1 || h.Err != 0 || ev.State != jute.StateSyncConnected {
			return h, nil, errors.New("malformed event")
		}
		c.events = append(c.events, event{ev.Type, ev.Path})
	}
}

// reply is read for a connection that must not break.
func (c *wire) reply() (jute.ReplyHeader, *jute.Decoder) {
	h, d, err := c.read()
	require.NoError(c.t, err)
	return h, d
}

// do sends a request and returns the outcome and the body of its reply.
func (c *wire) do(op jute.Op, body encoder) (jute.Code, *jute.Decoder) {
	c.xid++
	c.write(frame(&jute.RequestHeader{Xid: c.xid, Op: op}, body))
	h, d := c.reply()
	require.Equal(c.t, c.xid, h.Xid)
	if h.Err != jute.OK {
		require.Zero(c.t, d.Len(), "an error reply has no body")
	}
	c.seen = h.Zxid
	if isWrite(op) {
		c.zxid = h.Zxid
	}
	return h.Err, d
}

// code is do for a test that does not read the body of the reply. The next ones are for one kind of request.
func (c *wire) code(op jute.Op, body encoder) jute.Code { code, _ := c.do(op, body); return code }

func (c *wire) create(path string, flags int32) jute.Code {
	return c.code(jute.OpCreate, &jute.CreateRequest{Path: path, Data: []byte{}, ACL: jute.WorldACL(), Flags: flags})
}

func (c *wire) delete(path string) jute.Code {
	return c.code(jute.OpDelete, &jute.PathVersion{Path: path, Version: anyVersion})
}

func (c *wire) set(path, data string, version int32) jute.Code {
	return c.code(jute.OpSetData, &jute.SetDataRequest{Path: path, Data: []byte(data), Version: version})
}

func (c *wire) stat(path string) (s jute.Stat) {
	code, d := c.do(jute.OpExists, &jute.PathWatch{Path: path})
	require.Equal(c.t, jute.OK, code, "exists %s", path)
	s.Decode(d)
	require.NoError(c.t, d.Err())
	return s
}

func (c *wire) watch(op jute.Op, path string) jute.Code {
	return c.code(op, &jute.PathWatch{Path: path, Watch: true})
}

func (c *wire) addWatch(path string, mode int32) jute.Code {
	code, d := c.do(jute.OpAddWatch, &jute.AddWatch{Path: path, Mode: mode})
	if code == jute.OK {
		require.Zero(c.t, d.Int32())
		require.NoError(c.t, d.Err())
		require.Zero(c.t, d.Len())
	}
	return code
}

// isWrite reports whether a request of kind op is a transaction, so that its reply carries a zxid of its own.
func isWrite(op jute.Op) bool {
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete,
		jute.OpSetData, jute.OpSetACL, jute.OpMulti, jute.OpCloseSession:
		return true
	}
	return false
}

// requireClosed asserts that the server closes the connection without a word, and long before the session could expire.
func (c *wire) requireClosed() {
	b, err := c.readFrame(longest / 2 * time.Millisecond)
	require.Error(c.t, err, "the server says % x in place of closing the connection", b)
	require.False(c.t, errors.Is(err, os.ErrDeadlineExceeded), "the server leaves the connection open")
}

// eventsNow returns the events that have been sent so far: a ping comes back behind them.
func (c *wire) eventsNow() []event {
	c.write(frame(&jute.RequestHeader{Xid: jute.XidPing, Op: jute.OpPing}))
	h, _ := c.reply()
	require.Equal(c.t, jute.XidPing, h.Xid)
	return c.events
}
