package suites

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/zkserver"
)

// A Register is a resource that checks fencing tokens: one value and the
// highest token that has been seen. It is for many goroutines at once.
type Register interface {
	// Write stores value, unless a higher token has been seen.
	Write(token int64, value []byte) error
	// Read returns the last value and its token; zero and nil before the first Write.
	Read() (token int64, value []byte, err error)
}

// A FenceSubject is the kind of register that is put to the test.
type FenceSubject struct {
	// New opens the register at path, a node that may not be there yet.
	New func(conn *zk.Conn, path string) Register
	// ErrStale is what Write returns, or wraps, if it refuses a token.
	ErrStale error
	// Level says how much is asked of the register. The zero Level is Full.
	Level locktest.Level
}

// Plan has the cases of a resource that checks tokens.
func (s FenceSubject) Plan() locktest.Plan {
	return stage.NewPlan(stage.WithoutParents(fenceCases), stage.Of[*fences](s.Level), false, false, func(w *stage.Stage) *fences {
		at := strings.TrimSuffix(w.Path, "/a/lock") + "/b/register"
		return &fences{w, s, at, at, 0}
	}).
		Needs(s.New != nil && s.ErrStale != nil, "FenceSubject needs New and ErrStale")
}

var fenceCases = []locktest.TestCase[*fences]{
	{Name: "what was written is read", Group: locktest.Liveness, Run: writtenIsRead, Basic: true},
	{Name: "a lower token is refused and changes nothing", Group: locktest.Safety, Run: lowerIsRefused, Basic: true},
	{Name: "equal tokens of one holder pass", Group: locktest.Liveness, Run: equalPasses, Basic: true},
	{Name: "tokens are compared as numbers", Group: locktest.Safety, Run: asNumbers, Basic: true},
	{Name: "the new holder's first write shuts the old one out, whatever it writes", Group: locktest.Safety, Run: sameValue, Basic: true},
	{Name: "a restart forgets no token", Group: locktest.Safety, Run: restart, Basic: true},
	{Name: "many goroutines write at once and the highest token stays", Group: locktest.Safety, Run: goroutinesAtOnce, Basic: true},
	{Name: "a write between the check and the store is not overwritten", Group: locktest.Safety, Run: betweenCheckAndStore, Basic: true, Exact: true},
	{Name: "several stores write at once and the highest token gets through", Group: locktest.Liveness, Run: storesAtOnce},
	{Name: "a higher token is stored though a lower one came in between", Group: locktest.Liveness, Run: lowerInBetween, Exact: true},
	{Name: "one write after the other that comes in between makes no token stale", Group: locktest.Liveness, Run: manyInBetween, Exact: true},
	{Name: "a value may be any bytes", Group: locktest.Liveness, Run: anyBytes},
	{Name: "a request or reply that is lost is not a refusal, and Write can be tried again", Group: locktest.Faults, Run: spoiledWrite, Exact: true},
	{Name: "an error of the server is returned", Group: locktest.Faults, Run: fenceNoPermission},
	{Name: "a write that meets no other sends two requests at most", Group: locktest.Cost, Run: twoRequests},
	{Name: "a path that is not one is an error, or works", Group: locktest.Faults, Run: fenceBadPaths},
}

type fences struct {
	*stage.Stage
	subject FenceSubject
	at      string // where the register is
	first   string // where the case's first one was
	others  int
}

// another lets a case go on with a register that is not there yet.
func (w *fences) another() {
	w.others++
	w.at = fmt.Sprintf("%s-%d", w.first, w.others)
}

// store opens the register in a session of its own: one process of the
// resource.
func (w *fences) store() (Register, *locktest.Session) {
	w.Helper()
	s := w.Session()
	return w.subject.New(s.Conn, w.at), s
}

// write calls Write, which must return.
func (w *fences) write(r Register, token int64, value string) error {
	w.Helper()
	return w.Result(w.Aside("Write", func() error { return r.Write(token, []byte(value)) }), fmt.Sprintf("Write with token %d", token))
}

func (w *fences) passes(r Register, token int64, value, what string) {
	w.Helper()
	err := w.write(r, token, value)
	require.NotErrorIs(w, err, w.subject.ErrStale, "Write with token %d is refused: %s", token, what)
	require.NoError(w, err, "Write with token %d fails: %s", token, what)
}

