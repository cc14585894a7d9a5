package player

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
)

// A Lock is one contender for a lock, for one goroutine at a time. TryLock may be unsupported if no script calls it.
type Lock interface {
	Lock(ctx context.Context) error
	TryLock(ctx context.Context) (bool, error)
	Unlock(ctx context.Context) error
}

// A Leased lock has a fencing token, and a channel that is closed when the lock has been lost. Lost is asked
// once, after a successful Lock or TryLock.
type Leased interface {
	Token() int64
	Lost() <-chan struct{}
}

// A Subject is a kind of lock under exploration.
type Subject struct {
	Name string
	Path string // of the lock; "/explore/lock" if it is empty
	// Open is called once per client. It returns a function that makes its contenders, with an owner per name, if any.
	Open func(conn *zk.Conn, path string) func(name string) Lock
	// NotLocked reports whether an error of Unlock means that the lock was not held. Nil: the lock cannot report that.
	NotLocked func(err error) bool
	// Begin, if it is not nil, is called before each schedule. A lock that calls gap(name), where the scheduler may let
	// others run, stops there until the explorer lets it go on. end is called at last: goroutines that wait must exit.
	Begin func(gap func(name string)) (end func())

	// What the lock promises.
	Queue     bool // contenders get the lock in the order of their nodes' numbers
	Contexts  bool // Lock and TryLock end when their ctx does
	Reentrant bool // a holder may lock again, and holds the lock until it has unlocked as often as it has locked
	Permits   int  // how many may be inside at once; 0: one
	// Together, if it is not nil, reports whether two contenders may be inside at once, as two readers may.
	Together func(a, b string) bool
	// Bypass: a contender whose first request is carried out starves if later ones get in this often. 0: not checked.
	Bypass int
	// Requests and Events are how many requests n contenders send at most, and how many watch events they get, if each
	// locks once and no fault happens. Nil: not checked.
	Requests, Events func(n int) int
	// Check, if it is not nil, is called when all goroutines have settled, and returns what is wrong; no Kind: nothing.
	Check  func() Violation
	Ignore []Kind  // violations that are not reported, because the lock makes no such promise
	Known  []Known // the known faults of the lock

	// How it works.
	Requeues bool // after an error of the connection or the session its calls try again; otherwise they may fail
	Timed    bool // it watches over its session by the clock: a session expires only after its timeout has passed
	Exists   bool // it takes for granted that its path is there, as the parent of a queue: every world has it
	Closes   bool // Unlock closes the client, after a Lock that failed, too
	// Lenient: the lock is a student's attempt. Any right behaviour is accepted: the lock may try again after a fault
	// or not, clean up later, wait for timers, and draw random names, so that its schedules need not repeat.
	Lenient bool
	// Alone: contenders of a client share nothing but the client. Open may be called for each of them, with a path of its
	// own, by which a film knows whose a request is: World.Tagged.
	Alone   bool
	Session time.Duration // the session timeout of the clients; 0: SessionTimeout
	Within  time.Duration // Lock gives up after this time; 0: it does not
}

// Wrapped is the lock with each of its contenders inside another one.
func (s Subject) Wrapped(wrap func(l Lock, conn *zk.Conn, path, name string) Lock) Subject {
	newInner := s.Open
	s.Open = func(conn *zk.Conn, path string) func(string) Lock {
		contender := newInner(conn, path)
		return func(name string) Lock { return wrap(contender(name), conn, path, name) }
	}
	return s
}

// A Known is a fault of a lock that its page describes. A violation that matches is counted apart, and ends no search.
type Known struct {
	Name  i18n.Text
	Match func(v Violation, f Facts) bool
}

// Facts are the faults of a schedule before its violation.
type Facts struct {
	OrphanCreate bool     // the reply to a create that made an ephemeral node was lost, and the session went on
	OrphanDelete bool     // a request to delete, or its reply, was lost
	Faults       []string // that were chosen, in order
	World        World
}

// Happened is how many times a fault of this kind has happened.
func (f Facts) Happened(kind Fault) (times int) {
	for _, s := range f.Faults {
		if strings.HasSuffix(s, ": "+string(kind)) {
			times++
		}
	}
	return times
}

// An Op is a call in the script of a contender.
type Op string

// The calls. After LockOp or TryLockOp has got the lock, the explorer chooses when the next call, UnlockOp, comes.
// UnlockOp is left out if the lock was not got. A holder that locks again does so at once.
const (
	LockOp    Op = "lock"
	TryLockOp Op = "trylock"
	UnlockOp  Op = "unlock"
	// RelockOp is Lock without an Unlock before, by a holder whose session has ended; otherwise it is left out.
	RelockOp Op = "relock"
)

// A Fault is a kind of fault. Each fault that happens is a choice.
type Fault string

