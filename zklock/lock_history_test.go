// Random schedules, part 1: a schedule's history, the model that it must fit, and the tests. Part 2 plays a schedule
// and records its history: lock_schedule_test.go, with subject and leaseUnderTest. helpers_test.go has the helpers.
package zklock_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// A history has the operations of the clients of one schedule. It is right if the model (below) allows some order of
// these operations in which each of them happens at one moment between its call and its return.
//
// From the return of Lock to the call of Unlock, or until Lost closes, no other contender may get the lock. There is
// one excuse: if an operator ends the session or deletes the node of a holder, there may be two holders from then
// until Lost closes, and their tokens show which is the later one. If a session ends because nothing of its client
// arrived, there is no excuse: by then Lost has closed.
type history struct {
	seed  uint64
	start time.Time
	harsh bool // the faults are drawn from all kinds, also from those by which the lock may be lost (makeFault)

	mu       sync.Mutex
	events   int64 // so far: the number of the last one
	ops      []*operation
	holds    map[int64]*tokenHold // of the leases so far, by token
	taken    map[string]int64     // by node: when an operator has taken it away: deleted it, or ended its session
	faults   []porcupine.Annotation
	problems []string
}

// A tokenHold is what is known of the leases with one token.
type tokenHold struct {
	node             string
	loss             *operation // nil: it is not lost
	leased, unlocked int64      // when the first lease was there, and when Unlock was first called
}

type kind string // of an operation

const (
	opLock    kind = "Lock"
	opTryLock kind = "TryLock"
	opUnlock  kind = "Unlock"
	opLost    kind = "Lost"
)

// An operation is one call, or a loss. Its times are virtual nanoseconds, shifted left by eventBits. These lower bits
// number the events, and so order those of one nanosecond.
type operation struct {
	kind      kind
	lane      int    // its row in the picture: the client's, and 0 for a loss
	owner     string // its name, which no other owner has; "" for a loss
	token     int64  // 0: no lease
	call      int64
	ret       int64 // never: it has not ended, and has its effect at any time
	err       error
	taken     bool // a loss by an operator's command
	sawCached bool // a cached node of another contender was there when TryLock was called
	excuse    bool // its result may be one that the model does not allow: markExcuses sets it
}

const (
	never     = math.MaxInt64
	eventBits = 20 // bits for the events of one nanosecond
)

// nowLocked returns a time that is later than those of all events before, though in the same nanosecond.
func (h *history) nowLocked() int64 {
	h.events++
	return int64(time.Since(h.start))<<eventBits | h.events
}

// isCachedLocked reports whether a node that is there had leases, and has none now: it is cached, or is being deleted.
func (h *history) isCachedLocked(name string) bool {
	leases, hadSome := 0, false
	for _, o := range h.ops {
		if o.ret == never { // its client may be about to write its token, without the mutex
			continue
		}
		held := h.holds[o.token]
		switch {
		case held == nil || held.node != historyPath+"/"+name: // is not about the node
		case o.kind == opUnlock:
			leases--
		case o.kind != opLost && o.err == nil:
			leases++
			hadSome = true
		}
	}
	return hadSome && leases == 0
}

// instant is when the nanosecond of a time began.
func instant(at int64) int64 { return at >> eventBits << eventBits }

// begin records the call of an operation.
func (h *history) begin(k kind, lane int, owner string, token int64) *operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := &operation{kind: k, lane: lane, owner: owner, token: token, call: h.nowLocked(), ret: never}
	h.ops = append(h.ops, o)
	if held := h.holds[token]; k == opUnlock && held != nil {
		held.unlocked = min(held.unlocked, o.call)
	}
	return o
}

// end records that it has returned.
func (h *history) end(o *operation, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.err = err
	// An Unlock whose ctx has ended goes on in the background: it may have its effect at any time.
	ctxEnded := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if o.kind != opUnlock || !ctxEnded {
		o.ret = h.nowLocked()
	}
}

// recordLoss records when a lease is lost. The first lease of a token does that for the others, which share its Lost.
func (h *history) recordLoss(l leaseUnderTest, stop <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holds[l.Token()] != nil {
		return
	}
	held := &tokenHold{node: l.Node(), leased: h.nowLocked(), unlocked: never}
	h.holds[l.Token()] = held
	h.takeLocked(l.Token(), held) // if the operator has taken the node, and the Mutex has handed the lock on since

	go func() {
		select {
		case <-l.Lost():
		case <-stop:
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		now := h.nowLocked()
		if held.loss == nil {
			// It is seen a moment later than it happens, but in the same instant.
			held.loss = &operation{kind: opLost, token: l.Token(), call: instant(now)}
		}
		held.loss.ret = now
	}()
}

// take notes that an operator is about to delete some nodes, or to end their session.
func (h *history) take(nodes ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := instant(h.nowLocked())
	for _, node := range nodes {
		if h.taken[node] == 0 {
			h.taken[node] = now
		}
	}
	for token, held := range h.holds {
		h.takeLocked(token, held)
	}
}

// takeLocked notes the loss of a lease if its node was taken away.
func (h *history) takeLocked(token int64, held *tokenHold) {
	if at := h.taken[held.node]; at != 0 && held.loss == nil {
		held.loss = &operation{kind: opLost, token: token, call: at, ret: never, taken: true}
	}
}

// fault notes a fault, for the picture; call the result when it is over.
func (h *history) fault(sentence string, args ...any) (over func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.faults)
	h.faults = append(h.faults, porcupine.Annotation{
		Tag: "faults", Description: fmt.Sprintf(sentence, args...), Start: h.nowLocked(),
	})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.faults[i].End = h.nowLocked()
	}
}

