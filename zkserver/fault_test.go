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

// In this file tg is the embedded server, and c a client of it that sends and receives packets (wire_test.go).

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
func (f *fakeTB) end() {
	for _, c := range f.cleanups {
		c()
	}
}

func TestRunReportsAFaultThatNoRequestHasMet(t *testing.T) {
	inBubble(t, func(tg *target) {
		fake := &fakeTB{}
		srv := zkserver.Run(fake)
		c := (&target{T: tg.T, srv: srv}).connect()
		never := zkserver.On(zkserver.OpCreate, "/never")
		srv.Hold(zkserver.On(zkserver.OpExists, "/met")).Release()
		srv.Fail(zkserver.CodeNoNode, zkserver.On(zkserver.OpExists, "/"))
		srv.Fail(zkserver.CodeNoNode, zkserver.On(zkserver.OpGetChildren, "/")).Every() // it was met, so it need not be released
		_, _, line, _ := runtime.Caller(0)
		lose := srv.LoseReply // a method value has a wrapper, which does not count as the caller
		lose(never)

		require.Equal(tg, jute.ErrNoNode, c.watch(jute.OpExists, "/"))
		require.Equal(tg, jute.ErrNoNode, c.watch(jute.OpGetChildren2, "/"))
		fake.end()
		want := fmt.Sprintf("zkserver: no request has met the fault that was made at fault_test.go:%d; Release it if none need meet it", line+2)
		require.Equal(tg, []string{want}, fake.said)
		require.ErrorIs(tg, testenv.Err(srv.Dial("", "", 0)), zkserver.ErrClosed)
	})
}

func TestANilConditionPanicsAtItsCaller(t *testing.T) {
	embedded(t)
	srv := zkserver.Run(t)
	require.PanicsWithValue(t, "zkserver: a fault without a condition", func() { srv.Hold(nil) })
	require.PanicsWithValue(t, "zkserver: the pattern /[ is malformed", func() { zkserver.On(zkserver.OpCreate, "/[") })
}

// A condition that ends its goroutine, as FailNow does, costs its client the
// connection, and the next request goes through.
func TestAConditionThatEndsItsGoroutineCostsAConnection(t *testing.T) {
	inBubble(t, func(tg *target) {
		fake := &fakeTB{}
		srv := zkserver.Run(fake)
		other := &target{T: tg.T, srv: srv}
		c := other.connect()
		srv.Hold(func(zkserver.Request) bool { runtime.Goexit(); return false })
		c.write(frame(&jute.RequestHeader{Xid: 7, Op: jute.OpExists}, &jute.PathWatch{Path: "/"}))
		c.closes()
		require.NotZero(tg, testenv.Must(c.again(other))(tg).SessionID)
		require.Zero(tg, c.stat("/").Version)
		fake.end()
		require.Len(tg, fake.said, 1)
		require.Regexp(tg, `the fault that was made at fault_test\.go:\d+ has ended its goroutine at exists /: `, fake.said[0])
	})
}

// The test starts itself as another process: a condition that panics ends its process.
func TestAConditionThatPanicsEndsTheProcessWithItsStack(t *testing.T) {
	embedded(t)
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
	inBubble(t, func(tg *target) {
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
		code, _ := c.do(jute.OpDelete, &jute.PathVersion{Path: "x"})
		require.Equal(tg, jute.ErrBadVersion, code)
	})
}

func TestAFaultForEveryRequestGoesOnUntilRelease(t *testing.T) {
	inBubble(t, func(tg *target) {
		c, other := tg.connect(), tg.connect()
		refused := tg.srv.Fail(zkserver.CodeNoAuth, zkserver.On(zkserver.OpCreate, tg.root+"/*").From(c.session.SessionID)).Every()
		for range 3 {
			require.Equal(tg, jute.ErrNoAuth, c.create(tg.root+"/x", jute.FlagPersistent))
		}
		require.Equal(tg, tg.root+"/x", (<-refused.Hit()).Path)
		require.Equal(tg, jute.OK, other.create(tg.root+"/y", jute.FlagPersistent), "of another session")
		refused.Release()
		require.Equal(tg, jute.OK, c.create(tg.root+"/x", jute.FlagPersistent))
		refused.Every()
		require.Equal(tg, jute.OK, c.create(tg.root+"/z", jute.FlagPersistent), "it stays released")

		// Replies of two connections are held by one fault.
		held := tg.srv.HoldReply(zkserver.On(zkserver.OpDelete, "")).Every()
		got := make(chan jute.Code, 2)
		for i, c := range []*wire{c, other} {
			go func() { got <- c.delete(fmt.Sprintf("%s/%c", tg.root, 'x'+i)) }()
		}
		for range 2 {
			<-held.Hit()
		}
		require.Empty(tg, got)
		held.Release()
		for range 2 {
			require.Equal(tg, jute.OK, <-got)
		}
	})
}

