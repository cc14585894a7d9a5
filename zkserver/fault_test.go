// Tests of faults, which a test makes. tg is the embedded server, and c a client that sends packets itself: wire_test.go.
package zkserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// A fakeTB stands in for the test of a server. It keeps the server's complaints, which a test then compares.
type fakeTB struct {
	cleanups []func()
	said     []string
}

func (f *fakeTB) Helper()          {}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *fakeTB) end() { // of the test
	for _, c := range f.cleanups {
		c()
	}
}

// A server fails its test at the end for a fault that no request has met and that was not released, and names its line.
func TestRunReportsAFaultThatNoRequestHasMet(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		fake := &fakeTB{}
		srv := zkserver.Run(fake)
		c := (&target{T: tg.T, srv: srv}).connect() // a client of srv, not of tg.srv
		never := zkserver.On(zkserver.OpCreate, "/never")
		srv.Hold(zkserver.On(zkserver.OpExists, "/met")).Release()
		srv.Fail(zkserver.CodeNoNode, zkserver.On(zkserver.OpExists, "/"))
		srv.Fail(zkserver.CodeNoNode, zkserver.On(zkserver.OpGetChildren, "/")).Every() // it was met, so it need not be released
		lose := srv.LoseReply                                                           // a method value puts another frame on the stack
		_, _, line, _ := runtime.Caller(0)
		lose(never) // on the line after that
		require.Equal(tg, jute.ErrNoNode, c.watch(jute.OpExists, "/"))
		require.Equal(tg, jute.ErrNoNode, c.watch(jute.OpGetChildren2, "/"))
		fake.end()
		want := fmt.Sprintf("zkserver: no request has met the fault that was made at fault_test.go:%d; Release it if none need meet it", line+1)
		require.Equal(tg, []string{want}, fake.said)
		require.ErrorIs(tg, testenv.Err(srv.Dial("", "", 0)), zkserver.ErrClosed)
	})
}

func TestANilConditionPanicsAtItsCaller(t *testing.T) {
	needsEmbedded(t)
	srv := zkserver.Run(t)
	require.PanicsWithValue(t, "zkserver: a fault without a condition", func() { srv.Hold(nil) })
	require.PanicsWithValue(t, "zkserver: the pattern /[ is malformed", func() { zkserver.On(zkserver.OpCreate, "/[") })
}

// A condition that ends its goroutine, as FailNow does, costs its client the connection; the next request goes through.
func TestAConditionThatEndsItsGoroutineCostsAConnection(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		fake := &fakeTB{}
		srv := zkserver.Run(fake)
		other := &target{T: tg.T, srv: srv}
		c := other.connect()
		srv.Hold(func(zkserver.Request) bool { runtime.Goexit(); return false })
		c.write(frame(&jute.RequestHeader{Xid: 7, Op: jute.OpExists}, &jute.PathWatch{Path: "/"}))
		c.requireClosed()
		require.NotZero(tg, testenv.Must(c.reconnect(other))(tg).SessionID)
		require.Zero(tg, c.stat("/").Version)
		fake.end()
		require.Len(tg, fake.said, 1)
		require.Regexp(tg, `the fault that was made at fault_test\.go:\d+ has ended its goroutine at exists /: `, fake.said[0])
	})
}

// The test starts itself as another process: a condition that panics ends its process.
func TestAConditionThatPanicsEndsTheProcessWithItsStack(t *testing.T) {
	needsEmbedded(t)
	if os.Getenv("ZKSERVER_PANIC") != "" {
		srv := zkserver.Run(t)
		srv.Hold(func(r zkserver.Request) bool { return r.Path[0] == '/' }) // a handshake has none
		(&target{T: t, srv: srv}).connect()
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // it does not hang
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "ZKSERVER_PANIC=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "index out of range")
	require.Contains(t, string(out), "fault_test.go:", "the stack has the condition")
}

func TestAConditionMayLookAtTheServerAndMakeFaults(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		tg.srv.Fail(zkserver.CodeNoAuth, func(r zkserver.Request) bool {
			if r.Op != zkserver.OpExists {
				return false
			}
			tg.srv.Fail(zkserver.CodeBadVersion, zkserver.On(zkserver.OpDelete, "*"))
			_, there := tg.srv.Node(r.Path)
			return there && len(tg.srv.Sessions()) > 0
		})
		require.Equal(tg, jute.ErrNoAuth, c.watch(jute.OpExists, tg.root))
		require.Equal(tg, jute.ErrBadVersion, c.code(jute.OpDelete, &jute.PathVersion{Path: "x"}))
	})
}

