package suites

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/zkserver"
)

// A Register is a resource that checks fencing tokens: it keeps one value, and the
// highest token that it has seen. It is for many goroutines at once.
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

// Plan has the cases of a resource that checks tokens.
func (s FenceSubject) Plan() locktest.Plan {
	return stage.NewPlan(stage.WithoutParents(fenceCases), stage.Of[*fences](s.Level), false, false,
		func(w *stage.Stage) *fences {
			at := strings.TrimSuffix(w.Path, "/a/lock") + "/b/register"
			return &fences{w, s, at, at, 0}
		}).
		Needs(s.New != nil && s.ErrStale != nil, "FenceSubject needs New and ErrStale")
}

var fenceCases = []locktest.TestCase[*fences]{
	{Name: "what was written is read", Zh: "写进去的能读出来", Group: locktest.Liveness, Run: writtenIsRead, Basic: true},
	{Name: "a lower token is refused and changes nothing", Zh: "较小的令牌遭到拒绝，什么都不改变", Group: locktest.Safety, Run: lowerIsRefused, Basic: true},
	{Name: "equal tokens of one holder pass", Zh: "同一持有者的相同令牌可以通过", Group: locktest.Liveness, Run: equalPasses, Basic: true},
	{Name: "tokens are compared as numbers", Zh: "令牌按数值比较", Group: locktest.Safety, Run: asNumbers, Basic: true},
	{Name: "the new holder's first write shuts the old one out, whatever it writes", Zh: "新持有者第一次写之后，旧持有者就写不进去了，不管写什么", Group: locktest.Safety, Run: sameValue, Basic: true},
	{Name: "a restart forgets no token", Zh: "重启之后不会忘记令牌", Group: locktest.Safety, Run: restart, Basic: true},
	{Name: "many goroutines write at once and the highest token stays", Zh: "许多 goroutine 同时写，最大的令牌留下", Group: locktest.Safety, Run: goroutinesAtOnce, Basic: true},
	{Name: "a write between the check and the store is not overwritten", Zh: "检查之后、写入之前的另一次写不会被覆盖", Group: locktest.Safety, Run: betweenCheckAndStore, Basic: true, Exact: true},
	{Name: "a higher token is stored though a lower one came in between", Zh: "其间来过较小的令牌，较大的令牌照样写入", Group: locktest.Liveness, Run: lowerInBetween, Exact: true},
	{Name: "a token that has become stale in between is refused as stale", Zh: "其间过时的令牌，按过时拒绝", Group: locktest.Liveness, Run: staleInBetween, Exact: true},
	{Name: "one write after the other that comes in between makes no token stale", Zh: "其间接连有别的写，也不会让令牌过时", Group: locktest.Liveness, Run: manyInBetween, Exact: true},
	{Name: "a value may be any bytes", Zh: "值可以是任何字节", Group: locktest.Liveness, Run: anyBytes},
	{Name: "a request or reply that is lost is not a refusal, and Write can be tried again", Zh: "请求或响应丢失不算拒绝，Write 可以再试", Group: locktest.Faults, Run: spoiledWrite, Exact: true},
	{Name: "an error of the server is returned", Zh: "服务器的错误要返回", Group: locktest.Faults, Run: fenceNoPermission},
	{Name: "a write that meets no other sends two requests at most", Zh: "没有遇到别的写时，一次写最多发两个请求", Group: locktest.Cost, Run: twoRequests},
	{Name: "a path that is not one is an error, or works", Zh: "不合法的路径：要么是错误，要么可用", Group: locktest.Faults, Run: fenceBadPaths},
}

// A fences is the world of a case.
type fences struct {
	*stage.Stage
	subject FenceSubject
	at      string // the path of the register
	first   string // the path of the case's first register
	others  int    // how many more registers the case has had
}

// another has a case go on with a register that does not exist yet.
func (w *fences) another() {
	w.others++
	w.at = fmt.Sprintf("%s-%d/register", w.first, w.others) // its parent does not exist yet, either
}

// store opens the register in a session of its own, as another process of the resource does.
func (w *fences) store() (Register, *locktest.Session) {
	w.Helper()
	s := w.Session()
	return w.subject.New(s.Conn, w.at), s
}

// write calls Write, which must return.
func (w *fences) write(r Register, token int64, value string) error {
	w.Helper()
	return w.Result(w.Aside("Write", func() error { return r.Write(token, []byte(value)) }), i18n.Textf("Write with token %d", "带令牌 %d 的 Write", token))
}

