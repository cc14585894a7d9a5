package suites

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"runtime"
	"strings"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
)

// A Register is a resource that checks fencing tokens, for many goroutines: a value, and the highest token so far.
type Register = locks.Register

// A FenceSubject is the kind of register that the suite tests.
type FenceSubject struct {
	// New opens the register at path, a node that may not be there yet.
	New func(conn *zk.Conn, path string) Register
	// ErrStale is what Write returns, or wraps, if it refuses a token.
	ErrStale error
	// Level says how much is asked of the register. The zero Level is Full.
	Level locktest.Level
}

func (s FenceSubject) Plan() locktest.Plan {
	const queue, strict = false, false // the path is not that of a queue, and a goroutine may be left
	return stage.NewPlan(stage.WithoutParents(fenceCases), stage.Of[*fences](s.Level), queue, strict,
		func(w *stage.Stage) *fences {
			at := strings.TrimSuffix(w.Path, "/a/lock") + "/b/register"
			return &fences{Stage: w, subject: s, at: at, first: at}
		}).
		Needs(s.New != nil && s.ErrStale != nil, "FenceSubject needs New and ErrStale")
}

// A row has a name, a group, the function and the traits (suites.go). One without the trait basic is of the level Full.
var fenceCases = []locktest.TestCase[*fences]{
	row("what was written is read", liveness, writtenIsRead, basic),
	row("a lower token is refused and changes nothing", safety, lowerIsRefused, basic),
	row("equal tokens of one holder pass", liveness, equalPasses, basic),
	row("tokens are compared as numbers", safety, asNumbers, basic),
	row("the new holder's first write shuts the old one out, whatever it writes", safety, sameValue, basic),
	row("a restart forgets no token", safety, restart, basic),
	row("many goroutines write at once and the highest token stays", safety, goroutinesAtOnce, basic),
	row("a write between the check and the store is not overwritten", safety, betweenCheckAndStore, basic, exact),
	row("a higher token is stored though a lower one came in between", liveness, lowerInBetween, exact),
	row("a token that has become stale in between is refused as stale", liveness, staleInBetween, exact),
	row("one write after the other that comes in between makes no token stale", liveness, manyInBetween, exact),
	row("a value may be any bytes", liveness, anyBytes),
	row("a request or reply that is lost is not a refusal, and Write can be tried again", faults, spoiledWrite, exact),
	row("an error of the server is returned", faults, fenceNoPermission),
	row("a write that meets no other sends two requests at most", cost, twoRequests),
	row("a path that is not one is an error, or works", faults, fenceBadPaths),
}

// In a case, r is the register as one process of the resource has it, and other as another process does: both use the
// node at w.at, each in a session of its own. Token 33 is an old holder's, and 34 the next holder's.
type fences struct {
	*stage.Stage
	subject FenceSubject
	at      string // the path of the register that the case uses
	first   string // the path of its first register
	others  int    // how many more registers it has had
}

// useAnotherPath has a case go on with a register that does not exist yet.
func (w *fences) useAnotherPath() {
	w.others++
	w.at = fmt.Sprintf("%s-%d/register", w.first, w.others) // its parent does not exist yet, either
}

// openStore opens the register in a session of its own, as another process of the resource does.
func (w *fences) openStore() (Register, *locktest.Session) {
	s := w.Session()
	return w.subject.New(s.Conn, w.at), s
}

func (w *fences) write(r Register, token int64, value string) error {
	return w.Result(w.Aside("Write", func() error { return r.Write(token, []byte(value)) }),
		i18n.Textf("Write with token %d", token))
}

// mustPass fails if a write is refused, or fails; what says why it must not be.
func (w *fences) mustPass(r Register, token int64, value string, what i18n.Text) {
	err := w.write(r, token, value)
	w.NotErrorIs(err, w.subject.ErrStale, "Write with token %d is refused: %s", token, what)
	w.NoError(err, "Write with token %d fails: %s", token, what)
}