// The kinds of fault.
const (
	LoseRequest Fault = "lose request" // a request is lost with its connection
	LoseReply   Fault = "lose reply"   // a request is carried out, its reply is lost with the connection
	Cut         Fault = "cut"          // an idle connection breaks; the session lives on
	Expire      Fault = "expire"       // the client is cut off until its session has expired
	Stop        Fault = "stop"         // the client is stopped; its session expires; later it runs on
	EndContext  Fault = "end ctx"      // the ctx of a Lock or TryLock ends
	Stall       Fault = "stall"        // the client's later requests stay in it until its session has expired
	Pause       Fault = "time passes"  // for 18 s; requests are carried out at once meanwhile
	Day         Fault = "a day passes" // requests are carried out at once meanwhile
	Remake      Fault = "parent goes"  // the server removes the queue's parent, which is an empty container
	Refuse      Fault = "refuse"       // the first connection of a client is refused: World.Unconnected
	NodeGoes    Fault = "node goes"    // somebody deletes the node of a contender that waits
	NodeSet     Fault = "node is set"  // somebody writes the data of a contender's node again, the same bytes

	// The ctx ends just after the lock has called its Err, for the next time or the next but one, which was still nil.
	EndAfterLook  Fault = "ctx ends after its next look"
	EndAfterLook2 Fault = "ctx ends after its next look but one"
)

// AllFaults are the kinds of fault that every world may have. KnownFaults are these, and those for some worlds only.
var AllFaults = []Fault{LoseRequest, LoseReply, Cut, Expire, Stop, EndContext, Stall}
var KnownFaults = append([]Fault{Pause, Day, Remake, Refuse, NodeGoes, NodeSet, EndAfterLook, EndAfterLook2}, AllFaults...)

// A World is what a search plays: a lock, contenders, and the faults that may happen.
// The zero value of every field but Lock has a meaning.
type World struct {
	Lock       Subject `json:"-"`
	Name       string  `json:"lock"`       // of the lock; set from Lock
	Contenders int     `json:"contenders"` // how many there are, named A, B and so on; 0: two
	// Shared: all contenders are goroutines of one client. Otherwise each has a client of its own.
	Shared bool `json:"shared,omitempty"`
	// Scripts are the calls of each contender. One that has none, or an empty one, locks and unlocks.
	Scripts [][]Op `json:"scripts,omitempty"`
	// Packets: replies and events are choices of their own. Otherwise they arrive at once.
	Packets bool `json:"packets,omitempty"`
	// Missing: no node above the lock's path exists at first. Otherwise all do, and so does the parent of a queue.
	Missing bool `json:"missing,omitempty"`
	// Stranger: the parent of the queue also has the children Strangers. They are not contenders.
	Stranger  bool `json:"stranger,omitempty"`
	Forbidden bool `json:"forbidden,omitempty"` // no client may make a node where the lock makes its own
	// OneOwner: A and B are goroutines of one owner. They are opened under one name, and may be inside together.
	OneOwner bool `json:"one_owner,omitempty"`
	// Apart: each contender has a lock of its own, whose path ends with its name. None of them has to wait.
	Apart bool `json:"apart,omitempty"`
	// Unconnected: no client is connected at the start. Open must send nothing.
	Unconnected bool  `json:"unconnected,omitempty"`
	Sequence    int32 `json:"sequence,omitempty"` // the number of the next node in the queue
	// Ensemble: the client knows three servers, not one. It connects to the next one at once, and keeps what it has not sent.
	Ensemble bool `json:"ensemble,omitempty"`
	// Behind: after each new connection, until the client syncs or writes, its server lags: it does not show nodes that
	// are newer than the newest answer that the client has got.
	Behind bool    `json:"behind,omitempty"`
	Kinds  []Fault `json:"kinds,omitempty"`  // the kinds of fault that may happen
	Faults int     `json:"faults,omitempty"` // how many may happen in one schedule, all kinds together
	Each   int     `json:"each,omitempty"`   // how many of one kind; 0: as many as Faults says

	Tagged bool `json:"-"` // the contenders of a client have paths of their own to the lock, for a film: tag.go
}

var Strangers = []string{"a-stranger", "lockfile-0000000000", "lock", "reader-0000000000", "writers-0000000000"} // of World.Stranger

// MaxContenders is how many a search, or a trace in a file, may have.
const MaxContenders = 64

// SessionTimeout is that of every client in a world, unless its Subject has another one. It passes in virtual time.
const SessionTimeout = 40 * time.Second

const (
	pause     = SessionTimeout * 9 / 20 // 18 s
	day       = 24 * time.Hour
	patience  = time.Minute // virtual: a contender that is not woken within that time hangs
	maxIdle   = 60          // how many times in a row a patience may pass without progress of a contender
	maxPoints = 400         // actions in a schedule; a longer one does not end
)

// lockPath is the path of the lock. It is deep, so that a lock has parents to make.
func (w World) lockPath() string { return cmp.Or(w.Lock.Path, "/explore/lock") }

// Timeout is the session timeout of the clients.
func (w World) Timeout() time.Duration { return cmp.Or(w.Lock.Session, SessionTimeout) }

// Number is how many contenders there are.
func (w World) Number() int { return cmp.Or(w.Contenders, 2) }

func (w World) script(i int) []Op {
	if i < len(w.Scripts) && len(w.Scripts[i]) > 0 {
		return w.Scripts[i]
	}
	return []Op{LockOp, UnlockOp}
}

// byName orders the names of contenders.
func byName(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }
