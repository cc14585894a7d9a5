package zklock_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
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
			zk.WithDialer(dial), zk.WithLogger(silentLogger{}), zk.WithMaxBufferSize(o.Buffer), zk.WithMaxConnBufferSize(sendBuffer))
		require.NoError(tb, err)
		tb.Cleanup(conn.Close)
		return conn
	},
}

// TestForcedSchedulesWithOtherClients plays the schedules that were written
// for ensemble.Connect's client with a user's.
func TestForcedSchedulesWithOtherClients(t *testing.T) {
	tests := map[string]func(t *testing.T){
		"TestALeaseIsNotLostForTheQuietBeforeIt":                             TestALeaseIsNotLostForTheQuietBeforeIt,
		"TestLostClosesInTimeAfterAHandOver":                                 TestLostClosesInTimeAfterAHandOver,
		"TestAHolderWhoseNodeTheServerDoesNotShowLosesTheLeaseBeforeTheLock": TestAHolderWhoseNodeTheServerDoesNotShowLosesTheLeaseBeforeTheLock,
		"TestLostClosesWhenTheClientIsClosedWhateverIsOnTheWay":              TestLostClosesWhenTheClientIsClosedWhateverIsOnTheWay,
		"TestUnlockInAnExpiredSessionTouchesNobodyElsesNode":                 TestUnlockInAnExpiredSessionTouchesNobodyElsesNode,
		"TestUnlockThatIsTriedAgainTouchesNobodyElsesNode":                   TestUnlockThatIsTriedAgainTouchesNobodyElsesNode,
		"TestAnEntryInAParentMadeAgainIsNotBehindOneInTheOldParent":          TestAnEntryInAParentMadeAgainIsNotBehindOneInTheOldParent,
		"TestALockThatIsLostBeforeLockReturnsIsLockedAgain":                  TestALockThatIsLostBeforeLockReturnsIsLockedAgain,
		"TestTwoOwnersOfOneSessionDoNotTakeOneNodeForTheirs":                 TestTwoOwnersOfOneSessionDoNotTakeOneNodeForTheirs,
		"TestTokenMayBeReadAtAnyTime":                                        TestTokenMayBeReadAtAnyTime,
		"TestARefusedDeleteIsReportedWhole":                                  TestARefusedDeleteIsReportedWhole,
		"TestAContenderThatDoesNotFitIntoAPacketGetsAnError":                 TestAContenderThatDoesNotFitIntoAPacketGetsAnError,
		"TestNobodyHoldsALockInASessionThatHasEnded":                         TestNobodyHoldsALockInASessionThatHasEnded,
		"TestOnceCtxHasEndedLockReturnsNoLease":                              TestOnceCtxHasEndedLockReturnsNoLease,
		"TestACallerThatGivesUpLeavesTheLockToOneOfTheSameOwner":             TestACallerThatGivesUpLeavesTheLockToOneOfTheSameOwner,
		"TestANodeOfTheSameNumberIsNotTakenForOurs":                          TestANodeOfTheSameNumberIsNotTakenForOurs,
		"TestUnlockThatIsTriedAgainTouchesNoOtherNodeOfItsSession":           TestUnlockThatIsTriedAgainTouchesNoOtherNodeOfItsSession,
		"TestLostCountsFromWhenARequestWasSent":                              TestLostCountsFromWhenARequestWasSent,
		"TestAWaiterSendsRequestsWhileItWaits":                               TestAWaiterSendsRequestsWhileItWaits,
		"TestALeaseIsLostWithoutAnEvent":                                     TestALeaseIsLostWithoutAnEvent,
		"TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne":              TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne,
		"TestAnOwnerThatGaveUpAndCameBackLocksAgainWithoutWaitingForItself":  TestAnOwnerThatGaveUpAndCameBackLocksAgainWithoutWaitingForItself,
		"TestParticipantsAreShownInTheOrderOfTheQueue":                       TestParticipantsAreShownInTheOrderOfTheQueue,
		"TestParticipantsAreInOrderWhereTheNumbersWrap":                      TestParticipantsAreInOrderWhereTheNumbersWrap,
		"TestAParticipantThatLeavesMeanwhileIsNotShown":                      TestAParticipantThatLeavesMeanwhileIsNotShown,
		"TestParticipantsAndRevokeEndWithCtxThoughNoServerAnswers":           TestParticipantsAndRevokeEndWithCtxThoughNoServerAnswers,
		"TestAHolderIsAskedForTheLock":                                       TestAHolderIsAskedForTheLock,
		"TestAWaiterThatWasAskedGetsTheRequestWhenItHoldsTheLock":            TestAWaiterThatWasAskedGetsTheRequestWhenItHoldsTheLock,
		"TestCuratorsWayOfAskingIsUnderstoodAndSpoken":                       TestCuratorsWayOfAskingIsUnderstoodAndSpoken,
		"TestRevokeOfSomethingElseIsAnErrorAndChangesNothing":                TestRevokeOfSomethingElseIsAnErrorAndChangesNothing,
		"TestDoUnlocksWhateverHappens":                                       TestDoUnlocksWhateverHappens,
		"TestDoEndsTheCtxWhenTheLockIsLost":                                  TestDoEndsTheCtxWhenTheLockIsLost,
		"TestBadArgumentsAreRefusedAtOnce":                                   TestBadArgumentsAreRefusedAtOnce,
		"TestUnlockReturnsARefusalOfTheServer":                               TestUnlockReturnsARefusalOfTheServer,
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
