package zklock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
)

// connectOtherwise, if not nil, opens the clients of a table's tests.
var connectOtherwise func(tb *table, o ensemble.Options) *zk.Conn

// ordinaryClient opens one of zk.Connect, in place of ensemble.Connect's, which is of zkconn.Connect.
func ordinaryClient(tb *table, o ensemble.Options) *zk.Conn {
	return tb.connectAs(ordinary{buffer: o.Buffer, wrap: func(nc net.Conn) net.Conn {
		if o.Wrap != nil {
			nc = o.Wrap(nc)
		}
		return watchesFirst(nc)
	}})
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
	connectOtherwise = ordinaryClient
	defer func() { connectOtherwise = nil }()
	for name, test := range tests {
		t.Run(name, test)
	}
}