func (w *fences) refused(r Register, token int64, value, what string) {
	w.Helper()
	err := w.write(r, token, value)
	require.Error(w, err, "Write with token %d returns no error, and must return ErrStale: %s: an old token has written", token, what)
	require.ErrorIs(w, err, w.subject.ErrStale, "Write with token %d returns another error than ErrStale: %s", token, what)
}

// has fails if there is another value, or token, in the register.
func (w *fences) has(r Register, token int64, value, what string) {
	w.Helper()
	var gotToken int64
	var got []byte
	err := w.Result(w.Aside("Read", func() (err error) {
		gotToken, got, err = r.Read()
		return err
	}), "Read")
	require.NoError(w, err, "Read fails")
	if string(got) != value || gotToken != token {
		w.Fatalf("%s: Read returns token %d and value %q, and must return token %d and value %q", what, gotToken, got, token, value)
	}
}

func writtenIsRead(w *fences) {
	r, _ := w.store()
	w.has(r, 0, "", "nothing has been written yet")
	w.passes(r, 33, "a", "it is the first, and the nodes above the register's are missing: make them when create returns zk.ErrNoNode")
	w.has(r, 33, "a", "the value was written")
	w.passes(r, 34, "b", "a higher token than the last")
	w.has(r, 34, "b", "another value was written")
}

func lowerIsRefused(w *fences) {
	r, _ := w.store()
	w.passes(r, 34, "new", "it is the first")
	for _, token := range []int64{33, 1} {
		w.refused(r, token, "old", "token 34 has been seen")
		w.has(r, 34, "new", fmt.Sprintf("token %d was refused, and must change nothing; an old token has written", token))
	}
	w.refused(r, 33, "old", "token 34 has been seen; a write that was refused must not lower the token")
	w.passes(r, 35, "newer", "a higher token than the last")
	w.refused(r, 34, "new", "token 35 has been seen")
	w.has(r, 35, "newer", "the last value")
}

func equalPasses(w *fences) {
	r, _ := w.store()
	for _, value := range []string{"a", "b", "c", "bb", "b", "a", "", "ab"} {
		w.passes(r, 33, value, "a holder writes as often as it likes with its one token: refuse lower ones only")
		w.has(r, 33, value, "the holder has written once more")
	}
}