func (w *fences) mustBeRefused(r Register, token int64, value string, what i18n.Text) {
	w.isRefusal(w.write(r, token, value), token, what)
}

func (w *fences) isRefusal(err error, token int64, what i18n.Text) {
	w.HasError(err, "Write with token %d returns no error, and must return ErrStale: %s: an old token has written",
		token, what)
	w.ErrorIs(err, w.subject.ErrStale, "Write with token %d returns another error than ErrStale: %s", token, what)
}

func (w *fences) mustHave(r Register, token int64, value string, what i18n.Text) {
	var gotToken int64
	var got []byte
	err := w.Result(w.Aside("Read", func() (err error) {
		gotToken, got, err = r.Read()
		return err
	}), i18n.Same("Read"))
	w.NoError(err, "Read fails")
	w.True(string(got) == value && gotToken == token,
		"%s: Read returns token %d and value %.99q, and must return token %d and value %.99q", what, gotToken, got, token, value)
}

func writtenIsRead(w *fences) {
	r, s := w.openStore()
	w.mustHave(r, 0, "", "nothing has been written yet")
	w.mustPass(r, 33, "a", "it is the first, and the nodes above the register's are missing: make them when create "+
		"returns zk.ErrNoNode")
	w.mustHave(r, 33, "a", "the value was written")
	w.mustPass(r, 34, "b", "a higher token than the last")
	w.mustHave(r, 34, "b", "another value was written")
	w.useAnotherPath()
	w.mustPass(w.subject.New(s.Conn, w.at), 1, "c",
		"it is the first at this path; the same process has another register, which has seen token 34")
}

func lowerIsRefused(w *fences) {
	r, _ := w.openStore()
	w.mustPass(r, 34, "new", "it is the first")
	for _, token := range []int64{33, 1, 33} {
		w.mustBeRefused(r, token, "old", "token 34 has been seen; a write that was refused must not lower the token")
		w.mustHave(r, 34, "new", i18n.Textf("token %d was refused, and must change nothing; an old token has written", token))
	}
	w.mustPass(r, 35, "newer", "a higher token than the last")
	w.mustBeRefused(r, 34, "new", "token 35 has been seen")
	w.mustHave(r, 35, "newer", "the last value")
}

func equalPasses(w *fences) {
	r, _ := w.openStore()
	for _, value := range []string{"a", "b", "c", "bb", "b", "a", "", "ab"} {
		w.mustPass(r, 33, value, "a holder writes as often as it likes with its one token: refuse lower ones only")
		w.mustHave(r, 33, value, "the holder has written once more")
	}
}