// A receiver may keep the channel or ask for it again, may begin before the requests or after them,
// and may take its time.
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
		feeders := func() int {
			stacks := make([]byte, 1<<20)
			return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "zkserver.(*Fault).feed(")
		}

		early := refuse()
		kept := early.Hit()
		meet(early)
		for i := range requests {
			time.Sleep(time.Millisecond)
			require.Equal(t, fmt.Sprint("/", i), (<-kept).Path)
		}

		late := refuse()
		meet(late)
		require.Zero(t, feeders(), "nobody has asked")
		for i := range requests {
			require.Equal(t, fmt.Sprint("/", i), (<-late.Hit()).Path)
		}
		require.Empty(t, kept)
		require.Empty(t, late.Hit())

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
	t.Run("in virtual time", func(t *testing.T) { inBubble(t, func(tg *target) { check(tg.T) }) })
	t.Run("in real time", check)
}

func TestOnMeansAllFormsOfARequest(t *testing.T) {
	request := func(op zkserver.Op, path string) zkserver.Request {
		return zkserver.Request{Session: 7, Op: op, Path: path}
	}
	for _, c := range []struct {
		when zkserver.Condition
		r    zkserver.Request
		want bool
	}{
		{zkserver.On(zkserver.OpCreate, "/locks/*"), request(zkserver.OpCreate, "/locks/a-"), true},
		{zkserver.On(zkserver.OpCreate, "/locks/*"), request(zkserver.OpCreateContainer, "/locks/a-"), true},
		{zkserver.On(zkserver.OpCreate, "/locks/*"), request(zkserver.OpCreate, "/locks"), false},
		{zkserver.On(zkserver.OpCreate, "/locks/*"), request(zkserver.OpCreate, "/locks/a/b"), false},
		{zkserver.On(zkserver.OpCreate, "/locks/*"), request(zkserver.OpDelete, "/locks/a"), false},
		{zkserver.On(zkserver.OpCreate2, "/locks/*"), request(zkserver.OpCreate, "/locks/a"), false},
		{zkserver.On(zkserver.OpCreate, "/locks/*"), zkserver.Request{Op: zkserver.OpMulti, First: zkserver.OpCreate, Path: "/locks/a-"}, true},
		{zkserver.On(zkserver.OpCreate, ""), zkserver.Request{Op: zkserver.OpMulti, First: jute.OpCheck, Path: "/locks/a-"}, false},
		{zkserver.On(zkserver.OpGetChildren, "/locks"), request(zkserver.OpGetChildren2, "/locks"), true},
		{zkserver.On(zkserver.OpConnect, ""), request(zkserver.OpConnect, ""), true},
		{zkserver.On(zkserver.AnyOp, ""), request(zkserver.OpPing, ""), true},
		{zkserver.On(zkserver.AnyOp, "/a"), request(zkserver.OpPing, ""), false},
		{zkserver.On(zkserver.AnyOp, "").From(7), request(zkserver.OpPing, ""), true},
		{zkserver.On(zkserver.AnyOp, "").From(8), request(zkserver.OpPing, ""), false},
	} {
		require.Equal(t, c.want, c.when(c.r), "%+v", c.r)
	}
}

func TestTheTreeIsTextToCompare(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		require.Equal(tg, jute.OK, c.create("/locks", jute.FlagPersistent))
		code, _ := c.do(jute.OpCreateContainer, &jute.CreateRequest{Path: "/box", ACL: jute.WorldACL(), Flags: jute.FlagContainer})
		require.Equal(tg, jute.OK, code)
		require.Equal(tg, jute.OK, c.create("/locks/l-", jute.FlagEphemeralSequential))
		require.Equal(tg, jute.OK, c.set("/locks/l-0000000000", "host\n1", -1))
		require.Equal(tg, "/box container\n/locks\n/locks/l-0000000000 ephemeral \"host\\n1\"\n"+tg.root+"\n", tg.srv.Tree())
		acl := tg.root + "/acl"
		require.Equal(tg, jute.OK, c.create(acl, jute.FlagPersistent))
		n, _ := tg.srv.Node(acl)
		require.Equal(tg, []zkserver.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}, n.ACL)
		require.Equal(tg, n.Stat, c.stat(acl))
	})
}

func TestHoldKeepsARequestFromTheServer(t *testing.T) {
	inBubble(t, func(tg *target) {
		c, other := tg.connect(), tg.connect()
		held := tg.srv.Hold(on(c, jute.OpCreate))
		c.write(createFrame(7, tg.root+"/x"))
		require.Equal(tg, zkserver.Request{Session: c.session.SessionID, Xid: 7, Op: jute.OpCreate, Path: tg.root + "/x"}, <-held.Hit())
		synctest.Wait()
		require.Empty(tg, tg.srv.Children(tg.root))
		require.Equal(tg, jute.OK, other.create(tg.root+"/y", jute.FlagPersistent), "others go on")
		held.Release()
		h, _ := c.reply()
		require.Equal(tg, jute.OK, h.Err)
		require.Equal(tg, []string{"x", "y"}, tg.srv.Children(tg.root))
		require.Equal(tg, jute.OK, c.create(tg.root+"/z", jute.FlagPersistent), "a fault is spent when it has been met")
	})
}

