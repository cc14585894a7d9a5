package jute

import "fmt"

// An Op is the kind of a request, as numbered on the wire.
type Op int32

// The requests that clients send. OpConnect is the handshake: it has no
// header and so no number on the wire; the name is ours.
const (
	OpConnect         Op = -100
	OpCloseSession    Op = -11
	OpError           Op = -1
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpCheckWatches    Op = 17
	OpRemoveWatches   Op = 18
	OpCreateContainer Op = 19
	OpCreateTTL       Op = 21
	OpAuth            Op = 100
	OpSetWatches      Op = 101

	OpGetEphemerals        Op = 103
	OpGetAllChildrenNumber Op = 104
	OpSetWatches2          Op = 105
	OpAddWatch             Op = 106
	OpWhoAmI               Op = 107
)

var opNames = map[Op]string{
	OpConnect: "connect", OpCloseSession: "closeSession", OpError: "error", OpCreate: "create", OpDelete: "delete",
	OpExists: "exists", OpGetData: "getData", OpSetData: "setData", OpGetACL: "getACL", OpSetACL: "setACL",
	OpGetChildren: "getChildren", OpSync: "sync", OpPing: "ping", OpGetChildren2: "getChildren2", OpCheck: "check",
	OpMulti: "multi", OpCreate2: "create2", OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches",
	OpCreateContainer: "createContainer", OpCreateTTL: "createTTL", OpAuth: "auth", OpSetWatches: "setWatches",
	OpGetEphemerals: "getEphemerals", OpGetAllChildrenNumber: "getAllChildrenNumber", OpSetWatches2: "setWatches2",
	OpAddWatch: "addWatch", OpWhoAmI: "whoAmI",
}

// String is the name that ZooKeeper's documentation uses.
func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return fmt.Sprintf("op(%d)", int32(o))
}

// PathFirst reports whether the body of a request of this kind begins with the path of the node that it is about.
func (o Op) PathFirst() bool {
	switch o {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpExists, OpGetData, OpSetData,
		OpGetACL, OpSetACL, OpGetChildren, OpGetChildren2, OpSync, OpCheck, OpCheckWatches, OpRemoveWatches,
		OpGetAllChildrenNumber, OpAddWatch:
		return true
	}
	return false
}

// Special values of a packet's xid; a client numbers its other requests itself.
const (
	XidEvent int32 = -1
	XidPing  int32 = -2
	XidAuth  int32 = -4
)

// A Code is the outcome of a request: OK, or why not.
type Code int32

// The codes that the server answers with.
const (
	OK                        Code = 0
	ErrRuntimeInconsistency   Code = -2
	ErrMarshalling            Code = -5
	ErrUnimplemented          Code = -6
	ErrBadArguments           Code = -8
	ErrNoNode                 Code = -101
	ErrNoAuth                 Code = -102
	ErrBadVersion             Code = -103
	ErrNoChildrenForEphemeral Code = -108
	ErrNodeExists             Code = -110
	ErrNotEmpty               Code = -111
	ErrSessionExpired         Code = -112
	ErrInvalidACL             Code = -114
	ErrAuthFailed             Code = -115
	ErrNoWatcher              Code = -121
)

// An EventType says what happened to a watched node.
type EventType int32

// The events that a watch delivers.
const (
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

var eventNames = map[EventType]string{
	EventCreated: "created", EventDeleted: "deleted", EventDataChanged: "dataChanged", EventChildrenChanged: "childrenChanged",
}

// String is the name in the style of the Go client.
func (t EventType) String() string {
	if name, ok := eventNames[t]; ok {
		return name
	}
	return fmt.Sprintf("event(%d)", int32(t))
}

// StateSyncConnected is the session state that every watch event carries.
const StateSyncConnected int32 = 3

// The flags of a create request.
const (
	FlagPersistent          int32 = 0
	FlagEphemeral           int32 = 1
	FlagSequential          int32 = 2
	FlagEphemeralSequential int32 = 3
	FlagContainer           int32 = 4
	FlagTTL                 int32 = 5
	FlagSequentialTTL       int32 = 6
)

// The permissions of an ACL, one bit each.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// The kinds of watch that CheckWatches and RemoveWatches name.
const (
	WatcherChildren int32 = 1
	WatcherData     int32 = 2
	WatcherAny      int32 = 3
)

// The modes of an addWatch. Both kinds of watch stay when they have fired.
const (
	ModePersistent          int32 = 0 // the node and the list of its children
	ModePersistentRecursive int32 = 1 // the node and all nodes below it
)