func asNumbers(w *fences) {
	r, _ := w.store()
	tokens := []int64{1, 9, 10, 99, 100, 1<<32 - 1, 1 << 32, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for i, token := range tokens {
		w.passes(r, token, "a", "it is higher than the last; a token is an int64, compare the numbers and lose no bit of them")
		w.has(r, token, "a", "the value was written")
		if i > 0 {
			w.refused(r, tokens[i-1], "b", fmt.Sprintf("token %d has been seen; a token is an int64, compare the numbers and lose no bit of them", token))
		}
	}
}

func sameValue(w *fences) {
	r, _ := w.store()
	w.passes(r, 33, "same", "it is the first")
	w.passes(r, 34, "same", "a higher token than the last")
	w.has(r, 34, "same", "the value is the same, and the token is higher")
	w.refused(r, 33, "same", "token 34 has been seen, with the same value")
	w.passes(r, 35, "", "a higher token than the last, and no value")
	w.has(r, 35, "", "no value was written")
	w.refused(r, 34, "late", "token 35 has been seen, with no value")
}

func restart(w *fences) {
	const what = "the store was restarted after token 34; the token must outlive the process: keep it on the znode"
	r, s := w.store()
	w.passes(r, 34, "a", "it is the first")
	s.Close()
	r, _ = w.store()
	w.refused(r, 33, "b", what)
	w.has(r, 34, "a", "the store was restarted")
	r, _ = w.store()
	w.has(r, 34, "a", "the store was restarted")
	w.passes(r, 34, "b", "the holder goes on after a restart of the store")
	w.passes(r, 35, "c", "the next holder writes after a restart of the store")
	w.has(r, 35, "c", "the last value")
}

// atOnce has one writer for each token, in any order, all at the same time.
func (w *fences) atOnce(n int, store func(i int) Register, through bool) {
	w.Helper()
	results := make([]<-chan error, n+1)
	for _, i := range rand.Perm(n) {
		r, token := store(i), int64(i+1)
		results[token] = w.Aside("Write", func() error { return r.Write(token, fmt.Append(nil, "of ", token)) })
	}
	for token := 1; token <= n; token++ {
		err := w.Result(results[token], fmt.Sprintf("Write with token %d", token))
		if err != nil && !through { // what Write returns is another case
			if token == n {
				return
			}
			continue
		}
		if token == n || !errors.Is(err, w.subject.ErrStale) {
			require.NoError(w, err, "Write with token %d fails; %d writers at once, and the highest token is %d", token, n, n)
		}
	}
	w.has(store(0), int64(n), fmt.Sprint("of ", n), fmt.Sprintf("%d writers at once, each with a token of its own: the highest token must stay, and an old token has written; check the token and store it with the value in one step", n))
}

func goroutinesAtOnce(w *fences) {
	r, _ := w.store()
	// A new client's first answer waits a moment, and virtual time stops while a
	// goroutine waits for a mutex, which a register may well have.
	w.has(r, 0, "", "nothing has been written yet")
	w.atOnce(20, func(int) Register { return r }, false)
}

func storesAtOnce(w *fences) {
	const n = 8
	var stores []Register
	for range n {
		r, _ := w.store()
		stores = append(stores, r)
	}
	w.atOnce(n, func(i int) Register { return stores[i] }, true)
}

// inBetween holds back each request of a Write in turn, with a node that is
// there and one that is not; meanwhile another process of the store takes a write
// with another token.
func (w *fences) inBetween(token, other int64, then func(r Register, what string, err error)) {
	w.Helper()
	for _, there := range []bool{true, false} {
		for n := 1; w.GoesOn(n); n++ {
			w.another()
			r, s := w.store()
			meanwhile, _ := w.store()
			if there {
				w.passes(meanwhile, 1, "before", "it is the first")
			}
			held := w.Server.Hold(stage.Number(s, n))
			result := w.Aside("Write", func() error { return r.Write(token, []byte("of the slow one")) })
			w.Eventually("the request is held back, or Write returns", func() bool { return len(held.Hit()) > 0 || len(result) > 0 })
			if len(held.Hit()) == 0 {
				require.Greater(w, n, 1, "Write sends no request: the token must outlive the process, keep it on a znode")
				require.NoError(w, <-result, "Write with token %d fails", token)
				held.Release()
				break
			}
			op := stage.LastRequest(s, n)
			w.passes(meanwhile, other, "of the quick one", "a higher token than the last")
			held.Release()
			what := fmt.Sprintf("while request %d of a Write with token %d, %v, was on its way, another process of the store has stored a value with token %d", n, token, op, other)
			then(meanwhile, what, w.Result(result, what+", and Write"))
		}
	}
}

func betweenCheckAndStore(w *fences) {
	w.inBetween(33, 34, func(r Register, what string, err error) {
		w.has(r, 34, "of the quick one", what+", and an old token has written; the check and the store must be one step: pass to Set the version that you have checked")
		require.Error(w, err, "%s, and Write returns no error: its value is not there", what)
		require.ErrorIs(w, err, w.subject.ErrStale, "%s, and Write returns another error than ErrStale: look again, the token is stale now", what)
	})
}

func lowerInBetween(w *fences) {
	for _, token := range []int64{34, 33} { // another holder's, and the same one's
		w.inBetween(token, 33, func(r Register, what string, err error) {
			require.NoError(w, err, "%s, and Write fails: the token is not stale, so look again, and store the value", what)
			w.has(r, token, "of the slow one", what)
		})
	}
}

// manyInBetween lets another process of the store win one race after the other.
func manyInBetween(w *fences) {
	const token, races = 1000, 20
	r, s := w.store()
	meanwhile, _ := w.store()
	w.passes(meanwhile, 1, "before", "it is the first")
	changes := func(r zkserver.Request) bool {
		return r.Session == s.ID && (r.Op == jute.OpSetData || r.Op == jute.OpMulti || r.Op == jute.OpCreate || r.Op == jute.OpDelete)
	}
	held := w.Server.Hold(changes)
	result := w.Aside("Write", func() error { return r.Write(token, []byte("of the slow one")) })
	lost := 0
	for lost < races {
		w.Eventually("Write stores the value, or returns", func() bool { return len(held.Hit()) > 0 || len(result) > 0 })
		if len(result) > 0 {
			break
		}
		lost++
		w.passes(meanwhile, int64(1+lost), fmt.Sprint("of the quick one, ", lost), "a higher token than the last")
		next := w.Server.Hold(changes)
		held.Release()
		held = next
	}
	held.Release()
	what := fmt.Sprintf("while a Write with token %d was under way, another process of the store has stored a value with a lower token %d times", token, lost)
	err := w.Result(result, what+", and Write")
	require.NotErrorIs(w, err, w.subject.ErrStale, "%s, and Write returns ErrStale: no higher token has been seen; check again", what)
	if err != nil {
		w.passes(r, token, "of the slow one", "the holder tries again")
	}
	w.has(r, token, "of the slow one", what)
}

func anyBytes(w *fences) {
	r, _ := w.store()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, value := range []string{"", "1 2", "a,b:c;d|e", "\n", "\x00", "\"", string(every), "\xff\xfe"} {
		w.passes(r, int64(i+1), value, "a higher token than the last")
		w.has(r, int64(i+1), value, "the value must come back as it was, whatever its bytes")
	}
}

// spoiledWrite loses each request of a Write in turn, and each reply, and ends
// the connection with it.
func spoiledWrite(w *fences) {
	for _, lose := range []func(func(zkserver.Request) bool) *zkserver.Fault{w.Server.LoseRequest, w.Server.LoseReply} {
		for n := 1; w.GoesOn(n); n++ {
			w.another()
			r, s := w.store()
			w.passes(r, 33, "before", "it is the first")
			fault := lose(stage.Number(s, n))
			err := w.write(r, 34, "after")
			met := len(fault.Hit()) > 0
			fault.Release()
			what := fmt.Sprintf("the connection broke with request %d of a Write", n)
			if err != nil {
				require.True(w, met, "Write fails with nothing wrong: %v", err)
				require.NotErrorIs(w, err, w.subject.ErrStale, "%s, and Write returns ErrStale: no higher token has been seen, and the value may have been stored or not; return the client's error", what)
				require.ErrorIs(w, err, zk.ErrConnectionClosed, "%s, and Write returns an error that does not wrap the client's (fmt.Errorf with %%w)", what)
				require.ErrorContains(w, err, w.at, "the error does not name the register: wrap it with the path (fmt.Errorf with %w)")
				w.Eventually("the client is connected again", func() bool { return s.State() == zk.StateHasSession })
				time.Sleep(time.Second)
				w.passes(r, 34, "after", "the holder tries again after "+what)
			}
			w.has(r, 34, "after", what)
			w.refused(r, 33, "late", "token 34 has been seen")
			if !met {
				require.Greater(w, n, 1, "Write sends no request: the token must outlive the process, keep it on a znode")
				break
			}
		}
	}
}

func fenceNoPermission(w *fences) {
	admin := w.Session()
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	top := strings.TrimSuffix(w.at, "/b/register")
	if _, err := admin.Create(top, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
		require.NoError(w, err)
	}
	_, err := admin.Create(top+"/b", nil, zk.FlagPersistent, zk.DigestACL(zk.PermAll, "admin", "secret"))
	require.NoError(w, err)
	r, _ := w.store()
	err = w.write(r, 33, "a")
	require.Error(w, err, "Write without permission returns no error: the value is nowhere")
	require.NotErrorIs(w, err, w.subject.ErrStale, "Write takes the error \"no permission\" for a stale token")
	require.ErrorIs(w, err, zk.ErrNoAuth, "Write without permission must return an error that wraps the client's")
	require.ErrorContains(w, err, w.at, "the error does not name the register: wrap it with the path (fmt.Errorf with %w)")
}

func twoRequests(w *fences) {
	r, s := w.store()
	w.passes(r, 1, "a", "it is the first")
	for i := range 5 {
		before := len(stage.RequestsOf(s))
		w.passes(r, int64(2+i), "a", "a higher token than the last")
		if sent := stage.RequestsOf(s)[before:]; len(sent) > 2 {
			w.Fatalf("a Write that meets no other sends %d requests (%s): to read and to store is enough", len(sent), locktest.ByKind(sent))
		}
	}
}

func fenceBadPaths(w *fences) {
	s := w.Session()
	for _, p := range []string{"register", "/a/", "/a//b"} {
		r := w.subject.New(s.Conn, p)
		err := w.write(r, 1, "a")
		if err == nil { // it has made a path of it
			w.has(r, 1, "a", fmt.Sprintf("Write with the path %q returns no error", p))
			continue
		}
		require.NotErrorIs(w, err, w.subject.ErrStale, "Write with the path %q returns ErrStale", p)
	}
}