func asNumbers(w *fences) {
	r, _ := w.openStore()
	// As texts, 10 sorts before 9. A uint32 has no room for 1<<32, and a float64 takes 1<<53 and the next for one number.
	tokens := []int64{1, 9, 10, 99, 100, 1<<32 - 1, 1 << 32, 1e10, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for i, token := range tokens {
		w.mustPass(r, token, "a", "it is higher than the last; a token is an int64, compare the numbers and lose no bit of them")
		w.mustHave(r, token, "a", "the value was written")
		if i > 0 {
			w.mustBeRefused(r, tokens[i-1], "b",
				i18n.Textf("token %d has been seen; a token is an int64, compare the numbers and lose no bit of them", token))
		}
	}
}

func sameValue(w *fences) {
	r, _ := w.openStore()
	w.mustPass(r, 33, "same", "it is the first")
	w.mustPass(r, 34, "same", "a higher token than the last")
	w.mustHave(r, 34, "same", "the value is the same, and the token is higher")
	w.mustBeRefused(r, 33, "same", "token 34 has been seen, with the same value")
	w.mustPass(r, 35, "", "a higher token than the last, and no value")
	w.mustHave(r, 35, "", "no value was written")
	w.mustBeRefused(r, 34, "late", "token 35 has been seen, with no value")
}

func restart(w *fences) {
	var what = i18n.Text("the store was restarted after token 34; the token must outlive the process: " +
		"keep it on the znode")
	r, s := w.openStore()
	w.mustPass(r, 34, "a", "it is the first")
	s.Close()
	r, _ = w.openStore()
	w.mustBeRefused(r, 33, "b", what)
	w.mustHave(r, 34, "a", "the store was restarted")
	r, _ = w.openStore()
	w.mustPass(r, 34, "b", "the holder goes on after a restart of the store")
	w.mustPass(r, 35, "c", "the next holder writes after a restart of the store")
	w.mustHave(r, 35, "c", "the last value")
	another, _ := w.openStore()
	w.mustPass(another, 36, "c", "a higher token than the last, at another process of the store")
	w.mustBeRefused(r, 35, "c", "token 36 has been seen by another process of the store, and this process has written "+
		"the same before")
}

// goroutinesAtOnce has a writer for each of 20 tokens, all at the same time. Then come writers of which some are stale:
// one that shares a request with a higher token must not be told that its value is stored.
func goroutinesAtOnce(w *fences) {
	const n = 20
	r, s := w.openStore()
	// A client's first answer waits a moment, and virtual time stops while a goroutine waits for a register's mutex.
	w.mustHave(r, 0, "", "nothing has been written yet")

	tokens := make([]int64, n)
	for i, at := range rand.Perm(n) {
		tokens[at] = int64(i + 1)
	}
	if errs := w.writeAtOnce(r, s, tokens...); errs[n] != nil {
		return // the highest token need not be there
	}
	w.mustHave(r, n, fmt.Sprint("of ", n), i18n.Textf("%d writers at once, each with a token of its own: the highest "+
		"token must stay, and an old token has written; check the token and store it with the value in one step", n))

	errs := w.writeAtOnce(r, s, n, 1, n+1, n-1, n+2)
	for _, stale := range []int64{1, n - 1} {
		w.isRefusal(errs[stale], stale, i18n.Textf("token %d has been seen, and others write at the same time", n))
	}
}

// writeAtOnce has a goroutine write with each of the tokens. The first one's first request is on its way until all have
// begun. It returns the result of each Write by its token.
func (w *fences) writeAtOnce(r Register, s *locktest.Session, tokens ...int64) map[int64]error {
	held := w.Server.Hold(stage.NthRequest(s, 1))
	results := map[int64]<-chan error{}
	for i, token := range tokens {
		results[token] = w.Aside("Write", func() error { return r.Write(token, fmt.Append(nil, "of ", token)) })
		if i == 0 {
			w.HitOrReturns(held, results[token])
		}
	}
	for range 10_000 { // until all have begun: a wait in virtual time never ends while one waits for a mutex
		runtime.Gosched()
	}
	held.Release()

	errs := map[int64]error{}
	for token, result := range results {
		errs[token] = w.Result(result, i18n.Textf("Write with token %d", token))
	}
	return errs
}

// A meanwhile is what happens while a request of a Write is held back: another process of the store writes with a
// token, or somebody deletes the node. Of both, the write comes last, before the next request of the Write held back.
type meanwhile struct {
	writes  int64 // the token; 0: nothing is written
	deletes bool
}

// The values of the Write that is held back, and of the other process of the store.
const ofSlow, ofQuick = "of the slow one", "of the quick one"

// inBetween holds back each request of a Write in turn, of a node that exists and of one that does not. Meanwhile
// happens what m says. Then it calls then with the other process's register, and the result of the Write.
func (w *fences) inBetween(token int64, m meanwhile, then func(other Register, what i18n.Text, err error)) {
	for _, exists := range []bool{true, false} {
		w.EachRequest(func(n int) bool { return w.heldWrite(n, exists, token, m, then) })
	}
}

// heldWrite holds back the n-th request of a Write:
//
//  1. The slow Write sends its n-th request. If it sends fewer, heldWrite returns false.
//  2. While that request is held back, the node is deleted if m says so; otherwise the other process writes.
//  3. The request is carried out. If m has a delete and a write, the other process writes before the next request.
func (w *fences) heldWrite(n int, exists bool, token int64, m meanwhile,
	then func(other Register, what i18n.Text, err error)) (sent bool) {
	w.useAnotherPath()
	r, s := w.openStore()
	other, otherSession := w.openStore()
	if exists {
		w.mustPass(other, 1, "before", "it is the first")
	}
	held := w.Server.Hold(stage.NthRequest(s, n))
	result := w.Aside("Write", func() error { return r.Write(token, []byte(ofSlow)) })
	if !w.HitOrReturns(held, result) {
		w.True(n > 1, "Write sends no request: the token must outlive the process, keep it on a znode")
		w.NoError(<-result, "Write with token %d fails", token)
		held.Release()
		return false
	}

	did := i18n.Textf("another process of the store has stored a value with token %d", m.writes)
	if m.deletes {
		// A delete is done only while the slow value is not stored yet: the value would go with the node.
		if seen, _, _ := other.Read(); seen < token {
			did = "somebody has deleted the node"
			otherSession.Delete(w.at, -1)
		}
	} else {
		w.mustPass(other, m.writes, ofQuick, "a higher token than the last")
	}

	op := stage.RequestKind(s, n)
	next := w.Server.Hold(stage.NthRequest(s, 1)) // counts from now on: the one after the n-th
	held.Release()
	if m.deletes && m.writes > 0 && w.HitOrReturns(next, result) {
		if err := w.write(other, m.writes, ofQuick); err == nil {
			did = i18n.Textf("somebody has deleted the node, and before the next request another process of the store has "+
				"stored a value with token %d", m.writes)
		}
	}
	next.Release()

	what := i18n.Textf("while request %d of a Write with token %d, %v, was on its way, %s", n, token, op, did)
	then(other, what, w.Result(result, i18n.Textf("%s, and Write", what)))
	return true
}

func betweenCheckAndStore(w *fences) {
	w.inBetween(33, meanwhile{writes: 34}, func(other Register, what i18n.Text, err error) {
		w.mustHave(other, 34, ofQuick, i18n.Textf("%s, and an old token has written; the check and the store must "+
			"be one step: pass to Set the version that you have checked", what))
		w.HasError(err, "%s, and Write returns no error: its value is not there", what)
	})
}

// staleInBetween asks for more than betweenCheckAndStore: the error must be ErrStale.
func staleInBetween(w *fences) {
	w.inBetween(33, meanwhile{writes: 34}, func(_ Register, what i18n.Text, err error) {
		w.ErrorIs(err, w.subject.ErrStale,
			"%s, and Write returns another error than ErrStale: look again, the token is stale now", what)
	})
}

func lowerInBetween(w *fences) {
	for _, token := range []int64{34, 33} { // another holder's, and the same one's
		w.inBetween(token, meanwhile{writes: 33}, func(other Register, what i18n.Text, err error) {
			w.NoError(err, "%s, and Write fails: the token is not stale, so look again, and store the value", what)
			w.mustHave(other, token, ofSlow, what)
		})
	}
	for _, m := range []meanwhile{{deletes: true}, {deletes: true, writes: 32}} {
		w.inBetween(33, m, func(other Register, what i18n.Text, err error) { w.isStored(other, 33, what, err) })
	}
}

// isStored fails if a Write, whose result is err, was refused, or its value is not there, not even after another Write.
func (w *fences) isStored(r Register, token int64, what i18n.Text, err error) {
	w.NotErrorIs(err, w.subject.ErrStale, "%s, and Write returns ErrStale: no higher token has been seen; check again",
		what)
	if err != nil {
		w.mustPass(r, token, ofSlow, "the holder tries again")
	}
	w.mustHave(r, token, ofSlow, what)
}

// manyInBetween has another process of the store win one race after the other, the last one with a higher token.
func manyInBetween(w *fences) {
	for _, races := range []int{1, 1100} { // a register may count its tries, and give up at a thousand
		w.useAnotherPath()
		const token = 10_000 // higher than those of all races
		r, s := w.openStore()
		other, _ := w.openStore()
		w.mustPass(other, 1, "before", "it is the first")
		changes := stage.Sent(s, jute.OpSetData, jute.OpMulti, jute.OpCreate, jute.OpDelete)
		held := w.Server.Hold(changes)
		result := w.Aside("Write", func() error { return r.Write(token, []byte(ofSlow)) })
		lost := 0
		for ; w.HitOrReturns(held, result) && lost < races; lost++ {
			w.mustPass(other, int64(2+lost), fmt.Sprint("of the quick one, ", lost), "a higher token than the last")
			next := w.Server.Hold(changes)
			held.Release()
			held = next
		}

		what := i18n.Textf("while a Write with token %d was under way, another process of the store has stored a value "+
			"with a lower token %d times", token, lost)
		if lost == races {
			w.mustPass(other, token+1, "of the next holder", "a higher token than the last")
		}
		held.Release()
		err := w.Result(result, i18n.Textf("%s, and Write", what))
		if lost < races { // it has given up, or has stored the value
			w.isStored(r, token, what, err)
			continue
		}
		w.mustHave(r, token+1, "of the next holder", i18n.Textf("%s, then with a higher one, and an old token has "+
			"written: check the token and the version again before each Set", what))
	}
}

func anyBytes(w *fences) {
	r, _ := w.openStore()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, value := range []string{"", "1 2", "a,b:c;d|e", "\n", "\x00", "\"", string(every), "\xff\xfe", strings.Repeat("large ", 11_000)} {
		w.mustPass(r, int64(i+1), value, "a higher token than the last")
		w.mustHave(r, int64(i+1), value, i18n.Textf("the value must come back as it was, all %d bytes of it", len(value)))
	}

	buffer := []byte("value, and what follows it") // the caller may use it for something else, and change what it has read
	w.NoError(r.Write(100, buffer[:len("value")]), "Write of the beginning of a buffer fails")
	w.True(string(buffer) == "value, and what follows it", "the value is only the beginning of the caller's buffer, "+
		"and Write has written behind it: append to a slice of your own")
	for range 2 {
		clear(buffer)
		_, buffer, _ = r.Read()
		w.mustHave(r, 100, "value", "the caller has changed the bytes that it has written, or read")
	}
}

// spoiledWrite has the connection and the session of a Write break, and then loses each request and each reply.
func spoiledWrite(w *fences) {
	readsAreLost := func(s *locktest.Session) {
		time.AfterFunc(20*time.Second, w.CutOff(w.Server.LoseRequest, s, jute.OpGetData))
	}
	for _, trouble := range []func(*locktest.Session){w.Unreachable, w.SaysExpired, readsAreLost} {
		w.troubledStores(trouble)
	}
	w.storedThenStale()
	w.failTogether()
	for _, before := range []int64{33, 34, noNode} { // a lower token than the Write's, the same one, and none
		w.lossyWrite(before, w.Server.LoseRequest)
		w.lossyWrite(before, w.Server.LoseReply)
	}
}

// failTogether has three goroutines write at once, after somebody has deleted the node. Each request fails but the first.
func (w *fences) failTogether() {
	w.useAnotherPath()
	r, s := w.openStore()
	w.mustPass(r, 9, "before", "it is the first")
	require.NoError(w, s.Delete(w.at, -1))
	w.mustPass(r, 3, "after", "somebody has deleted the node, which counts as never written")
	held := w.Server.Hold(stage.NthRequest(s, 1))
	var results []<-chan error
	for token := int64(4); token <= 6; token++ {
		results = append(results, w.Aside("Write", func() error { return r.Write(token, []byte("together")) }))
		synctest.Wait() // it waits for an answer, or for the first one
	}
	w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Sent(s, jute.OpGetData, jute.OpSetData, jute.OpMulti)).Every()
	held.Release()
	for _, result := range results {
		w.NotErrorIs(w.Result(result, i18n.Same("Write")), w.subject.ErrStale, "goroutines write at once, each of their requests fails, "+
			"and Write returns ErrStale: no higher token has been stored; it must know first how the other Writes have ended")
	}
}

