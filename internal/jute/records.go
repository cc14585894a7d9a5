package jute

// Each record has Encode and Decode, which list its fields in the order of
// the wire (zookeeper.jute in the Apache source).

// ConnectRequest opens a connection: it starts a session (SessionID 0) or attaches to one.
type ConnectRequest struct {
	Protocol     int32
	LastZxidSeen int64
	TimeoutMs    int32
	SessionID    int64
	Password     []byte
	HasReadOnly  bool // older clients, go-zookeeper too, leave ReadOnly out
	ReadOnly     bool
}

func (r *ConnectRequest) Encode(e *Encoder) {
	e.Int32(r.Protocol)
	e.Int64(r.LastZxidSeen)
	e.Int32(r.TimeoutMs)
	e.Int64(r.SessionID)
	e.Buffer(r.Password)
	if r.HasReadOnly {
		e.Bool(r.ReadOnly)
	}
}

func (r *ConnectRequest) Decode(d *Decoder) {
	r.Protocol = d.Int32()
	r.LastZxidSeen = d.Int64()
	r.TimeoutMs = d.Int32()
	r.SessionID = d.Int64()
	r.Password = d.Buffer()
	r.HasReadOnly = d.Len() > 0
	if r.HasReadOnly {
		r.ReadOnly = d.Bool()
	}
}

// ConnectResponse answers a ConnectRequest; all zero means that the session is unknown or expired.
type ConnectResponse struct {
	Protocol    int32
	TimeoutMs   int32
	SessionID   int64
	Password    []byte
	HasReadOnly bool // as in the request
	ReadOnly    bool
}

func (r *ConnectResponse) Encode(e *Encoder) {
	e.Int32(r.Protocol)
	e.Int32(r.TimeoutMs)
	e.Int64(r.SessionID)
	e.Buffer(r.Password)
	if r.HasReadOnly {
		e.Bool(r.ReadOnly)
	}
}

func (r *ConnectResponse) Decode(d *Decoder) {
	r.Protocol = d.Int32()
	r.TimeoutMs = d.Int32()
	r.SessionID = d.Int64()
	r.Password = d.Buffer()
	r.HasReadOnly = d.Len() > 0
	if r.HasReadOnly {
		r.ReadOnly = d.Bool()
	}
}

// RequestHeader comes before every request except the handshake.
type RequestHeader struct {
	Xid int32
	Op  Op
}

func (h *RequestHeader) Encode(e *Encoder) { e.Int32(h.Xid); e.Int32(int32(h.Op)) }
func (h *RequestHeader) Decode(d *Decoder) { h.Xid = d.Int32(); h.Op = Op(d.Int32()) }

// ReplyHeader comes before every reply and event; after an error there is no body.
type ReplyHeader struct {
	Xid  int32
	Zxid int64
	Err  Code
}

func (h *ReplyHeader) Encode(e *Encoder) { e.Int32(h.Xid); e.Int64(h.Zxid); e.Int32(int32(h.Err)) }
func (h *ReplyHeader) Decode(d *Decoder) {
	h.Xid = d.Int32()
	h.Zxid = d.Int64()
	h.Err = Code(d.Int32())
}

// WatcherEvent reports that a watch has fired.
type WatcherEvent struct {
	Type  EventType
	State int32
	Path  string
}

func (r *WatcherEvent) Encode(e *Encoder) { e.Int32(int32(r.Type)); e.Int32(r.State); e.String(r.Path) }
func (r *WatcherEvent) Decode(d *Decoder) {
	r.Type, r.State, r.Path = EventType(d.Int32()), d.Int32(), d.String()
}

// Stat is what the server returns of a node besides its data.
type Stat struct {
	Czxid          int64 // zxid of the change that made the node
	Mzxid          int64 // zxid of the last change of its data
	Ctime, Mtime   int64 // the same as times, in ms since 1970
	Version        int32 // changes of the data
	Cversion       int32 // changes of the list of children
	Aversion       int32 // changes of the ACL
	EphemeralOwner int64 // session that the node dies with, or 0
	DataLength     int32 // bytes
	NumChildren    int32
	Pzxid          int64 // zxid of the last change of the list of children
}

