package zklock_test

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/zklock/zkconn"
)

// connectOtherwise, if not nil, opens the clients of a table's tests.
var connectOtherwise func(tb *table, o ensemble.Options) *zk.Conn

// kindsOfClients are those that the forced schedules are played with besides
// ensemble.Connect's.
var kindsOfClients = map[string]func(tb *table, o ensemble.Options) *zk.Conn{
	"zk.Connect": func(tb *table, o ensemble.Options) *zk.Conn {
		return tb.connectAs(ordinary{buffer: o.Buffer, wrap: func(nc net.Conn) net.Conn {
			if o.Wrap != nil {
				nc = o.Wrap(nc)
			}
			return watchesFirst(nc)
		}})
	},
	"zkconn.Connect": func(tb *table, o ensemble.Options) *zk.Conn {
		line := &bubble.Line{Server: tb.srv, Wrap: o.Wrap}
		conn, err := zkconn.Connect(context.Background(), three, 10*time.Second, zkconn.WithDialer(line.Dial),
			zkconn.WithZK(zk.WithMaxBufferSize(o.Buffer), zk.WithMaxConnBufferSize(cmp.Or(o.Buffer, 1536<<10))))
		require.NoError(tb, err)
		tb.Cleanup(conn.Close)
		return conn
	},
}

// TestForcedSchedulesWithOtherClients plays the schedules that were written
// for ensemble.Connect's client with a user's.
func TestForcedSchedulesWithOtherClients(t *testing.T) {
	tests := make(map[string]func(t *testing.T))
	for _, test := range []func(t *testing.T){
		TestLostClosesInTimeAfterAHandOver, TestLostClosesWhenTheClientIsClosedWhateverIsOnTheWay,
		TestARefusedDeleteIsReportedWhole,
		TestAContenderThatDoesNotFitIntoAPacketGetsAnError, TestNobodyHoldsALockInASessionThatHasEnded,
		TestOnceCtxHasEndedLockReturnsNoLease, TestACallerThatGivesUpLeavesTheLockToOneOfTheSameOwner, TestALeaseIsLostWithoutAnEvent,
		TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne, TestAnOwnerThatGaveUpAndCameBackLocksAgainWithoutWaitingForItself,
		TestParticipantsAreShownInTheOrderOfTheQueue, TestParticipantsAreInOrderWhereTheNumbersWrap,
		TestAParticipantThatLeavesMeanwhileIsNotShown,
		TestParticipantsAndRevokeEndWithCtxThoughNoServerAnswers, TestAHolderIsAskedForTheLock,
		TestAWaiterThatWasAskedGetsTheRequestWhenItHoldsTheLock, TestCuratorsWayOfAskingIsUnderstoodAndSpoken, TestDoUnlocksWhateverHappens,
		TestDoEndsTheCtxWhenTheLockIsLost, TestBadArgumentsAreRefusedAtOnce, TestAHolderInTheOldParentLetsNobodyInInTheNewOne,
	} {
		_, name, _ := strings.Cut(runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name(), ".Test")
		tests["Test"+name] = test
	}
	for _, file := range []string{"lock_forced_test.go", "participants_test.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				require.Contains(t, tests, f.Name.Name, "%s: the table lacks it", file)
			}
		}
	}
	for kind, connect := range kindsOfClients {
		t.Run(kind, func(t *testing.T) {
			connectOtherwise = connect
			defer func() { connectOtherwise = nil }()
			for name, test := range tests {
				t.Run(name, test)
			}
		})
	}
}