func TestAFaultForEveryRequestGoesOnUntilRelease(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c, other := tg.connect(), tg.connect()
		refused := tg.srv.Fail(zkserver.CodeNoAuth, zkserver.On(zkserver.OpCreate, tg.root+"/*").From(c.session.SessionID)).Every()
		for range 3 {
			require.Equal(tg, jute.ErrNoAuth, c.create(tg.root+"/x", jute.FlagPersistent))
		}
		require.Equal(tg, tg.root+"/x", (<-refused.Hit()).Path)
		require.Equal(tg, jute.OK, other.create(tg.root+"/y", jute.FlagPersistent), "of another session")
		refused.Release()
		require.Equal(tg, jute.OK, c.create(tg.root+"/x", jute.FlagPersistent))
		refused.Release() // again
		refused.Every()
		require.Equal(tg, jute.OK, c.create(tg.root+"/z", jute.FlagPersistent), "it stays released")

		// Replies of two connections are held by one fault.
		held := tg.srv.HoldReply(zkserver.On(zkserver.OpDelete, "")).Every()
		got := make(chan jute.Code, 2)
		for i, c := range []*wire{c, other} {
			go func() { got <- c.delete(fmt.Sprintf("%s/%c", tg.root, 'x'+i)) }()
		}
		<-held.Hit()
		<-held.Hit()
		require.Empty(tg, got)
		held.Release()
		require.Equal(tg, jute.OK, <-got)
		require.Equal(tg, jute.OK, <-got)
	})
}

// No hit of a fault is left out, whenever and however its receiver asks.
func TestNoHitIsLeftOutHoweverSlowTheReceiver(t *testing.T) {
	const requests = 20
	check := func(t *testing.T) {
		srv := zkserver.New() // not Run: it is closed before its test ends
		defer srv.Close()
		c := (&target{T: t, srv: srv}).connect()
		refuse := func() *zkserver.Fault {
			return srv.Fail(zkserver.CodeNoAuth, zkserver.On(zkserver.OpCreate, "/*")).Every()
		}
		meet := func(f *zkserver.Fault) {
			for i := range requests {
				require.Equal(t, jute.ErrNoAuth, c.create(fmt.Sprint("/", i), jute.FlagPersistent))
			}
			f.Release()
		}
		feeders := func() int { // goroutines that send to the channels of Hit
			stacks := make([]byte, 1<<20)
			return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "zkserver.(*Fault).feed(")
		}

		// A slow receiver, which has the channel before the requests come, and keeps it.
		early := refuse()
		kept := early.Hit()
		meet(early)
		for i := range requests {
			time.Sleep(time.Millisecond)
			require.Equal(t, fmt.Sprint("/", i), (<-kept).Path)
		}

		// One that asks for the channel each time, after all requests.
		late := refuse()
		meet(late)
		require.Zero(t, feeders(), "nobody has asked")
		for i := range requests {
			require.Equal(t, fmt.Sprint("/", i), (<-late.Hit()).Path)
		}
		require.Empty(t, kept)
		require.Empty(t, late.Hit())

		// One that goes on asking when the server has been closed.
		closed := refuse()
		meet(closed)
		require.Equal(t, "/0", (<-closed.Hit()).Path)
		srv.Close()
		require.Zero(t, feeders())
		for i := 1; i < requests; i++ {
			require.Len(t, closed.Hit(), 1)
			require.Equal(t, fmt.Sprint("/", i), (<-closed.Hit()).Path)
		}
		require.Empty(t, closed.Hit())
	}
	t.Run("in virtual time", func(t *testing.T) { onEmbedded(t, func(tg *target) { check(tg.T) }) })
	t.Run("in real time", check)
}

