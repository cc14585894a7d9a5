package redis_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/redis"
	"example.com/zklock/internal/proxy"
)

// The commands as they are on the wire.
const (
	set     = "\r\nset\r\n"
	evalsha = "\r\nevalsha\r\n"
)

// lossy connects a client directly and one by way of a proxy.
func lossy(t *testing.T) (client *goredis.Client, line *proxy.Proxy, cutOff *goredis.Client) {
	address := address(t)
	client = connect(t, address)
	line = proxy.New(t, client.Options().Addr)
	via := line.Addr()
	if options := client.Options(); options.Password != "" {
		via = "redis://" + options.Username + ":" + options.Password + "@" + via
	}
	return client, line, connect(t, via)
}

func exists(t testing.TB, client *goredis.Client, key string) bool {
	n, err := client.Exists(t.Context(), key).Result()
	require.NoError(t, err)
	return n == 1
}

// The reply to SET is lost. The contender sees an error, and its clean-up removes
// the key over another connection.
func TestALostReplyIsAnErrorAndLeavesNoKey(t *testing.T) {
	defer redis.CleanUp(2 * time.Minute)()
	client, line, cutOff := lossy(t)
	k := key(t)
	l := redis.New(cutOff, k, longer)
	sets := line.LoseReply(set, nil)
	require.ErrorIs(t, l.Lock(t.Context()), redis.ErrNoReply)
	require.Equal(t, 1, sets(), "neither the lock nor the client sends it again")
	require.ErrorIs(t, l.Unlock(t.Context()), redis.ErrNotLocked)
	require.False(t, exists(t, client, k))
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
}

// The same, and the server cannot be reached afterwards: the key of a contender
// that does not hold the lock stays until it expires.
func TestWithoutALineTheKeyOfALostReplyStaysUntilItExpires(t *testing.T) {
	client, line, cutOff := lossy(t)
	k := key(t)
	l := redis.New(cutOff, k, longer)
	line.LoseReply(set, line.CutOff)
	require.ErrorIs(t, l.Lock(t.Context()), redis.ErrNoReply)
	require.ErrorIs(t, l.Unlock(t.Context()), redis.ErrNotLocked, "it does not act as the holder")
	require.True(t, exists(t, client, k), "the key was set all the same")
	anHourPasses(t, client, k)
	require.False(t, exists(t, client, k))
}

// A client that sends commands again by itself is the default of go-redis: the
// second SET finds the key of the first, and the contender would wait for itself.
func TestAClientThatRetriesWaitsForItself(t *testing.T) {
	client, line, cutOff := lossy(t)
	k := key(t)
	options := *cutOff.Options()
	options.MaxRetries = 3 // the default
	retries := goredis.NewClient(&options)
	defer retries.Close()
	require.NoError(t, retries.Ping(t.Context()).Err())
	sets := line.LoseReply(set, nil)
	held, err := redis.New(retries, k, longer).TryLock(t.Context())
	require.NoError(t, err)
	require.False(t, held, "nobody else has asked for the lock")
	require.Equal(t, 2, sets())
	require.True(t, exists(t, client, k))
	require.NoError(t, client.Del(t.Context(), k).Err())
}

// The reply to the script that deletes is lost. A second Unlock reports that the
// key is gone, and affects no other contender.
func TestALostReplyToUnlockCanBeAskedAgain(t *testing.T) {
	client, line, cutOff := lossy(t)
	k := key(t)
	l, next := redis.New(cutOff, k, longer), redis.New(client, k, longer)
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()), "the server has the script from now on")
	require.NoError(t, l.Lock(t.Context()))
	scripts := line.LoseReply(evalsha, nil)
	err := l.Unlock(t.Context())
	require.ErrorIs(t, err, redis.ErrNoReply)
	require.NotErrorIs(t, err, redis.ErrNotLocked)
	require.Equal(t, 1, scripts())
	held, err := next.TryLock(t.Context())
	require.NoError(t, err)
	require.True(t, held, "the key is gone")
	require.ErrorIs(t, l.Unlock(t.Context()), redis.ErrNotLocked)
	require.True(t, exists(t, client, k), "the next holder's key")
	require.NoError(t, next.Unlock(t.Context()))
}