func (r Stat) Encode(e *Encoder) {
	e.Int64(r.Czxid)
	e.Int64(r.Mzxid)
	e.Int64(r.Ctime)
	e.Int64(r.Mtime)
	e.Int32(r.Version)
	e.Int32(r.Cversion)
	e.Int32(r.Aversion)
	e.Int64(r.EphemeralOwner)
	e.Int32(r.DataLength)
	e.Int32(r.NumChildren)
	e.Int64(r.Pzxid)
}

func (r *Stat) Decode(d *Decoder) {
	r.Czxid = d.Int64()
	r.Mzxid = d.Int64()
	r.Ctime = d.Int64()
	r.Mtime = d.Int64()
	r.Version = d.Int32()
	r.Cversion = d.Int32()
	r.Aversion = d.Int32()
	r.EphemeralOwner = d.Int64()
	r.DataLength = d.Int32()
	r.NumChildren = d.Int32()
	r.Pzxid = d.Int64()
}

// ACL grants permissions to every client that has the identity Scheme:ID.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// WorldACL grants every client every permission.
func WorldACL() []ACL { return []ACL{{PermAll, "world", "anyone"}} }

func (e *Encoder) ACLs(acl []ACL) {
	e.Int32(int32(len(acl)))
	for _, a := range acl {
		e.Int32(a.Perms)
		e.String(a.Scheme)
		e.String(a.ID)
	}
}

// ACLs reads a vector of ACLs; a null scheme or id reads as "", which no scheme accepts.
func (d *Decoder) ACLs() []ACL {
	var acl []ACL
	d.vector(func() {
		a := ACL{Perms: d.Int32()}
		a.Scheme, _ = d.NullString()
		a.ID, _ = d.NullString()
		acl = append(acl, a)
	})
	return acl
}

// CreateRequest is the body of create, create2 and createContainer.
type CreateRequest struct {
	Path  string
	Data  []byte
	ACL   []ACL
	Flags int32
}

func (r *CreateRequest) Encode(e *Encoder) {
	e.String(r.Path)
	e.Buffer(r.Data)
	e.ACLs(r.ACL)
	e.Int32(r.Flags)
}

func (r *CreateRequest) Decode(d *Decoder) {
	r.Path, r.Data, r.ACL, r.Flags = d.String(), d.Buffer(), d.ACLs(), d.Int32()
}

// CreateTTLRequest is CreateRequest with a time to live in milliseconds.
type CreateTTLRequest struct {
	CreateRequest
	TTL int64
}

func (r *CreateTTLRequest) Encode(e *Encoder) { r.CreateRequest.Encode(e); e.Int64(r.TTL) }
func (r *CreateTTLRequest) Decode(d *Decoder) { r.CreateRequest.Decode(d); r.TTL = d.Int64() }

// PathVersion is the body of delete and check.
type PathVersion struct {
	Path    string
	Version int32 // -1 for any
}

func (r *PathVersion) Encode(e *Encoder) { e.String(r.Path); e.Int32(r.Version) }
func (r *PathVersion) Decode(d *Decoder) { r.Path, r.Version = d.String(), d.Int32() }

// PathWatch is the body of exists, getData, getChildren and getChildren2.
type PathWatch struct {
	Path  string
	Watch bool
}

func (r *PathWatch) Encode(e *Encoder) { e.String(r.Path); e.Bool(r.Watch) }
func (r *PathWatch) Decode(d *Decoder) { r.Path, r.Watch = d.String(), d.Bool() }

// SetDataRequest is the body of setData.
type SetDataRequest struct {
	Path    string
	Data    []byte
	Version int32 // -1 for any
}

func (r *SetDataRequest) Encode(e *Encoder) { e.String(r.Path); e.Buffer(r.Data); e.Int32(r.Version) }
func (r *SetDataRequest) Decode(d *Decoder) {
	r.Path, r.Data, r.Version = d.String(), d.Buffer(), d.Int32()
}