// troubledStores has trouble come upon a Read of one store and a Write of another. Then a third store writes, and the
// two must notice.
func (w *fences) troubledStores(trouble func(*locktest.Session)) {
	w.useAnotherPath()
	writer, writerSession := w.openStore()
	reader, readerSession := w.openStore()
	w.mustPass(reader, 33, "before", "it is the first")
	w.mustHave(reader, 33, "before", "the value was written")

	trouble(readerSession)
	token, _, err := reader.Read()
	w.True(err != nil || token == 33, "no server can be reached, or the session of the store ends, and Read returns "+
		"token %d and no error: that says that nothing has been written", token)
	trouble(writerSession)
	err = w.write(writer, 33, "after")
	w.NotErrorIs(err, w.subject.ErrStale, "no server can be reached, or the session of the store ends, and "+
		"Write returns ErrStale: no higher token has been seen; return the client's error")
	third, thirdSession := w.openStore()
	if err == nil {
		w.mustHave(third, 33, "after", "no request was answered for a while, and Write has returned no error")
	}
	time.Sleep(2 * time.Minute) // by then the clients are connected again
	w.mustPass(writer, 33, "again", "the holder tries again")

	// The node goes between two requests of a Read. If Read sends one request only, nothing is held back.
	held := w.Server.Hold(stage.NthRequest(readerSession, 2))
	time.AfterFunc(time.Second, func() { thirdSession.Delete(w.at, -1); held.Release() })
	_, _, err = reader.Read()
	time.Sleep(2 * time.Second) // by then the node is deleted, whatever the Read has sent
	w.NoError(err, "somebody has deleted the node between two requests of Read, and Read fails: "+
		"a node that is not there counts as never written")

	// A third store makes the node again, whose versions begin at 0 again: the others may remember them of the old node.
	const what i18n.Text = "the client has been cut off, or has a new session, " +
		"then somebody has deleted the node, and another process of the store has written"
	for token := int64(41); token < 45; token++ {
		w.mustPass(third, token, "of the third", what)
		for _, store := range []Register{writer, reader} {
			w.mustHave(store, token, "of the third", what)
			w.mustBeRefused(store, token-1, "late", what)
			w.mustBeRefused(store, 33, "late", what) // the store has written it before
		}
	}
}