// mustPass fails if a write is refused, or fails; what says why it must not be.
func (w *fences) mustPass(r Register, token int64, value string, what i18n.Text) {
	w.Helper()
	err := w.write(r, token, value)
	w.NotErrorIs(err, w.subject.ErrStale, "Write with token %d is refused: %s", "带令牌 %d 的 Write 遭到拒绝：%s", token, what)
	w.NoError(err, "Write with token %d fails: %s", "带令牌 %d 的 Write 失败：%s", token, what)
}

// mustBeRefused fails if a write returns another error than ErrStale, or none.
func (w *fences) mustBeRefused(r Register, token int64, value string, what i18n.Text) {
	w.Helper()
	err := w.write(r, token, value)
	w.HasError(err, "Write with token %d returns no error, and must return ErrStale: %s: an old token has written", "带令牌 %d 的 Write 没有返回错误，应当返回 ErrStale：旧令牌写进去了。%s", token, what)
	w.ErrorIs(err, w.subject.ErrStale, "Write with token %d returns another error than ErrStale: %s", "带令牌 %d 的 Write 返回的错误不是 ErrStale：%s", token, what)
}

// mustHave fails if the register has another value or token.
func (w *fences) mustHave(r Register, token int64, value string, what i18n.Text) {
	w.Helper()
	var gotToken int64
	var got []byte
	err := w.Result(w.Aside("Read", func() (err error) {
		gotToken, got, err = r.Read()
		return err
	}), i18n.Same("Read"))
	w.NoError(err, "Read fails", "Read 失败")
	if string(got) != value || gotToken != token {
		w.Failf("%s: Read returns token %d and value %q, and must return token %d and value %q", "Read 返回令牌 %[2]d 和值 %[3]q，应当返回令牌 %[4]d 和值 %[5]q：%[1]s", what, gotToken, got, token, value)
	}
}

func writtenIsRead(w *fences) {
	r, s := w.store()
	w.mustHave(r, 0, "", i18n.Textf("nothing has been written yet", "还没有写过任何值"))
	w.mustPass(r, 33, "a", i18n.Textf("it is the first, and the nodes above the register's are missing: make them when create returns zk.ErrNoNode", "这是第一次写，存储的各级父节点还不存在：create 返回 zk.ErrNoNode 时，请先创建它们"))
	w.mustHave(r, 33, "a", i18n.Textf("the value was written", "值已经写入"))
	w.mustPass(r, 34, "b", i18n.Textf("a higher token than the last", "令牌比上一个大"))
	w.mustHave(r, 34, "b", i18n.Textf("another value was written", "已经写入另一个值"))
	w.another()
	w.mustPass(w.subject.New(s.Conn, w.at), 1, "c", i18n.Textf("it is the first at this path; the same process has another register, which has seen token 34", "这是该路径的第一次写；见过令牌 34 的，是同一进程的另一个存储"))
}

func lowerIsRefused(w *fences) {
	r, _ := w.store()
	w.mustPass(r, 34, "new", i18n.Textf("it is the first", "这是第一次写"))
	for _, token := range []int64{33, 1, 33} {
		w.mustBeRefused(r, token, "old", i18n.Textf("token 34 has been seen; a write that was refused must not lower the token", "已经见过令牌 34；遭到拒绝的写不能让令牌变小"))
		w.mustHave(r, 34, "new", i18n.Textf("token %d was refused, and must change nothing; an old token has written", "令牌 %d 遭到拒绝，就不能改变任何东西；旧令牌写进去了", token))
	}
	w.mustPass(r, 35, "newer", i18n.Textf("a higher token than the last", "令牌比上一个大"))
	w.mustBeRefused(r, 34, "new", i18n.Textf("token 35 has been seen", "已经见过令牌 35"))
	w.mustHave(r, 35, "newer", i18n.Textf("the last value", "最后的值"))
}

func equalPasses(w *fences) {
	r, _ := w.store()
	for _, value := range []string{"a", "b", "c", "bb", "b", "a", "", "ab"} {
		w.mustPass(r, 33, value, i18n.Textf("a holder writes as often as it likes with its one token: refuse lower ones only", "持有者可以用同一个令牌写任意多次：只拒绝更小的"))
		w.mustHave(r, 33, value, i18n.Textf("the holder has written once more", "持有者又写了一次"))
	}
}

