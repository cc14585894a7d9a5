package leases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/runner"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// RunFaults is the fault series. For each request that an acquisition and its
// release send, in each of several situations, one case loses the request
// with its connection, one the reply; in one the session expires before, in
// one after it is carried out; and in each of these ctx goes on, or ends at
// that moment. Which requests there are is recorded in a run without a fault,
// so that the series stays complete when the lock changes. With ZKLOCK_TESTS=long
// each request that is sent after a fault is spoiled in turn, too: some thousand
// pairs more.
//
// After each: never two holders, tokens that grow, the next one gets in, and
// no node, watch or goroutine is left. A lock of the level Basic may fail with a
// create that is lost with its connection and with its session, whose end then
// removes the node.
//
// On ZooKeepers other than the embedded one the series is skipped.
//
// The cases run in a process of their own, as those of Run do. If many cases do
// not end, the series stops with a message.
func RunFaults(t *testing.T, s Subject) {
	t.Helper()
	testenv.Embedded(t, "needs exact control of the server, which only the embedded one gives")
	j := s.Faults(t)
	if j == nil {
		return
	}
	cases, stopped := Series(testenv.AtLength(), j.Run)
	if stopped {
		t.Errorf("the fault series stops: %d cases did not end", enough)
	}
	t.Logf("fault series: %d cases", cases)
}

// Faults returns the judge of the fault series, nil in the process that has run the
// cases.
func (s Subject) Faults(t *testing.T) *runner.Judge {
	t.Helper()
	if s.Open == nil {
		t.Fatal("locktest: LeaseSubject.Open is nil: it must make contenders")
	}
	return runner.New(t, func(c *runner.Case) {
		var f faultCase
		if err := json.Unmarshal([]byte(c.About), &f); err != nil {
			c.Fatal(err)
		}
		stage.Play(c, false, stage.Needs{Exact: true, Strict: true}, func(w *stage.Stage) {
			w.Keeps = s.Keeps
			sent, _ := json.Marshal(f.play(w, s))
			c.Says(string(sent))
		})
	})
}

// enough is how many cases that do not end stop the series.
const enough = 50

// Series has the cases run one after the other. Which cases there are
// depends on what the cases before have sent; a case that has failed has no
// pairs.
func Series(pairs bool, run func(name, about string) runner.Verdict) (cases int, stopped bool) {
	stuck := 0
	ask := func(c faultCase, name string) (sent []jute.Op) {
		if stuck >= enough {
			return nil
		}
		about, _ := json.Marshal(c)
		v := run(situations[c.Situation].name+": "+name, string(about))
		if v.Stuck {
			stuck++
		}
		if len(c.Faults) > 0 {
			cases++
		}
		json.Unmarshal([]byte(v.Says), &sent)
		return sent
	}
	for sit := range situations {
		requests := ask(faultCase{Situation: sit}, "without a fault")
		for n := range requests {
			for first := range damages {
				for _, ends := range []bool{false, true} {
					c := faultCase{sit, []fault{{n, first}}, ends}
					after := ask(c, c.name(requests))
					if ends || !pairs {
						continue
					}
					for m := n + 1; m < len(after); m++ {
						for second := range damages {
							c := faultCase{sit, []fault{{n, first}, {m, second}}, false}
							ask(c, c.name(after))
						}
					}
				}
			}
		}
	}
	return cases, stuck >= enough
}

// A situation is the state of the queue for a contender.
type situation struct {
	name   string
	holder bool // a contender of another session holds the lock, and lets go of it while ours waits
	beside bool // a contender of the same Mutex holds the lock, and lets go of it while ours waits
	before bool // another contender waits before ours
	try    bool // ours calls TryLock
}

var situations = []situation{
	{name: "the lock is free"},
	{name: "the lock is free, TryLock", try: true},
	{name: "another session holds the lock", holder: true},
	{name: "another session holds the lock, TryLock", holder: true, try: true},
	{name: "another session holds the lock and one waits", holder: true, before: true},
	{name: "the same Mutex holds the lock", beside: true},
	{name: "the same Mutex holds the lock and another session waits", beside: true, before: true},
}

// A damage is a fault of a request.
type damage struct {
	name    string
	fault   func(srv *zkserver.Server, when func(zkserver.Request) bool) *zkserver.Fault
	breaks  bool // the connection, and nothing else
	expires bool // the session does, before the held request goes on
}

