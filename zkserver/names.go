package zkserver

import "example.com/zklock/internal/jute"

// An Op is the kind of a request, by its number on the wire. Its String is
// the name that ZooKeeper's documentation uses.
type Op = jute.Op

// The requests that clients send. OpConnect is the handshake, which has no number on the wire, and no path.
const (
	AnyOp                  Op = 0 // for the condition On: every request
	OpConnect                 = jute.OpConnect
	OpCloseSession            = jute.OpCloseSession
	OpCreate                  = jute.OpCreate
	OpDelete                  = jute.OpDelete
	OpExists                  = jute.OpExists
	OpGetData                 = jute.OpGetData
	OpSetData                 = jute.OpSetData
	OpGetACL                  = jute.OpGetACL
	OpSetACL                  = jute.OpSetACL
	OpGetChildren             = jute.OpGetChildren
	OpSync                    = jute.OpSync
	OpPing                    = jute.OpPing
	OpGetChildren2            = jute.OpGetChildren2
	OpCheck                   = jute.OpCheck // in a multi
	OpMulti                   = jute.OpMulti
	OpCreate2                 = jute.OpCreate2
	OpCheckWatches            = jute.OpCheckWatches
	OpRemoveWatches           = jute.OpRemoveWatches
	OpCreateContainer         = jute.OpCreateContainer
	OpCreateTTL               = jute.OpCreateTTL
	OpAuth                    = jute.OpAuth
	OpSetWatches              = jute.OpSetWatches
	OpGetEphemerals           = jute.OpGetEphemerals
	OpGetAllChildrenNumber    = jute.OpGetAllChildrenNumber
	OpSetWatches2             = jute.OpSetWatches2
	OpAddWatch                = jute.OpAddWatch
	OpWhoAmI                  = jute.OpWhoAmI
)

// A Code is the outcome of a request on the wire: 0, or why not. A client makes an error of it:
// go-zookeeper makes zk.ErrNoNode of CodeNoNode. Fail takes any, also one that is not listed here.
type Code = jute.Code

// The codes that the server answers with.
const (
	CodeRuntimeInconsistency    = jute.ErrRuntimeInconsistency // a part of a multi that has failed before it
	CodeMarshalling             = jute.ErrMarshalling
	CodeUnimplemented           = jute.ErrUnimplemented
	CodeBadArguments            = jute.ErrBadArguments
	CodeNoNode                  = jute.ErrNoNode
	CodeNoAuth                  = jute.ErrNoAuth
	CodeBadVersion              = jute.ErrBadVersion
	CodeNoChildrenForEphemerals = jute.ErrNoChildrenForEphemeral
	CodeNodeExists              = jute.ErrNodeExists
	CodeNotEmpty                = jute.ErrNotEmpty
	CodeSessionExpired          = jute.ErrSessionExpired
	CodeInvalidACL              = jute.ErrInvalidACL
	CodeAuthFailed              = jute.ErrAuthFailed
	CodeNoWatcher               = jute.ErrNoWatcher
)

// A Stat is what the server keeps of a node besides its data. Its fields are those of ZooKeeper: Czxid, Mzxid, Pzxid
// (the transactions that made the node, that changed its data last, and its list of children), Ctime and Mtime (in ms
// since 1970), Version, Cversion, Aversion (the changes of the data, of the list of children, of the ACL),
// EphemeralOwner (the session that the node ends with, or 0), DataLength (in bytes) and NumChildren.
type Stat = jute.Stat

// An ACL grants the permissions Perms (read 1, write 2, create 4, delete 8,
// admin 16) to every client that has the identity Scheme:ID.
type ACL = jute.ACL