// A holder that could not reach the server still holds the lock, and can release it
// later.
func TestUnlockCanBeCalledAgainWhenTheServerIsBack(t *testing.T) {
	client, line, cutOff := lossy(t)
	k := key(t)
	l := redis.New(cutOff, k, longer)
	require.NoError(t, l.Lock(t.Context()))
	line.CutOff()
	require.ErrorIs(t, l.Unlock(t.Context()), redis.ErrNoReply)
	line.Heal()
	require.True(t, exists(t, client, k))
	for begin := time.Now(); ; { // a connection that has broken costs an error
		err := l.Unlock(t.Context())
		if err == nil {
			break
		}
		require.ErrorIs(t, err, redis.ErrNoReply)
		require.Less(t, time.Since(begin), 2*time.Minute)
	}
	require.False(t, exists(t, client, k))
}

// The count of a Reentrant is at the server. After a lost reply it is one more than
// the owner's calls that succeeded, and the next result says so.
func TestALostReplyToAReentrantCounts(t *testing.T) {
	_, line, cutOff := lossy(t)
	r := redis.NewReentrant(cutOff, key(t), longer)
	_, err := r.TryLock(t.Context(), "A")
	require.NoError(t, err)
	line.LoseReply(evalsha, nil)
	_, err = r.TryLock(t.Context(), "A")
	require.ErrorIs(t, err, redis.ErrNoReply)
	times, err := r.TryLock(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, 3, times, "of which two were answered")
	for range times {
		times, err = r.Unlock(t.Context(), "A")
		require.NoError(t, err)
	}
	require.Zero(t, times)
}

// held is a client's hook: it holds the first reply back until the test lets it go.
type held struct {
	*counter
	here, goOn chan struct{}
}

func (h held) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if h.n.Add(1) == 1 {
			close(h.here)
			<-h.goOn
		}
		return err
	}
}

// A waiter gives up before it has the reply, and the reply says that it holds the lock.
func TestAReentrantWhoseCtxEndedHoldsNothing(t *testing.T) {
	address := address(t)
	client, k := connect(t, address), key(t)
	require.NoError(t, redis.Load(t.Context(), client))
	h := held{&counter{}, make(chan struct{}), make(chan struct{})}
	client.AddHook(h)
	ctx, cancel := context.WithCancel(t.Context())
	r := redis.NewReentrant(client, k, longer)
	locked := make(chan error)
	go func() {
		_, err := r.Lock(ctx, "A")
		locked <- err
	}()
	<-h.here // A has the key
	cancel()
	require.ErrorIs(t, <-locked, context.Canceled)
	close(h.goOn)
	require.Eventually(t, func() bool {
		times, err := r.TryLock(t.Context(), "B")
		return err == nil && times == 1
	}, time.Minute, time.Millisecond)
}

// The server is away for longer than the key lives: the holder is notified, a
// waiter gets an error, and when the server is back the lock belongs to another.
func TestAHolderIsNotifiedThatTheServerIsAway(t *testing.T) {
	client, line, cutOff := lossy(t)
	k := key(t)
	holder, waiter := redis.New(cutOff, k, 100*time.Millisecond), redis.New(cutOff, k, longer)
	redis.Renew(holder, time.Millisecond)
	require.NoError(t, holder.Lock(t.Context()))
	line.CutOff()
	require.ErrorIs(t, waiter.Lock(t.Context()), redis.ErrNoReply, "the waiter gets an error, and does not wait on")
	<-holder.Lost()
	require.ErrorIs(t, holder.Unlock(t.Context()), redis.ErrNoReply)
	anHourPasses(t, client, k) // miniredis has no clock
	next := redis.New(client, k, longer)
	held, err := next.TryLock(t.Context())
	require.NoError(t, err)
	require.True(t, held, "the holder's key has not expired")
	line.Heal()
	require.ErrorIs(t, holder.Unlock(t.Context()), redis.ErrNotLocked)
	require.True(t, exists(t, client, k), "the next holder's key")
	require.NoError(t, next.Unlock(t.Context()))
}