var damages = []damage{
	{name: "is held for a while", fault: (*zkserver.Server).Hold},
	{name: "is lost", fault: (*zkserver.Server).LoseRequest, breaks: true},
	{name: "loses its reply", fault: (*zkserver.Server).LoseReply, breaks: true},
	{name: "comes after the session has expired", fault: (*zkserver.Server).Hold, expires: true},
	{name: "is followed by the session's expiry", fault: (*zkserver.Server).HoldReply, expires: true},
}

// nth is true of the n-th request from now on that the lock of a client makes,
// in whichever session.
func nth(s *stage.Session, n int) func(zkserver.Request) bool {
	count := 0
	return func(r zkserver.Request) bool {
		if r.Session != s.SessionID() || stage.ByClient(r.Op) {
			return false
		}
		count++
		return count == n
	}
}

type fault struct {
	N      int // of our requests, from 0
	Damage int // index in damages
}

type faultCase struct {
	Situation int // index in situations
	Faults    []fault
	Ends      bool // ctx ends at the first fault
}

func (c faultCase) name(requests []jute.Op) string {
	name := ""
	for _, f := range c.Faults {
		name += fmt.Sprintf("; request %d, %v, %s", f.N+1, requests[f.N], damages[f.Damage].name)
	}
	if c.Ends {
		name += "; ctx ends"
	}
	return name[2:]
}

// play plays a case, and returns the requests that our contender's session
// has sent from Lock on.
func (c faultCase) play(w *stage.Stage, subject Subject) []jute.Op {
	sit := situations[c.Situation]
	seen := &exclusionChecker{w: w, broken: len(c.Faults) > 1 && !slices.ContainsFunc(c.Faults, func(f fault) bool { return !damages[f.Damage].breaks })}
	ours := w.Session()
	open := subject.Open(ours.Conn, w.Path)
	var others []*otherContender
	if sit.beside {
		others = append(others, seen.join("the holder, of the same Mutex", ours, open("beside"), subject))
	}
	if sit.holder {
		others = append(others, seen.join("the holder", w.Session(), nil, subject))
	}
	if sit.before {
		others = append(others, seen.join("the waiter before ours", w.Session(), nil, subject))
	}
	already := len(stage.RequestsOf(ours))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan time.Time, 1)
	stop := c.strike(w, ours, func() {
		ended <- time.Now()
		cancel()
	})

	mine := open("ours")
	settle(w, mine)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.contend(ctx, w, seen, ours, mine, subject)
		select {
		case at := <-ended:
			if late := time.Since(at); late > 0 {
				w.Errorf("ctx has ended, and Lock or Unlock returns %v later", late)
			}
		default:
		}
	}()
	// The others let go when ours waits or is through, or when every fault has
	// held up its request.
	time.Sleep(5 * time.Second)
	for _, g := range others {
		g.leave()
	}
	w.Eventually(i18n.Same("our contender is through"), func() bool { return bubble.IsClosed(done) })
	for _, g := range others {
		w.Eventually(i18n.Same(g.name+" is through"), func() bool { return bubble.IsClosed(g.through) })
	}
	requests := stage.RequestsOf(ours)[already:]
	if len(requests) == 0 {
		w.Errorf("the lock is taken and let go, and sends no request")
	}
	stop()
	time.Sleep(time.Minute) // whatever goes on in the background has ended by now
	if subject.Level == stage.Basic && c.losesCreate(requests) {
		w.Server.Expire(ours.SessionID())
	}
	next := seen.join("the next one", w.Session(), nil, subject)
	next.leave()
	w.Eventually(i18n.Same("the next one has been let in, and has let go"), func() bool { return bubble.IsClosed(next.through) })
	w.NothingLeft()
	w.NoWatches()
	return requests
}

// strike has the faults happen to a contender's requests. The first one calls end if ctx is
// to end with it. Stop waits for those that have happened, and drops the others.
func (c faultCase) strike(w *stage.Stage, ours *stage.Session, end func()) (stop func()) {
	over := make(chan struct{})
	var faults sync.WaitGroup
	for i, f := range c.Faults {
		damage := damages[f.Damage]
		met := damage.fault(w.Server, nth(ours, f.N+1))
		faults.Go(func() {
			defer met.Release()
			select {
			case <-met.Hit():
			case <-over:
				return
			}
			time.Sleep(10 * time.Millisecond) // the held request is late, and others go on meanwhile
			if c.Ends && i == 0 {
				end()
				time.Sleep(10 * time.Millisecond) // time to return, while the request is still held
			}
			if damage.expires {
				w.Server.Expire(ours.ID)
			}
		})
	}
	return func() {
		close(over)
		faults.Wait()
	}
}