// storedThenStale loses the reply to each request of a Write, and another process writes before its client is back.
func (w *fences) storedThenStale() {
	w.EachRequest(func(n int) (sent bool) {
		w.useAnotherPath()
		r, s := w.openStore()
		other, _ := w.openStore()
		w.mustPass(other, 33, "before", "it is the first")
		lost, back := w.Server.LoseReply(stage.NthRequest(s, n)), w.Server.Hold(stage.Sent(s, jute.OpConnect))
		result := w.Aside("Write", func() error { return r.Write(34, []byte(ofSlow)) })
		sent = w.HitOrReturns(lost, result)
		token, _, _ := other.Read()
		w.mustPass(other, 35, ofQuick, "a higher token than the last")
		lost.Release()
		back.Release()
		err := w.Result(result, "Write, whose reply is lost,")
		w.True(token < 34 || !errors.Is(err, w.subject.ErrStale), "the reply to request %d of a Write with token 34 was lost, "+
			"its value was stored, a higher token came afterwards, and Write returns ErrStale: that says that it has changed "+
			"nothing; return the client's error", n)
		return sent
	})
}

const noNode = 0 // in place of a token: the register's node is missing

// lossyWrite has each request of a Write with token 34 meet a fault in turn. The register has the token before.
func (w *fences) lossyWrite(before int64, lose stage.MakeFault) {
	w.EachRequest(func(n int) (sent bool) {
		w.useAnotherPath()
		r, s := w.openStore()
		if before != noNode {
			w.mustPass(r, before, "before", "it is the first")
		}
		fault := lose(stage.NthRequest(s, n))
		err := w.write(r, 34, "after")
		sent = len(fault.Hit()) > 0
		fault.Release()
		what := i18n.Textf("the connection broke with request %d of a Write", n)
		if err != nil {
			w.True(sent, "Write fails with nothing wrong: %v", err)
			w.NotErrorIs(err, w.subject.ErrStale, "%s, and Write returns ErrStale: no higher token has been seen, and the "+
				"value may have been stored or not; return the client's error", what)
			w.ErrorIs(err, zk.ErrConnectionClosed,
				"%s, and Write returns an error that does not wrap the client's (fmt.Errorf with %%w)", what)
			w.ErrorContains(err, w.at, "the error does not name the register: wrap it with the path (fmt.Errorf with %%w)")
			time.Sleep(time.Minute) // by then the client is connected again
			if token, _, _ := r.Read(); token == 33 {
				w.mustPass(r, 33, "before", "the write with token 34 has not been stored")
			}
			w.mustPass(r, 34, "after", i18n.Textf("the holder tries again after %s", what))
		}
		w.mustHave(r, 34, "after", what)
		w.mustBeRefused(r, 33, "late", "token 34 has been seen")
		w.True(sent || n > 1, "Write sends no request: the token must outlive the process, keep it on a znode")
		return sent
	})
}