// problem notes something that is wrong, whatever the model says.
func (h *history) problem(sentence string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problems = append(h.problems, fmt.Sprintf(sentence, args...))
}

// A state is that of the model: a lock that one owner holds, with some leases.
type state struct {
	token   int64 // 0: nobody
	owner   string
	leases  int
	highest int64 // token
}

var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, _ any) (bool, any) { return step(s.(state), in.(*operation)) },
	DescribeOperation: func(in, _ any) string {
		o, ok := in.(*operation)
		if !ok { // it is an annotation, which has its own text
			return ""
		}
		return fmt.Sprintf("%s %s: %d, %v", o.owner, o.kind, o.token, o.err)
	},
	DescribeState: func(s any) string { return fmt.Sprintf("%+v", s) },
}

// step reports whether the model allows o in the state s, and returns the state after it.
func step(s state, o *operation) (bool, state) {
	isHolder := s.token == o.token && s.owner == o.owner
	switch o.kind {
	case opLock, opTryLock:
		switch {
		case errors.Is(o.err, zklock.ErrHeld):
			anotherHolds := s.token != 0 && s.owner != o.owner
			return anotherHolds || o.excuse, s
		case o.err != nil:
			return true, s
		case isHolder:
			s.leases++
			return true, s
		case s.token == 0 && o.token > s.highest:
			return true, state{token: o.token, owner: o.owner, leases: 1, highest: o.token}
		}
		takenAndLate := o.excuse && o.token <= s.highest // an operator took the lock from it, and a later holder came first
		return takenAndLate, s
	case opUnlock:
		switch {
		case !isHolder:
			return o.err != nil || o.excuse, s
		case s.leases == 1:
			return true, state{highest: s.highest}
		}
		s.leases--
		return !errors.Is(o.err, zklock.ErrLost), s // a lost lock has no leases that are left
	default: // lost
		if s.token == o.token {
			s = state{highest: s.highest}
		}
		return true, s
	}
}

// markExcuses marks the operations whose result may be one that the model does not allow:
//   - those of a token whose node an operator has taken away, until Lost closes;
//   - a TryLock that returns ErrHeld because of a cached node, or while another contender tries to get the lock, is
//     releasing it, or may have left its node behind.
func (h *history) markExcuses() {
	for _, o := range h.ops {
		if errors.Is(o.err, zklock.ErrHeld) {
			o.excuse = o.sawCached || slices.ContainsFunc(h.ops, o.mayHaveSeenNodeOf)
		} else if loss := h.lossOf(o); loss != nil && loss.taken {
			o.excuse = loss.call < o.ret && (o.kind == opUnlock || o.call < loss.ret)
		}
	}
}

// mayHaveSeenNodeOf reports whether the node of another operation may have been in the queue during o.
func (o *operation) mayHaveSeenNodeOf(other *operation) bool {
	failed := other.err != nil && !errors.Is(other.err, zklock.ErrHeld)
	mayLeaveNode := failed || other.kind == opLost || other.ret == never
	overlaps := other.ret > o.call
	return other != o && other.call < o.ret && (mayLeaveNode || overlaps)
}

// lossOf returns the loss of the lease that an operation is about, nil if there is none.
func (h *history) lossOf(o *operation) *operation {
	if held := h.holds[o.token]; held != nil {
		return held.loss
	}
	return nil
}

// checkLosses looks for leases that were lost for no reason, and for those whose Lost stays open after the loss.
func (h *history) checkLosses() {
	for _, o := range h.ops {
		at := o.call
		if loss := h.lossOf(o); loss != nil {
			at = loss.call // an Unlock may return it much later
		}
		tellsOfLoss := o.kind == opLost || errors.Is(o.err, zklock.ErrLost)
		if tellsOfLoss && !h.harsh && h.isCalm(at) {
			h.problem("nothing happened, and the lock with token %d is lost", o.token)
		}
	}
	for token, held := range h.holds {
		if held.loss == nil {
			continue
		}
		deadline := max(held.leased, held.loss.call) + int64(sessionTimeout+time.Second)<<eventBits
		stayedOpen := held.loss.ret > deadline // an Unlock before the deadline leaves Lost open
		if stayedOpen && held.unlocked > deadline {
			h.problem("the Lost of the holder with token %d does not close though the lock is lost", token)
		}
	}
}