func asNumbers(w *fences) {
	r, _ := w.store()
	tokens := []int64{1, 9, 10, 99, 100, 1<<32 - 1, 1 << 32, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for i, token := range tokens {
		w.mustPass(r, token, "a", i18n.Textf("it is higher than the last; a token is an int64, compare the numbers and lose no bit of them", "这个令牌比上一个大；令牌是 int64，请按数值比较，一位也不能丢"))
		w.mustHave(r, token, "a", i18n.Textf("the value was written", "值已经写入"))
		if i > 0 {
			w.mustBeRefused(r, tokens[i-1], "b", i18n.Textf("token %d has been seen; a token is an int64, compare the numbers and lose no bit of them", "已经见过令牌 %d；令牌是 int64，请按数值比较，一位也不能丢", token))
		}
	}
}

func sameValue(w *fences) {
	r, _ := w.store()
	w.mustPass(r, 33, "same", i18n.Textf("it is the first", "这是第一次写"))
	w.mustPass(r, 34, "same", i18n.Textf("a higher token than the last", "令牌比上一个大"))
	w.mustHave(r, 34, "same", i18n.Textf("the value is the same, and the token is higher", "值相同，令牌更大"))
	w.mustBeRefused(r, 33, "same", i18n.Textf("token 34 has been seen, with the same value", "已经见过令牌 34，值相同"))
	w.mustPass(r, 35, "", i18n.Textf("a higher token than the last, and no value", "令牌比上一个大，值为空"))
	w.mustHave(r, 35, "", i18n.Textf("no value was written", "没有写入任何值"))
	w.mustBeRefused(r, 34, "late", i18n.Textf("token 35 has been seen, with no value", "已经见过令牌 35，值为空"))
}

func restart(w *fences) {
	var what = i18n.Textf("the store was restarted after token 34; the token must outlive the process: keep it on the znode", "见过令牌 34 之后，存储重启了；进程不在了，令牌也要留下：请把它存到节点上")
	r, s := w.store()
	w.mustPass(r, 34, "a", i18n.Textf("it is the first", "这是第一次写"))
	s.Close()
	r, _ = w.store()
	w.mustBeRefused(r, 33, "b", what)
	w.mustHave(r, 34, "a", i18n.Textf("the store was restarted", "存储重启了"))
	r, _ = w.store()
	w.mustPass(r, 34, "b", i18n.Textf("the holder goes on after a restart of the store", "存储重启之后，持有者继续写"))
	w.mustPass(r, 35, "c", i18n.Textf("the next holder writes after a restart of the store", "存储重启之后，下一个持有者写"))
	w.mustHave(r, 35, "c", i18n.Textf("the last value", "最后的值"))
	another, _ := w.store()
	w.mustPass(another, 36, "c", i18n.Textf("a higher token than the last, at another process of the store", "令牌比上一个大，来自存储的另一个进程"))
	w.mustBeRefused(r, 35, "c", i18n.Textf("token 36 has been seen by another process of the store, and this process has written the same before", "存储的另一个进程已经见过令牌 36；同样的写，这个进程以前做过"))
}

// goroutinesAtOnce has one writer for each token, in any order, all at the same time. It does not look at
// what Write returns: another case does.
func goroutinesAtOnce(w *fences) {
	const n = 20
	r, _ := w.store()
	// A new client's first answer waits a moment, and virtual time stops while a
	// goroutine waits for a mutex, which a register may well have.
	w.mustHave(r, 0, "", i18n.Textf("nothing has been written yet", "还没有写过任何值"))
	results := make([]<-chan error, n+1)
	for _, i := range rand.Perm(n) {
		results[i+1] = w.Aside("Write", func() error { return r.Write(int64(i+1), fmt.Append(nil, "of ", i+1)) })
	}
	for token := 1; token <= n; token++ {
		if w.Result(results[token], i18n.Textf("Write with token %d", "带令牌 %d 的 Write", token)) != nil && token == n {
			return
		}
	}
	w.mustHave(r, n, fmt.Sprint("of ", n), i18n.Textf("%d writers at once, each with a token of its own: the highest token must stay, and an old token has written; check the token and store it with the value in one step", "同时有 %d 个在写，各有自己的令牌：留下的应当是最大的令牌，旧令牌写进去了；请把检查令牌和存入值合为一步", n))
}

// inBetween holds back each request of a Write in turn; meanwhile another process of the store writes
// with another token. It does so with a node that exists and with one that does not. Then it calls
// then with the result of the Write that was held back.
func (w *fences) inBetween(token, other int64, then func(r Register, what i18n.Text, err error)) {
	w.Helper()
	for _, exists := range []bool{true, false} {
		for n := 1; w.GoesOn(n); n++ {
			w.another()
			r, s := w.store()
			meanwhile, _ := w.store()
			if exists {
				w.mustPass(meanwhile, 1, "before", i18n.Textf("it is the first", "这是第一次写"))
			}
			held := w.Server.Hold(stage.Number(s, n))
			result := w.Aside("Write", func() error { return r.Write(token, []byte("of the slow one")) })
			w.Eventually(i18n.Textf("the request is held back, or Write returns", "请求被扣住，或者 Write 返回"), func() bool { return len(held.Hit()) > 0 || len(result) > 0 })
			if len(held.Hit()) == 0 {
				w.True(n > 1, "Write sends no request: the token must outlive the process, keep it on a znode", "Write 没有发送任何请求：进程不在了，令牌也要留下，请存到节点上")
				w.NoError(<-result, "Write with token %d fails", "带令牌 %d 的 Write 失败", token)
				held.Release()
				break
			}
			op := stage.LastRequest(s, n)
			w.mustPass(meanwhile, other, "of the quick one", i18n.Textf("a higher token than the last", "令牌比上一个大"))
			held.Release()
			what := i18n.Textf("while request %d of a Write with token %d, %v, was on its way, another process of the store has stored a value with token %d", "第 %d 个请求还在路上时（令牌为 %d 的 Write，请求 %v），存储的另一个进程已用令牌 %d 存入了值", n, token, op, other)
			then(meanwhile, what, w.Result(result, i18n.Textf("%s, and Write", "%s，Write", what)))
		}
	}
}

func betweenCheckAndStore(w *fences) {
	w.inBetween(33, 34, func(r Register, what i18n.Text, err error) {
		w.mustHave(r, 34, "of the quick one", i18n.Textf("%s, and an old token has written; the check and the store must be one step: pass to Set the version that you have checked", "%s，旧令牌写进去了；检查和存入必须是一步：请告诉 Set 你检查过的是哪个版本", what))
		w.HasError(err, "%s, and Write returns no error: its value is not there", "%s，Write 没有返回错误，值却没有存进去", what)
	})
}

// staleInBetween asks for more than betweenCheckAndStore: the error must be ErrStale.
func staleInBetween(w *fences) {
	w.inBetween(33, 34, func(_ Register, what i18n.Text, err error) {
		w.ErrorIs(err, w.subject.ErrStale, "%s, and Write returns another error than ErrStale: look again, the token is stale now", "%s，Write 返回的错误不是 ErrStale：请再看一次，现在令牌已经过时", what)
	})
}

func lowerInBetween(w *fences) {
	for _, token := range []int64{34, 33} { // another holder's, and the same one's
		w.inBetween(token, 33, func(r Register, what i18n.Text, err error) {
			w.NoError(err, "%s, and Write fails: the token is not stale, so look again, and store the value", "%s，Write 失败了：令牌没有过时，所以请再看一次，然后存入值", what)
			w.mustHave(r, token, "of the slow one", what)
		})
	}
}

// manyInBetween has another process of the store win one race after the other.
func manyInBetween(w *fences) {
	const token, races = 10_000, 1100
	r, s := w.store()
	meanwhile, _ := w.store()
	w.mustPass(meanwhile, 1, "before", i18n.Textf("it is the first", "这是第一次写"))
	changes := func(r zkserver.Request) bool {
		return r.Session == s.ID && (r.Op == jute.OpSetData || r.Op == jute.OpMulti || r.Op == jute.OpCreate || r.Op == jute.OpDelete)
	}
	held := w.Server.Hold(changes)
	result := w.Aside("Write", func() error { return r.Write(token, []byte("of the slow one")) })
	lost := 0
	for lost < races {
		w.Eventually(i18n.Textf("Write stores the value, or returns", "Write 存入值，或者返回"), func() bool { return len(held.Hit()) > 0 || len(result) > 0 })
		if len(result) > 0 {
			break
		}
		lost++
		w.mustPass(meanwhile, int64(1+lost), fmt.Sprint("of the quick one, ", lost), i18n.Textf("a higher token than the last", "令牌比上一个大"))
		next := w.Server.Hold(changes)
		held.Release()
		held = next
	}
	held.Release()
	what := i18n.Textf("while a Write with token %d was under way, another process of the store has stored a value with a lower token %d times", "带令牌 %d 的 Write 进行时，存储的另一个进程用较小的令牌存入了 %d 次", token, lost)
	err := w.Result(result, i18n.Textf("%s, and Write", "%s，Write", what))
	w.NotErrorIs(err, w.subject.ErrStale, "%s, and Write returns ErrStale: no higher token has been seen; check again", "%s，Write 返回 ErrStale：并没有见过更大的令牌；请再检查一次", what)
	if err != nil {
		w.mustPass(r, token, "of the slow one", i18n.Textf("the holder tries again", "持有者再试一次"))
	}
	w.mustHave(r, token, "of the slow one", what)
}

func anyBytes(w *fences) {
	r, _ := w.store()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, value := range []string{"", "1 2", "a,b:c;d|e", "\n", "\x00", "\"", string(every), "\xff\xfe"} {
		w.mustPass(r, int64(i+1), value, i18n.Textf("a higher token than the last", "令牌比上一个大"))
		w.mustHave(r, int64(i+1), value, i18n.Textf("the value must come back as it was, whatever its bytes", "不管是什么字节，值都应当原样读出"))
	}
	buffer := []byte("value, and what follows it") // the caller may use it for something else, and change what it has read
	w.NoError(r.Write(100, buffer[:len("value")]), "Write of the beginning of a buffer fails", "写入一个缓冲区的开头，Write 失败了")
	w.True(string(buffer) == "value, and what follows it", "the value is only the beginning of the caller's buffer, and Write has written behind it: append to a slice of your own", "值只是调用者的缓冲区的开头，Write 却改了它后面的内容：请向自己的切片里 append")
	for range 2 {
		clear(buffer)
		_, buffer, _ = r.Read()
		w.mustHave(r, 100, "value", i18n.Textf("the caller has changed the bytes that it has written, or read", "调用者改动了自己写入或读出的字节"))
	}
}

// spoiledWrite loses each request of a Write in turn, and each reply, and ends
// the connection with it.
func spoiledWrite(w *fences) {
	for _, trouble := range []func(*locktest.Session){w.Unreachable, w.EndsWith} {
		w.another()
		r, s := w.store()
		other, os := w.store()
		w.mustPass(other, 33, "before", i18n.Textf("it is the first", "这是第一次写"))
		trouble(os)
		token, _, err := other.Read()
		w.True(err != nil || token == 33, "no server can be reached, or the session of the store ends, and Read returns token %d and no error: that says that nothing has been written", "连不上服务器，或者存储的会话结束，Read 返回令牌 %d，没有错误：这表示还没有写过任何值", token)
		trouble(s)
		w.NotErrorIs(w.write(r, 33, "before"), w.subject.ErrStale, "no server can be reached, or the session of the store ends, and Write returns ErrStale: no higher token has been seen; return the client's error", "连不上服务器，或者存储的会话结束，Write 返回 ErrStale：并没有见过更大的令牌；请返回客户端的错误")
	}
	for i, lose := range []func(func(zkserver.Request) bool) *zkserver.Fault{w.Server.LoseRequest, w.Server.LoseReply, w.Server.LoseRequest, w.Server.LoseReply} {
		before := int64(33 + i/2) // a lower token, and the same
		for n := 1; w.GoesOn(n); n++ {
			w.another()
			r, s := w.store()
			w.mustPass(r, before, "before", i18n.Textf("it is the first", "这是第一次写"))
			fault := lose(stage.Number(s, n))
			err := w.write(r, 34, "after")
			met := len(fault.Hit()) > 0
			fault.Release()
			what := i18n.Textf("the connection broke with request %d of a Write", "连接在 Write 的第 %d 个请求时断开", n)
			if err != nil {
				w.True(met, "Write fails with nothing wrong: %v", "什么都没有出错，Write 却失败了：%v", err)
				w.NotErrorIs(err, w.subject.ErrStale, "%s, and Write returns ErrStale: no higher token has been seen, and the value may have been stored or not; return the client's error", "%s，Write 返回 ErrStale：并没有见过更大的令牌，值是否存入也无从知道；请返回客户端的错误", what)
				w.ErrorIs(err, zk.ErrConnectionClosed, "%s, and Write returns an error that does not wrap the client's (fmt.Errorf with %%w)", "%s，Write 返回的错误没有包装客户端的错误（fmt.Errorf 加 %%w）", what)
				w.ErrorContains(err, w.at, "the error does not name the register: wrap it with the path (fmt.Errorf with %%w)", "错误里没有说明是哪个存储：请包装错误，并带上路径（fmt.Errorf 加 %%w）")
				w.Eventually(i18n.Textf("the client is connected again", "客户端已重连"), func() bool { return s.State() == zk.StateHasSession })
				time.Sleep(time.Second)
				if token, _, _ := r.Read(); token == 33 {
					w.mustPass(r, 33, "before", i18n.Textf("the write with token 34 has not been stored", "令牌为 34 的写没有存入"))
				}
				w.mustPass(r, 34, "after", i18n.Textf("the holder tries again after %s", "%s 之后，持有者再试一次", what))
			}
			w.mustHave(r, 34, "after", what)
			w.mustBeRefused(r, 33, "late", i18n.Textf("token 34 has been seen", "已经见过令牌 34"))
			if !met {
				w.True(n > 1, "Write sends no request: the token must outlive the process, keep it on a znode", "Write 没有发送任何请求：进程不在了，令牌也要留下，请存到节点上")
				break
			}
		}
	}
}

func fenceNoPermission(w *fences) {
	admin, theirs := w.Session(), zk.DigestACL(zk.PermAll, "admin", "secret")
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.Parents(admin.Conn, theirs)
	w.at = w.Path
	r, _ := w.store()
	err := w.write(r, 33, "a")
	w.HasError(err, "Write without permission returns no error: the value is nowhere", "没有权限，Write 却没有返回错误：值根本没有存入")
	w.NotErrorIs(err, w.subject.ErrStale, `Write takes the error "no permission" for a stale token`, "Write 把“没有权限”这个错误当成了令牌过时")
	w.ErrorIs(err, zk.ErrNoAuth, "Write without permission must return an error that wraps the client's", "没有权限时，Write 返回的错误必须包装客户端的错误")
	w.ErrorContains(err, w.at, "the error does not name the register: wrap it with the path (fmt.Errorf with %%w)", "错误里没有说明是哪个存储：请包装错误，并带上路径（fmt.Errorf 加 %%w）")
	_, err = admin.Create(w.at, nil, zk.FlagPersistent, theirs)
	require.NoError(w, err)
	_, _, err = r.Read()
	w.ErrorIs(err, zk.ErrNoAuth, "Read without permission must return an error that wraps the client's: no error says that nothing has been written", "没有权限时，Read 必须返回包装客户端错误的错误：没有错误就表示还没有写过任何值")
}

func twoRequests(w *fences) {
	r, s := w.store()
	w.mustPass(r, 1, "a", i18n.Textf("it is the first", "这是第一次写"))
	for i := range 5 {
		before := len(stage.RequestsOf(s))
		w.mustPass(r, int64(2+i), "a", i18n.Textf("a higher token than the last", "令牌比上一个大"))
		if sent := stage.RequestsOf(s)[before:]; len(sent) > 2 {
			w.Failf("a Write that meets no other sends %d requests (%s): to read and to store is enough", "没有遇到别的写时，一次 Write 发了 %d 个请求（%s）：读一次、存一次就够了", len(sent), locktest.ByKind(sent))
		}
	}
}

func fenceBadPaths(w *fences) {
	s := w.Session()
	w.mustPass(w.subject.New(s.Conn, w.at), 1, "a", i18n.Textf("it is the first", "这是第一次写"))
	short, err := s.Create(path.Dir(w.at)+"/short", []byte("x"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(w, err)
	for _, p := range []string{"register", "/a/", "/a//b", path.Dir(w.at), short} { // the last are nodes that have been made without a token
		r := w.subject.New(s.Conn, p)
		err := w.write(r, 1, "a")
		if err == nil { // it has made a path of it
			w.mustHave(r, 1, "a", i18n.Textf("Write with the path %q returns no error", "路径为 %q 时，Write 没有返回错误", p))
			continue
		}
		w.NotErrorIs(err, w.subject.ErrStale, "Write with the path %q returns ErrStale", "路径为 %q 时，Write 返回 ErrStale", p)
	}
}