func fenceNoPermission(w *fences) {
	admin, theirs := w.Session(), zk.DigestACL(zk.PermAll, "admin", "secret")
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.MakeParents(admin.Conn, theirs)
	for _, w.at = range []string{w.Path + "/no/parent", w.Path} {
		r, _ := w.openStore()
		w.mustHave(r, 0, "", "nothing has been written yet, and the process may not make a node")
		err := w.write(r, 33, "a")
		w.HasError(err, "Write without permission returns no error: the value is nowhere")
		w.NotErrorIs(err, w.subject.ErrStale, `Write takes the error "no permission" for a stale token`)
		w.ErrorIs(err, zk.ErrNoAuth, "Write without permission must return an error that wraps the client's")
		w.ErrorContains(err, w.at, "the error does not name the register: wrap it with the path (fmt.Errorf with %%w)")
	}
	_, err := admin.Create(w.at, nil, zk.FlagPersistent, theirs)
	require.NoError(w, err)
	r, _ := w.openStore()
	_, _, err = r.Read()
	w.ErrorIs(err, zk.ErrNoAuth, "Read without permission must return an error that wraps the client's: no error says "+
		"that nothing has been written")
	w.ErrorContains(err, w.at, "the error does not name the register: wrap it with the path (fmt.Errorf with %%w)")
}

