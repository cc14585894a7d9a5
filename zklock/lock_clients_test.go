package zklock_test

import (
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
		sendBuffer := o.Buffer
		if sendBuffer == 0 {
			sendBuffer = 1536 << 10
		}
		dial := func(network, address string, patience time.Duration) (net.Conn, error) {
			nc, err := tb.srv.Dial(network, address, patience)
			if err == nil && o.Wrap != nil {
				nc = o.Wrap(nc)
			}
			return nc, err
		}
		conn, err := zkconn.Connect(context.Background(), []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, 10*time.Second,
			zkconn.WithDialer(dial), zkconn.WithZK(zk.WithMaxBufferSize(o.Buffer), zk.WithMaxConnBufferSize(sendBuffer)))
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
		TestLostClosesInTimeAfterAHandOver, TestAHolderWhoseNodeTheServerDoesNotShowLosesTheLeaseBeforeTheLock,
		TestLostClosesWhenTheClientIsClosedWhateverIsOnTheWay, TestUnlockInAnExpiredSessionTouchesNobodyElsesNode,
		TestALockThatIsLostBeforeLockReturnsIsLockedAgain, TestTwoOwnersOfOneSessionDoNotTakeOneNodeForTheirs, TestTokenMayBeReadAtAnyTime,
		TestARefusedDeleteIsReportedWhole, TestAContenderThatDoesNotFitIntoAPacketGetsAnError, TestNobodyHoldsALockInASessionThatHasEnded,
		TestOnceCtxHasEndedLockReturnsNoLease, TestACallerThatGivesUpLeavesTheLockToOneOfTheSameOwner, TestANodeOfTheSameNumberIsNotTakenForOurs,
		TestUnlockThatIsTriedAgainTouchesNoOtherNodeOfItsSession, TestLostCountsFromWhenARequestWasSent, TestAWaiterSendsRequestsWhileItWaits,
		TestALeaseIsLostWithoutAnEvent, TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne,
		TestAnOwnerThatGaveUpAndCameBackLocksAgainWithoutWaitingForItself, TestParticipantsAreShownInTheOrderOfTheQueue,
		TestParticipantsAreInOrderWhereTheNumbersWrap, TestAParticipantThatLeavesMeanwhileIsNotShown, TestAnOwnerHasItsNameThoughThatIsNotText,
		TestParticipantsAndRevokeEndWithCtxThoughNoServerAnswers, TestAHolderIsAskedForTheLock, TestAWaiterThatWasAskedGetsTheRequestWhenItHoldsTheLock,
		TestCuratorsWayOfAskingIsUnderstoodAndSpoken, TestRevokeOfSomethingElseIsAnErrorAndChangesNothing, TestDoUnlocksWhateverHappens,
		TestDoEndsTheCtxWhenTheLockIsLost, TestBadArgumentsAreRefusedAtOnce, TestUnlockReturnsARefusalOfTheServer,
		TestAHolderInTheOldParentLetsNobodyInInTheNewOne,
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