// On is true of all forms of a request, and a pattern of one element of a path.
func TestOnMeansAllFormsOfARequest(t *testing.T) {
	const session = 7
	request := func(op zkserver.Op, path string) zkserver.Request {
		return zkserver.Request{Session: session, Op: op, Path: path}
	}
	create := zkserver.On(zkserver.OpCreate, "/locks/*")
	for _, c := range []struct {
		when zkserver.Condition
		r    zkserver.Request
		want bool
	}{
		{when: create, r: request(zkserver.OpCreate, "/locks/a-"), want: true},
		{when: create, r: request(zkserver.OpCreateContainer, "/locks/a-"), want: true},
		{when: create, r: zkserver.Request{Op: zkserver.OpMulti, First: zkserver.OpCreate, Path: "/locks/a-"}, want: true},
		{when: create, r: request(zkserver.OpCreate, "/locks")},
		{when: create, r: request(zkserver.OpCreate, "/locks/a/b")},
		{when: create, r: request(zkserver.OpDelete, "/locks/a")},
		{when: zkserver.On(zkserver.OpCreate2, "/locks/*"), r: request(zkserver.OpCreate, "/locks/a")},
		{when: zkserver.On(zkserver.OpCreate, ""), r: zkserver.Request{Op: zkserver.OpMulti, First: jute.OpCheck, Path: "/locks/a-"}},
		{when: zkserver.On(zkserver.OpGetChildren, "/locks"), r: request(zkserver.OpGetChildren2, "/locks"), want: true},
		{when: zkserver.On(zkserver.OpConnect, ""), r: request(zkserver.OpConnect, ""), want: true},
		{when: zkserver.On(zkserver.AnyOp, ""), r: request(zkserver.OpPing, ""), want: true},
		{when: zkserver.On(zkserver.AnyOp, "/a"), r: request(zkserver.OpPing, "")},
		{when: zkserver.On(zkserver.AnyOp, "").From(session), r: request(zkserver.OpPing, ""), want: true},
		{when: zkserver.On(zkserver.AnyOp, "").From(session + 1), r: request(zkserver.OpPing, "")},
	} {
		require.Equal(t, c.want, c.when(c.r), "%+v", c.r)
	}
}

func TestTheTreeIsTextToCompare(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		require.Equal(tg, jute.OK, c.create("/locks", jute.FlagPersistent))
		require.Equal(tg, jute.OK, c.code(jute.OpCreateContainer, &jute.CreateRequest{Path: "/box", ACL: jute.WorldACL(), Flags: jute.FlagContainer}))
		require.Equal(tg, jute.OK, c.create("/locks/l-", jute.FlagEphemeralSequential))
		require.Equal(tg, jute.OK, c.set("/locks/l-0000000000", "host\n1", anyVersion))
		require.Equal(tg, "/box container\n/locks\n/locks/l-0000000000 ephemeral \"host\\n1\"\n"+tg.root+"\n", tg.srv.Tree())
		acl := tg.root + "/acl"
		require.Equal(tg, jute.OK, c.create(acl, jute.FlagPersistent))
		n, _ := tg.srv.Node(acl)
		require.Equal(tg, []zkserver.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}, n.ACL)
		require.Equal(tg, n.Stat, c.stat(acl))
	})
}

func TestHoldKeepsARequestFromTheServer(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c, other := tg.connect(), tg.connect()
		held := tg.srv.Hold(func(r zkserver.Request) bool { return r.Path == tg.root+"/x" })
		c.write(append(createFrame(6, tg.root+"/w"), createFrame(7, tg.root+"/x")...))
		require.Equal(tg, zkserver.Request{Session: c.session.SessionID, Xid: 7, Op: jute.OpCreate, Path: tg.root + "/x"}, <-held.Hit())
		h, _ := c.reply()
		require.EqualValues(tg, 6, h.Xid, "the reply to the request before it is sent")
		synctest.Wait()
		require.Equal(tg, []string{"w"}, tg.srv.Children(tg.root))
		require.Equal(tg, jute.OK, other.create(tg.root+"/y", jute.FlagPersistent), "others go on")
		held.Release()
		h, _ = c.reply()
		require.Equal(tg, jute.OK, h.Err)
		require.Equal(tg, []string{"w", "x", "y"}, tg.srv.Children(tg.root))
		require.Equal(tg, jute.OK, c.create(tg.root+"/z", jute.FlagPersistent), "a fault is spent when it has been met")
	})
}

func TestARequestThatIsHeldDiesWithItsConnection(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		held := tg.srv.Hold(requestOf(c, jute.OpCreate))
		c.write(createFrame(7, tg.root+"/x"))
		<-held.Hit()
		tg.srv.Expire(c.session.SessionID)
		held.Release()
		synctest.Wait()
		require.Empty(tg, tg.srv.Children(tg.root))
	})
}

