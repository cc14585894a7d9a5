package museum

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
)

func TestATraceOfTheExplorerIsDrawn(t *testing.T) {
	diagram := Draw(&explore.Trace{Log: []explore.Entry{
		{Point: 1, Who: "A", Kind: "sends", Op: "create", Path: "/lock/lock-"},
		{Point: 1, Who: "A", Kind: "carried out", Op: "create", Path: "/lock/lock-"},
		{Point: 1, Who: "A", Kind: "reply", Op: "create", Path: "/lock/lock-", Made: "/lock/lock-0000000000"},
		{Point: 1, Who: "A", Kind: "note", Text: "holds the lock; at the end: #1"},
		{Point: 2, Who: "B", Kind: "carried out", Op: "getChildren2", Path: "/lock"},
		{Point: 3, Who: "B", Kind: "reply", Op: "getChildren2", Path: "/lock", Names: []string{"lock-0000000000", "lock-0000000001"}},
		{Point: 4, Who: "B", Kind: "event", Op: "deleted", Path: "/lock/lock-0000000000"},
		{Point: 5, Who: "B", Kind: "lost", Op: "delete", Path: "/lock/lock-0000000001", Text: "the reply is lost"},
		{Point: 5, Kind: "note", Text: "two holders"},
	}})
	require.Equal(t, `sequenceDiagram
    participant A as client A
    participant S as ZooKeeper
    participant B as client B
    A->>S: create lock-: lock-0
    Note over A: holds the lock at the , 1
    B->>S: getChildren2 lock
    S-->>B: getChildren2 lock: lock-0, lock-1
    S-)B: event: lock-0 deleted
    Note over B: delete lock-1: the reply is lost
    Note over S: two holders
`, diagram)
	checkMermaid(t, diagram)
}
