// Tests that a tap counts what crosses a connection, and changes nothing of it.
package wiretap_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect opens a session through a tap, in virtual time.
func connect(t *testing.T, srv *zkserver.Server, tap *wiretap.Tap) *zk.Conn {
	conn := bubble.Connect(t, tap.Dialer(srv.Dial), 10*time.Second, bubble.One)
	synctest.Wait()
	require.Equal(t, zk.StateHasSession, conn.State())
	return conn
}

var world = zk.WorldACL(zk.PermAll)

func TestCountsAreWhatCrossesTheWire(t *testing.T) {
	for _, tap := range []*wiretap.Tap{new(wiretap.Tap), wiretap.NewWithLog()} {
		bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
			conn := connect(t, srv, tap)
			require.Zero(t, tap.Counts().Total(), "a handshake is not a request")

			for range 3 {
				testenv.Must(conn.Create("/a", nil, zk.FlagEphemeral, world))(t)
				testenv.Must3(conn.GetW("/a"))(t)
				require.NoError(t, conn.Delete("/a", -1))
			}
			before := tap.Counts()
			testenv.Must(conn.Create("/large", make([]byte, 100_000), zk.FlagEphemeral, world))(t)
			testenv.Must2(conn.Get("/large"))(t)
			synctest.Wait()

			c := tap.Counts()
			require.Equal(t, map[jute.Op]int64{jute.OpCreate: 4, jute.OpGetData: 4, jute.OpDelete: 3}, c.Requests)
			require.EqualValues(t, 4+4+3, c.Total())
			require.EqualValues(t, 3, c.Events, "one for each watch of /a, when it is deleted")
			since := c.Since(before)
			require.Equal(t, map[jute.Op]int64{jute.OpCreate: 1, jute.OpGetData: 1}, since.Requests)
			require.Greater(t, since.BytesIn, int64(100_000))
			require.Greater(t, since.BytesOut, int64(100_000))

			time.Sleep(time.Minute) // of virtual time, for pings
			require.Greater(t, tap.Counts().Requests[jute.OpPing], int64(10))
			require.Equal(t, c.Total(), tap.Counts().Total(), "pings are left out")
		})
	}
}

func TestOneEventWakesAllWhoShareTheConnection(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		tap := new(wiretap.Tap)
		conn := connect(t, srv, tap)
		testenv.Must(conn.Create("/a", nil, zk.FlagPersistent, world))(t)
		for range 5 {
			testenv.Must3(conn.GetW("/a"))(t)
		}
		testenv.Must2(conn.Get("/a"))(t) // no watch
		testenv.Must3(conn.ChildrenW("/"))(t)
		_, _, _, err := conn.GetW("/gone") // sets no watch
		require.ErrorIs(t, err, zk.ErrNoNode)
		testenv.Must3(conn.ExistsW("/to-come"))(t) // sets a watch

		require.NoError(t, conn.Delete("/a", -1)) // which five GetW and the ChildrenW of / wait for
		synctest.Wait()
		require.EqualValues(t, 2, tap.Counts().Events, "one for /a, and one for the children of /")
		require.EqualValues(t, 5+1, tap.Counts().WakeUps, "five watchers of /a, and one of the children")

		before := tap.Counts()
		for range 2 { // watches are one-shot
			for _, path := range []string{"/gone", "/to-come"} {
				_ = testenv.Must(conn.Create(path, nil, zk.FlagPersistent, world))(t)
				require.NoError(t, conn.Delete(path, -1))
			}
		}
		synctest.Wait()
		require.EqualValues(t, 1, tap.Counts().Since(before).Events)
		require.EqualValues(t, 1, tap.Counts().Since(before).WakeUps)
	})
}

func TestTheLogHasTheRequestsInOrderAndWhatIsNotAnswered(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		tap := wiretap.NewWithLog()
		conn := connect(t, srv, tap)
		path := testenv.Must(conn.Create("/n-", nil, zk.FlagEphemeralSequential, world))(t)
		testenv.Must3(conn.ChildrenW("/"))(t)
		_, _, _, err := conn.GetW("/gone")
		require.ErrorIs(t, err, zk.ErrNoNode)
		require.Equal(t, 1, tap.Armed())
		require.Zero(t, tap.Pending())

		held := srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpDelete })
		done := bubble.Aside(func() error { return conn.Delete(path, -1) })
		<-held.Hit()
		require.EqualValues(t, 1, tap.Pending())
		held.Release()
		require.NoError(t, <-done)
		require.Zero(t, tap.Armed())
		require.Zero(t, tap.Pending())
		time.Sleep(time.Minute) // of virtual time, for pings
		require.Equal(t, []jute.Op{jute.OpCreate, jute.OpGetChildren2, jute.OpGetData, jute.OpDelete}, tap.Log())
	})
}