// SetACLRequest is the body of setACL.
type SetACLRequest struct {
	Path    string
	ACL     []ACL
	Version int32 // -1 for any
}

func (r *SetACLRequest) Encode(e *Encoder) { e.String(r.Path); e.ACLs(r.ACL); e.Int32(r.Version) }
func (r *SetACLRequest) Decode(d *Decoder) {
	r.Path, r.ACL, r.Version = d.String(), d.ACLs(), d.Int32()
}

// SetWatches arms a client's watches again after a reconnect. None of its lists may be null.
type SetWatches struct {
	RelativeZxid       int64 // the last zxid that the client has seen
	Data, Exist, Child []string
}

func (r *SetWatches) Encode(e *Encoder) {
	e.Int64(r.RelativeZxid)
	e.Strings(r.Data)
	e.Strings(r.Exist)
	e.Strings(r.Child)
}

func (r *SetWatches) Decode(d *Decoder) {
	r.RelativeZxid, r.Data, r.Exist, r.Child = d.Int64(), d.notNullStrings(), d.notNullStrings(), d.notNullStrings()
}

// SetWatches2 is SetWatches with the watches of addWatch.
type SetWatches2 struct {
	SetWatches
	Persistent, Recursive []string
}

func (r *SetWatches2) Encode(e *Encoder) {
	r.SetWatches.Encode(e)
	e.Strings(r.Persistent)
	e.Strings(r.Recursive)
}

func (r *SetWatches2) Decode(d *Decoder) {
	r.SetWatches.Decode(d)
	r.Persistent, r.Recursive = d.notNullStrings(), d.notNullStrings()
}

// AddWatch is the body of addWatch. A null path reads as "", which no node has.
type AddWatch struct {
	Path string
	Mode int32 // ModePersistent or ModePersistentRecursive
}

func (r *AddWatch) Encode(e *Encoder) { e.String(r.Path); e.Int32(r.Mode) }
func (r *AddWatch) Decode(d *Decoder) { r.Path, _ = d.NullString(); r.Mode = d.Int32() }

// PathType is the body of checkWatches and removeWatches. A null path reads as "", as in AddWatch.
type PathType struct {
	Path string
	Type int32 // WatcherChildren, WatcherData or WatcherAny
}

func (r *PathType) Encode(e *Encoder) { e.String(r.Path); e.Int32(r.Type) }
func (r *PathType) Decode(d *Decoder) { r.Path, _ = d.NullString(); r.Type = d.Int32() }

// AuthPacket adds an identity to a connection. A null scheme reads as "", which is none.
type AuthPacket struct {
	Type   int32
	Scheme string
	Auth   []byte
}

func (r *AuthPacket) Encode(e *Encoder) { e.Int32(r.Type); e.String(r.Scheme); e.Buffer(r.Auth) }
func (r *AuthPacket) Decode(d *Decoder) {
	r.Type = d.Int32()
	r.Scheme, _ = d.NullString()
	r.Auth = d.Buffer()
}

// MultiHeader comes before each operation of a multi and, with Done, after the last.
type MultiHeader struct {
	Op   Op
	Done bool
	Err  Code
}

func (h *MultiHeader) Encode(e *Encoder) { e.Int32(int32(h.Op)); e.Bool(h.Done); e.Int32(int32(h.Err)) }
func (h *MultiHeader) Decode(d *Decoder) {
	h.Op, h.Done, h.Err = Op(d.Int32()), d.Bool(), Code(d.Int32())
}

// EndOfMulti is the header after the last operation.
var EndOfMulti = MultiHeader{Op: OpError, Done: true, Err: -1}

// FirstOfMulti reads a multi, or its reply, as far as the path of its first part: the path that the request names, or
// that the reply says was made. It returns that part's operation, too. A reply to a multi that has failed has no path.
func FirstOfMulti(d *Decoder) (op Op, path string) {
	var h MultiHeader
	h.Decode(d)
	if h.Done || !h.Op.PathFirst() {
		return h.Op, ""
	}
	return h.Op, d.String()
}