func twoRequests(w *fences) {
	r, s := w.openStore()
	w.True(len(stage.RequestsOf(s)) == 0, "New sends a request: the first is that of a Write or a Read")
	w.mustPass(r, 1, "a", "it is the first")
	for i := range 5 {
		if i == 4 {
			r, s = w.openStore() // of another process
		}
		before := len(stage.RequestsOf(s))
		w.mustPass(r, int64(2+i), "a", "a higher token than the last")
		sent := stage.RequestsOf(s)[before:]
		w.True(len(sent) <= 2, "a Write that meets no other sends %d requests (%s): to read and to store is enough", len(sent), locktest.ByKind(sent))
	}
}

func fenceBadPaths(w *fences) {
	s := w.Session()
	w.mustPass(w.subject.New(s.Conn, w.at), 1, "a", "it is the first")
	short := w.MustCreate(s, path.Dir(w.at)+"/short", []byte("\xff"), zk.FlagPersistent)
	for _, p := range []string{"register", "/a/", "/a//b", path.Dir(w.at), short} { // the last are nodes that have been made without a token
		r := w.subject.New(s.Conn, p)
		token, _, err := r.Read()
		w.True(err != nil || token == 0, "nobody has written at the path %q, and Read returns token %d", p, token)
		err = w.write(r, 1, "a")
		if err == nil { // it has made a path of it
			w.mustHave(r, 1, "a", i18n.Textf("Write with the path %q returns no error", p))
			continue
		}
		w.NotErrorIs(err, w.subject.ErrStale, "Write with the path %q returns ErrStale", p)
	}
}