func TestWatchesAreArmedAgainAfterAReconnect(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		tap := wiretap.NewWithLog()
		conn := connect(t, srv, tap)
		testenv.Must3(conn.ChildrenW("/"))(t)
		tap.Cut()
		synctest.Wait()
		require.Zero(t, tap.Armed(), "watches are gone with their connection")
		time.Sleep(5 * time.Second) // of virtual time: the client waits one before it reconnects
		synctest.Wait()
		require.Equal(t, 1, tap.Armed())
		require.Len(t, srv.Watches(), 1)
		require.NotNil(t, tap.Password(conn.SessionID()))
		require.Positive(t, tap.SessionTimeout(conn.SessionID()))
		require.Zero(t, tap.SessionTimeout(conn.SessionID()+1))
	})
}

// stream is a connection that delivers its bytes in pieces.
type stream struct {
	net.Conn
	down  io.Reader
	wrote bytes.Buffer
}

func (s *stream) Read(b []byte) (int, error)  { return s.down.Read(b) }
func (s *stream) Write(b []byte) (int, error) { return s.wrote.Write(b) }
func (s *stream) Close() error                { return nil }

// dialStream returns the client's end of a connection through a tap to the stream.
func dialStream(t *testing.T, tap *wiretap.Tap, s *stream) net.Conn {
	return testenv.Must(tap.Dialer(func(string, string, time.Duration) (net.Conn, error) { return s, nil })("", "", 0))(t)
}

type longBody int // this number of bytes, of which a tap looks at the first ones alone

func (n longBody) Encode(e *jute.Encoder) { e.Raw(make([]byte, n)) }

func TestPacketsAreCountedHoweverTheyAreCut(t *testing.T) {
	const unknownOp = 4711 // is not counted
	var up, down jute.Encoder
	up.Frame(&jute.ConnectRequest{Password: make([]byte, 16)})
	up.Frame(&jute.RequestHeader{Op: jute.OpCreate}, longBody(5000))
	for _, op := range []jute.Op{jute.OpCloseSession, unknownOp, jute.OpDelete} {
		up.Frame(&jute.RequestHeader{Op: op})
	}
	down.Frame(&jute.ConnectResponse{SessionID: 5, Password: make([]byte, 16)})
	down.Frame(&jute.ReplyHeader{Xid: 1}, longBody(5000))
	down.Frame(&jute.ReplyHeader{Xid: jute.XidEvent}, &jute.WatcherEvent{Path: "/a"})
	down.Frame(&jute.ReplyHeader{Xid: jute.XidPing})

	for piece := 1; piece <= 40; piece++ { // how many bytes are written or read at a time
		tap, s := new(wiretap.Tap), &stream{down: bytes.NewReader(down.Bytes())}
		nc := dialStream(t, tap, s)
		for b := up.Bytes(); len(b) > 0; b = b[min(piece, len(b)):] {
			testenv.Must(nc.Write(b[:min(piece, len(b))]))(t)
		}
		got := make([]byte, down.Len())
		for n := 0; n < len(got); {
			n += testenv.Must(nc.Read(got[n:min(n+piece, len(got))]))(t)
		}
		require.Equal(t, up.Bytes(), s.wrote.Bytes())
		require.Equal(t, down.Bytes(), got)
		c := tap.Counts()
		require.Equal(t, map[jute.Op]int64{jute.OpCreate: 1, jute.OpCloseSession: 1, jute.OpDelete: 1}, c.Requests)
		require.EqualValues(t, 1, c.Events)
		require.Equal(t, []int{up.Len(), down.Len()}, []int{int(c.BytesOut), int(c.BytesIn)})
	}
}

// FuzzTap sends nonsense both ways: it comes through as it was.
func FuzzTap(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), true)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1}, false)
	var e jute.Encoder
	e.Frame(&jute.ConnectRequest{})
	e.Frame(&jute.SetWatches{Data: []string{"/a"}})
	f.Add(e.Bytes(), true)
	f.Fuzz(func(t *testing.T, b []byte, logged bool) {
		tap := new(wiretap.Tap)
		if logged {
			tap = wiretap.NewWithLog()
		}
		s := &stream{down: bytes.NewReader(b)}
		nc := dialStream(t, tap, s)
		_ = testenv.Must(nc.Write(b))(t)
		require.True(t, bytes.Equal(b, s.wrote.Bytes()))
		require.True(t, bytes.Equal(b, testenv.Must(io.ReadAll(nc))(t)))
		require.NoError(t, nc.Close())
	})
}