func TestARequestThatIsHeldDiesWithItsConnection(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		held := tg.srv.Hold(on(c, jute.OpCreate))
		c.write(createFrame(7, tg.root+"/x"))
		<-held.Hit()
		tg.srv.Expire(c.session.SessionID)
		held.Release()
		synctest.Wait()
		require.Empty(tg, tg.srv.Children(tg.root))
	})
}

func TestHoldReplyCarriesOutAndKeepsWhatFollows(t *testing.T) {
	inBubble(t, func(tg *target) {
		c, other := tg.connect(), tg.connect()
		require.Equal(tg, jute.OK, c.watch(jute.OpGetData, tg.root))
		held := tg.srv.HoldReply(on(c, jute.OpCreate))
		c.write(createFrame(7, tg.root+"/x"))
		<-held.Hit()
		synctest.Wait()
		require.Equal(tg, []string{"x"}, tg.srv.Children(tg.root))
		require.Equal(tg, jute.OK, other.set(tg.root, "", -1))
		got := make(chan jute.ReplyHeader, 1)
		go func() {
			h, _, _ := c.read()
			got <- h
		}()
		synctest.Wait()
		require.Empty(tg, got)
		held.Release()
		require.EqualValues(tg, 7, (<-got).Xid)
		require.Equal(tg, []event{{jute.EventDataChanged, tg.root}}, c.eventsNow(), "the event waited behind the reply")
	})
}

func TestRepliesBeforeAHeldRequestAreSent(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		held := tg.srv.Hold(func(r zkserver.Request) bool { return r.Path == tg.root+"/2" })
		c.write(append(createFrame(1, tg.root+"/1"), createFrame(2, tg.root+"/2")...))
		<-held.Hit()
		h, _ := c.reply()
		require.EqualValues(tg, 1, h.Xid)
		held.Release()
		h, _ = c.reply()
		require.EqualValues(tg, 2, h.Xid)
	})
}

func TestAHeldReplyIsSentHoweverLateItIsReleased(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		first := tg.srv.HoldReply(on(c, jute.OpCreate))
		second := tg.srv.HoldReply(on(c, jute.OpCloseSession))
		c.write(append(createFrame(1, tg.root+"/x"), frame(&jute.RequestHeader{Xid: 2, Op: jute.OpCloseSession})...))
		<-first.Hit()
		<-second.Hit()
		require.False(tg, tg.lives(c))
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
		c.closes()
	})
}

func TestLoseRequestAndLoseReply(t *testing.T) {
	for _, carriedOut := range []bool{false, true} {
		inBubble(t, func(tg *target) {
			c := tg.connect()
			require.Equal(tg, jute.OK, c.watch(jute.OpGetChildren, tg.root))
			lose := tg.srv.LoseRequest
			if carriedOut {
				lose = tg.srv.LoseReply
			}
			fault := lose(on(c, jute.OpCreate))
			c.write(frame(&jute.RequestHeader{Xid: 7, Op: jute.OpCreate}, &jute.CreateRequest{Path: tg.root + "/x", ACL: jute.WorldACL(), Flags: jute.FlagEphemeral}))
			_, _, err := c.read()
			require.Error(tg, err)
			require.Equal(tg, carriedOut, len(c.events) == 1, "what came before the reply is sent")
			require.Len(tg, fault.Hit(), 1)
			require.Equal(tg, carriedOut, len(tg.srv.Children(tg.root)) == 1)
			require.True(tg, tg.lives(c))
		})
	}
}

func TestAFaultThatIsReleasedIsCalledOff(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		for i, fault := range []func(func(zkserver.Request) bool) *zkserver.Fault{tg.srv.Hold, tg.srv.HoldReply, tg.srv.LoseRequest, tg.srv.LoseReply} {
			f := fault(on(c, jute.OpCreate))
			f.Release()
			f.Release()
			require.Equal(tg, jute.OK, c.create(fmt.Sprintf("%s/%d", tg.root, i), jute.FlagPersistent))
			require.Empty(tg, f.Hit())
		}
	})
}

func TestAHandshakeCanBeHeldAndLost(t *testing.T) {
	inBubble(t, func(tg *target) {
		c := tg.connect()
		comesBack := func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == c.session.SessionID }
		tg.srv.LoseReply(comesBack)
		_, err := tg.dial().handshake(reopen(c.session, 5000))
		require.Error(tg, err)

		tg.srv.Fail(jute.ErrSessionExpired, comesBack)
		resp := testenv.Must(tg.dial().handshake(reopen(c.session, 5000)))(tg)
		require.Zero(tg, resp.SessionID)
		require.True(tg, tg.lives(c), "the session has not expired in truth")

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