// losesCreate reports whether a create that is among the requests was lost with
// its connection, or its reply was.
func (c faultCase) losesCreate(requests []jute.Op) bool {
	return slices.ContainsFunc(c.Faults, func(f fault) bool {
		return damages[f.Damage].breaks && f.N < len(requests) && stage.CreatesNode(requests[f.N])
	})
}

// contend is our contender.
func (c faultCase) contend(ctx context.Context, w *stage.Stage, seen *exclusionChecker, s *stage.Session, l Lock, subject Subject) {
	sit, already := situations[c.Situation], len(stage.RequestsOf(s))
	acquire := l.Lock
	if sit.try {
		acquire = l.TryLock
	}
	var lease Lease
	var err error
	w.Call("Lock", func() { lease, err = acquire(ctx) })
	switch {
	case err == nil:
	case sit.try && sit.holder && errors.Is(err, subject.ErrHeld):
		return
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return
	case subject.Level == stage.Basic && (!seen.lives(s.ID) || c.losesCreate(stage.RequestsOf(s)[already:])):
		return
	default:
		w.Errorf("Lock fails, and not because ctx has ended: %v", err)
		return
	}
	out := seen.in("ours", s, lease)
	time.Sleep(time.Millisecond) // time for others to come in, if the lock lets them
	lost := bubble.IsClosed(lease.Lost())
	out()
	w.Call("Unlock", func() { err = lease.Unlock(ctx) })
	switch {
	case lost && !errors.Is(err, subject.ErrLost):
		w.Errorf("the lease is lost, and its Unlock says: %v", err)
	case err == nil, errors.Is(err, subject.ErrLost) && (seen.broken || !seen.lives(s.ID)):
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
	default:
		w.Errorf("Unlock fails: %v", err)
	}
}

// An exclusionChecker records which contenders hold the lock, and checks that they
// do so one after the other.
type exclusionChecker struct {
	w       *stage.Stage
	mu      sync.Mutex
	inside  []*holding
	highest int64 // token
	broken  bool  // two connections break, and the client waits for a second after each: a young lease is lost though its session lives
}

type holding struct {
	name    string
	session int64
	lease   Lease
}

// in notes that a contender holds the lock until the func is called, the lease
// is lost, or its session is ended behind its back: no client can notice that
// before a server answers.
func (v *exclusionChecker) in(name string, s *stage.Session, lease Lease) (out func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	me := &holding{name, s.SessionID(), lease}
	if !v.valid(me) {
		return func() {}
	}
	for _, other := range v.inside {
		if v.valid(other) {
			v.w.Errorf("%s has got the lock while %s holds it: two holders", name, other.name)
		}
	}
	if lease.Token() <= v.highest {
		v.w.Errorf("the token of %s is %#x, and a holder before had %#x", name, lease.Token(), v.highest)
	}
	v.highest = max(v.highest, lease.Token())
	v.inside = append(v.inside, me)
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.inside = slices.DeleteFunc(v.inside, func(s *holding) bool { return s == me })
	}
}

func (v *exclusionChecker) valid(s *holding) bool {
	return !bubble.IsClosed(s.lease.Lost()) && v.lives(s.session)
}

func (v *exclusionChecker) lives(session int64) bool {
	return slices.ContainsFunc(v.w.Server.Sessions(), func(live zkserver.Session) bool { return live.ID == session })
}

// An otherContender has no faults of its own; one of the same session as ours
// meets those of ours. It releases the lock when the test says so.
type otherContender struct {
	name    string
	leave   func()
	through chan struct{}
}

// join returns when the other contender holds the lock or waits for it.
func (v *exclusionChecker) join(name string, s *stage.Session, l Lock, subject Subject) *otherContender {
	if l == nil {
		l = subject.Open(s.Conn, v.w.Path)(name)
		settle(v.w, l)
	}
	let := make(chan struct{})
	g := &otherContender{name: name, leave: func() { close(let) }, through: make(chan struct{})}
	go func() {
		defer close(g.through)
		var lease Lease
		var err error
		v.w.Call("Lock of "+name, func() { lease, err = l.Lock(context.Background()) })
		if err != nil {
			v.w.Errorf("Lock of %s fails: %v", name, err)
			return
		}
		out := v.in(name, s, lease)
		<-let
		out()
		v.w.Call("Unlock of "+name, func() { err = lease.Unlock(context.Background()) })
		if err != nil && v.lives(s.ID) && !(v.broken && errors.Is(err, subject.ErrLost)) {
			v.w.Errorf("Unlock of %s fails: %v", name, err)
		}
	}()
	time.Sleep(100 * time.Millisecond) // until it holds the lock, or waits
	return g
}