// silent makes a line on which nothing arrives from now on. Without its ctx a command
// would wait there for as long as the test lasts.
func silent(t *testing.T) (client *goredis.Client, line *proxy.Proxy, slow *goredis.Client) {
	client, line, cutOff := lossy(t)
	options := *cutOff.Options()
	options.ReadTimeout = time.Hour
	slow = goredis.NewClient(&options)
	t.Cleanup(func() { slow.Close() })
	return client, line, slow
}

// The line is silent: no error comes, and no answer. The holder's own clock closes
// Lost when its key has lived for its time, before another contender gets in.
func TestLostIsClosedAtTheEndOfTheKeysLifeThoughTheLineIsSilent(t *testing.T) {
	client, line, slow := silent(t)
	k := key(t)
	ttl := 2 * time.Second
	if os.Getenv("REDIS") == "" { // miniredis has no clock
		ttl = 200 * time.Millisecond
	}
	holder, next := redis.New(slow, k, ttl), redis.New(client, k, longer)
	require.NoError(t, holder.Lock(t.Context()))
	lost := holder.Lost()
	line.Silence(proxy.ToServer, proxy.ToClient)
	if os.Getenv("REDIS") == "" {
		<-lost
		return
	}
	require.NoError(t, next.Lock(t.Context()))
	select {
	case <-lost:
	case <-time.After(time.Second): // its goroutine may be late on a busy machine
		t.Fatal("another contender holds the lock, and the holder's Lost is open")
	}
	require.NoError(t, next.Unlock(t.Context()))
}

// Each call returns soon after its ctx has ended, though no answer comes, and its
// error says why.
func TestCallsOnASilentLineEndWithTheirContext(t *testing.T) {
	for why, end := range map[error]func(context.Context) (context.Context, context.CancelFunc){
		context.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		},
		context.Canceled: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		t.Run(why.Error(), func(t *testing.T) {
			t.Parallel() // it waits
			_, line, slow := silent(t)
			k := key(t)
			holder, waiter := redis.New(slow, k, longer), redis.New(slow, k+"-2", longer)
			reentrant := redis.NewReentrant(slow, k+"-3", longer)
			require.NoError(t, holder.Lock(t.Context()))
			line.Silence(proxy.ToServer, proxy.ToClient)
			for name, call := range map[string]func(context.Context) error{
				"Lock":              waiter.Lock,
				"Unlock":            holder.Unlock,
				"Lock, reentrant":   func(ctx context.Context) error { _, err := reentrant.Lock(ctx, "A"); return err },
				"Unlock, reentrant": func(ctx context.Context) error { _, err := reentrant.Unlock(ctx, "A"); return err },
			} {
				ctx, cancel := end(t.Context())
				returned := make(chan error, 1)
				go func() { returned <- call(ctx) }()
				select {
				case err := <-returned:
					require.ErrorIs(t, err, why, name) // perhaps before ctx.Err says so: the connection has the deadline, too
				case <-time.After(time.Minute):
					t.Fatalf("%s does not return", name)
				}
				cancel()
			}
		})
	}
}

// A lateTimer is a context whose deadline has passed and whose own timer has not run yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now(), true }

// A connection has the deadline of the ctx, and may find out first that it has passed.
func TestTheConnectionsDeadlineIsTheEndOfCtx(t *testing.T) {
	late := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	require.ErrorIs(t, redis.Explain(lateTimer{t.Context()}, late), context.DeadlineExceeded)
	require.NotErrorIs(t, redis.Explain(lateTimer{t.Context()}, late), redis.ErrNoReply)
	require.ErrorIs(t, redis.Explain(t.Context(), late), redis.ErrNoReply)
}