func TestHoldReplyCarriesOutAndKeepsWhatFollows(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c, other := tg.connect(), tg.connect()
		require.Equal(tg, jute.OK, c.watch(jute.OpGetData, tg.root))
		held := tg.srv.HoldReply(requestOf(c, jute.OpCreate))
		c.write(createFrame(7, tg.root+"/x"))
		<-held.Hit()
		synctest.Wait()
		require.Equal(tg, []string{"x"}, tg.srv.Children(tg.root))
		require.Equal(tg, jute.OK, other.set(tg.root, "", anyVersion))
		got := make(chan jute.ReplyHeader, 1)
		go func() { h, _, _ := c.read(); got <- h }()
		synctest.Wait()
		require.Empty(tg, got)
		held.Release()
		require.EqualValues(tg, 7, (<-got).Xid)
		require.Equal(tg, []event{{jute.EventDataChanged, tg.root}}, c.eventsNow(), "the event waited behind the reply")
	})
}

func TestAHeldReplyIsSentHoweverLateItIsReleased(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		first := tg.srv.HoldReply(requestOf(c, jute.OpCreate))
		second := tg.srv.HoldReply(requestOf(c, jute.OpCloseSession))
		c.write(append(createFrame(1, tg.root+"/x"), frame(&jute.RequestHeader{Xid: 2, Op: jute.OpCloseSession})...))
		<-first.Hit()
		<-second.Hit()
		require.False(tg, tg.hasSession(c))
		time.Sleep(time.Hour)
		second.Release()
		synctest.Wait()
		got := make(chan int32, 2)
		go func() {
			for range 2 {
				h, _, _ := c.read()
				got <- h.Xid
			}
		}()
		synctest.Wait()
		require.Empty(tg, got, "the first is still held, and so is all behind it")
		first.Release()
		require.EqualValues(tg, 1, <-got)
		require.EqualValues(tg, 2, <-got)
		c.requireClosed()
	})
}

func TestLoseRequestAndLoseReply(t *testing.T) {
	for _, carriedOut := range []bool{false, true} {
		onEmbedded(t, func(tg *target) {
			c := tg.connect()
			require.Equal(tg, jute.OK, c.watch(jute.OpGetChildren, tg.root))
			lose := tg.srv.LoseRequest
			if carriedOut {
				lose = tg.srv.LoseReply
			}
			fault := lose(requestOf(c, jute.OpCreate))
			c.write(frame(&jute.RequestHeader{Xid: 7, Op: jute.OpCreate}, &jute.CreateRequest{Path: tg.root + "/x", ACL: jute.WorldACL(), Flags: jute.FlagEphemeral}))
			_, _, err := c.read()
			require.Error(tg, err)
			require.Equal(tg, carriedOut, len(c.events) == 1, "what came before the reply is sent")
			require.Len(tg, fault.Hit(), 1)
			require.Equal(tg, carriedOut, len(tg.srv.Children(tg.root)) == 1)
			require.True(tg, tg.hasSession(c))
		})
	}
}

func TestAHandshakeCanBeHeldAndLost(t *testing.T) {
	onEmbedded(t, func(tg *target) {
		c := tg.connect()
		comesBack := func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == c.session.SessionID }
		tg.srv.LoseReply(comesBack)
		require.Error(tg, testenv.Err(tg.dial().handshake(reopen(c.session, 5000))))

		tg.srv.Fail(jute.ErrSessionExpired, comesBack)
		require.Zero(tg, testenv.Must(tg.dial().handshake(reopen(c.session, 5000)))(tg).SessionID)
		require.True(tg, tg.hasSession(c), "the session has not expired in truth")

		held := tg.srv.Hold(comesBack)
		second := tg.dial()
		second.write(frame(&jute.ConnectRequest{TimeoutMs: 5000, SessionID: c.session.SessionID, Password: c.session.Password}))
		<-held.Hit()
		tg.srv.Expire(c.session.SessionID)
		held.Release()
		b := testenv.Must(second.readFrame(patience))(tg)
		var r jute.ConnectResponse
		r.Decode(jute.NewDecoder(b))
		require.Zero(tg, r.SessionID, "it came too late")
	})
}