// isCalm reports whether there was no fault in the session timeout before at. Of mild faults a lease survives a few.
func (h *history) isCalm(at int64) bool {
	return !slices.ContainsFunc(h.faults, func(f porcupine.Annotation) bool {
		over := f.End != 0 && f.End < at-int64(sessionTimeout)<<eventBits
		return f.Start <= at && !over
	})
}

// check returns what is wrong with a history whose schedule is over, "" if nothing, and puts a picture of it into dir.
func (h *history) check(dir string) string {
	for _, held := range h.holds {
		if held.loss != nil {
			h.ops = append(h.ops, held.loss)
		}
	}
	h.markExcuses()
	h.checkLosses()

	end := int64(0) // of the schedule. time.Now is real time here
	for _, o := range h.ops {
		end = max(end, o.call+1)
		if o.ret != never {
			end = max(end, o.ret+1)
		}
	}
	var operations []porcupine.Operation
	for _, o := range h.ops {
		operations = append(operations, porcupine.Operation{ClientId: o.lane, Input: o, Call: o.call, Return: min(o.ret, end)})
	}
	result := porcupine.CheckOperationsTimeout(model, operations, 10*time.Minute)
	if result != porcupine.Ok {
		h.problem("linearizable: %s: two hold the lock at once, or a token does not grow", result)
	}
	if len(h.problems) == 0 {
		return ""
	}

	text := fmt.Sprintf("%q", h.problems)
	if dir != "" {
		_, info := porcupine.CheckOperationsVerbose(model, operations, 10*time.Second)
		info.AddAnnotations(h.faults)
		picture := filepath.Join(dir, fmt.Sprintf("history-%d.html", h.seed))
		if err := porcupine.VisualizePath(model, info, picture); err != nil {
			picture = err.Error()
		}
		text += "\npicture: " + picture
	}
	return text + fmt.Sprintf("\nagain:   go test ./zklock -run HistoriesAreLinearizable -history.seed %d", h.seed)
}

var (
	historySeed  = flag.Uint64("history.seed", 0, "play the schedule with this seed only")
	historyCount = flag.Int("history.n", 0, "how many schedules are played; 0: 200 for a landing, or else 50")
)

func schedules() int {
	byDefault := 50
	if testenv.AtLanding() {
		byDefault = 200
	}
	return cmp.Or(*historyCount, byDefault)
}

// No two contenders hold the lock at once, and tokens grow, in the histories of random schedules of clients and faults.
func TestHistoriesAreLinearizable(t *testing.T) {
	testenv.Embedded(t, "in virtual time, on a server that misbehaves on command")
	t.Parallel() // it computes while TestTheProgramInTheReadmeRuns waits
	first, n := uint64(1), schedules()
	switch {
	case *historySeed != 0:
		first, n = *historySeed, 1
	case testenv.AtLength():
		first = rand.Uint64()
	}
	dir := os.TempDir() // for the picture of a history that is wrong
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		dir = t.ArtifactDir() // which stays only if that flag is set
	}

	var ops, leases, losses int
	for i := range n {
		for _, lock := range []subject{{}, caching} {
			h := playSchedule(t, first+uint64(i), lock)
			require.Empty(t, h.check(dir))
			ops += len(h.ops)
			for _, o := range h.ops {
				if o.kind == opLost {
					losses++
				} else if o.kind != opUnlock && o.err == nil {
					leases++
				}
			}
		}
	}
	t.Logf("%d histories, and as many with caching, of %d operations: %d leases, %d of them lost", n, ops, leases, losses)
}

// caching is a Mutex that keeps each node for some seconds, in which other clients come.
var caching = subject{caches: true, options: []zklock.Option{zklock.WithCaching(2 * time.Second), zklock.CachingFrom(0)}}

// The check of histories finds the fault of each of these locks, or the wrong assumption about it.
func TestHistoriesShowWhatIsBroken(t *testing.T) {
	testenv.Landing(t, "it is about the check")
	testenv.RacedAtLength(t, "it is about the check, and the lock has other tests")
	testenv.Embedded(t, "in virtual time, on a server that misbehaves on command")
	for name, lock := range map[string]subject{
		"all owners are one":      {owner: zklock.NewOwner("everybody")},
		"Lost never closes":       {wrap: func(l leaseUnderTest) leaseUnderTest { return neverLost{l} }},
		"Lost closes late":        {options: []zklock.Option{zklock.WithSessionTimeout(3 * sessionTimeout)}},
		"the token does not grow": {wrap: func(l leaseUnderTest) leaseUnderTest { return constantToken{l} }},
		"TryLock finds a node that is cached, and the model does not know": {options: caching.options},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5 * schedules()) { // the same seeds each time: no fault is missed by bad luck
				if problem := playSchedule(t, seed, lock).check(""); problem != "" {
					t.Logf("seed %d: %s", seed, problem)
					return
				}
			}
			require.Fail(t, "the fault is not found")
		})
	}
}

type neverLost struct{ leaseUnderTest }

func (neverLost) Lost() <-chan struct{} { return nil }

type constantToken struct{ leaseUnderTest }

func (constantToken) Token() int64 { return 7 }
