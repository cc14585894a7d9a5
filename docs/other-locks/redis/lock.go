// Package redis is the lock of articles B and E on Redis.
//
// The idea: SET with NX sets a key only if it does not exist, so the contender whose SET succeeds holds the lock. Four
// points are easy to get wrong, and each is one line here:
//
//   - The key has a time to live (PX), in the same command. With SETNX and nothing else the key of a holder that
//     crashed stays (bug B3).
//   - Its value is random, new in each acquisition, and a script deletes the key only if it has that value: article E's
//     compare-and-delete in Lua. With a bare DEL a slow holder deletes its successor's key (bug B4).
//   - A watchdog renews the key while the lock is held, every third of the time to live, in a script that compares,
//     too. When a renewal finds another value, or none has succeeded for as long as the key lives, Lost is closed: by
//     the holder's own clock, whether the server answers or not.
//   - The client must not send a command again by itself. If the reply to a SET is lost, a second SET finds the key of
//     the first, and the contender waits for itself. go-redis does that by default; Connect turns it off. Lock returns
//     an error that wraps ErrNoReply and removes the key that it may have set.
//
// Cost: 2 commands if the lock is free (SET, the script), and one for each renewal; with N
// contenders the load grows as N². The article's waiters spin without a pause.
//
// Remaining faults:
//
//   - A holder that is paused for longer than the key lives writes to the resource beside the next holder (bugs E1,
//     E2). Compare-and-delete protects the key and nothing else, and a watchdog is paused with its process. NewFenced
//     counts the holders beside the key, in a script; the resource must compare that number.
//   - Redis answers before the key is on a disk, and before a replica has it. If the server dies and comes back without
//     the key, or a replica without it takes over, there are two holders: the test
//     TestAServerThatForgetsGivesTwoHolders forces it. "appendfsync always" cures the first, for an fsync each; nothing
//     cures the second (WAIT makes it rarer).
//   - The client does not see that ctx is cancelled, so Lock does, and its SET goes on without it, on a silent line for
//     the client's ReadTimeout of 5 s. What it has set is removed when it has returned, or expires: until then nobody
//     holds the lock, and all others wait.
//   - Nobody queues: a waiter can starve.
//   - The expiry is by the server's clock: if it jumps, keys live shorter or longer.
package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/zklock/docs/other-locks/limits"
)

// ErrNotLocked is returned by Unlock when the Lock does not hold its lock: it never did, or its key has expired.
var ErrNotLocked = errors.New("redis: not locked")

// ErrNoReply says that the connection broke, or could not be made, before the
// server's reply came. Whether the command has been executed is unknown.
var ErrNoReply = errors.New("no reply from Redis, which may have done what was asked")

const connectTimeout = 5 * time.Second

var cleanUp = 2 * time.Second // the time that a failed attempt may take to remove its key

// The scripts. Redis runs one at a time, so nothing comes between the
// comparison and what follows. The first is article E's, word for word.
var (
	compareAndDelete = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`)
	compareAndRenew  = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end`)
)

// Connect opens a client of the server at an address, host:port or redis://user:password@host:port/0. An error is one
// line, and comes within seconds.
func Connect(ctx context.Context, address string) (*redis.Client, error) {
	options := &redis.Options{Addr: address}
	if strings.Contains(address, "://") {
		var err error
		if options, err = redis.ParseURL(address); err != nil { // which may quote the password
			return nil, errors.New("redis: the address is not a redis://user:password@host:port/0; " +
				"in a password %, :, /, ?, #, @ and a comma are written %25, %3A, %2F, %3F, %23, %40 and %2C")
		}
	}
	options.MaxRetries = -1              // see the package's comment
	options.ContextTimeoutEnabled = true // else it waits for ReadTimeout, 5 s, after the deadline of its ctx
	options.PoolSize = 50                // connections; further commands wait for one
	options.PoolTimeout = time.Minute    // for that
	options.Protocol = 2
	options.DisableIdentity = true // else each connection sends two commands more
	options.MaintNotificationsConfig = nil
	options.DialTimeout = connectTimeout
	options.DialerRetries = 1
	client := redis.NewClient(options)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		if redis.HasErrorPrefix(err, "NOAUTH") {
			err = fmt.Errorf("%w (redis://:password@host:port)", err)
		}
		return nil, fmt.Errorf("redis at %s: %w", options.Addr, err)
	}
	return client, nil
}

// A Lock is one contender for the lock whose key is given. It is for one
// goroutine at a time, and can be used again after Unlock.
type Lock struct {
	client   *redis.Client
	key      string
	counter  string // of the holders, "" unless NewFenced
	ttl      time.Duration
	held     *acquisition // nil while we do not hold the lock
	attempts atomic.Int64

	renewEvery time.Duration
}

// An acquisition is one hold of the lock.
type acquisition struct {
	value string
	token int64
	lost  chan struct{} // closed when the lock can no longer be trusted
	stop  context.CancelFunc
	ended chan struct{} // closed when the watchdog has returned
}

// New returns a contender. The key lives for ttl after the last renewal.
func New(client *redis.Client, key string, ttl time.Duration) *Lock {
	return &Lock{client: client, key: key, ttl: ttl, renewEvery: ttl / 3}
}

// Attempts is the number of times that the contender has asked for the lock.
func (l *Lock) Attempts() int64 { return l.attempts.Load() }

// Lock waits until it holds the lock or ctx ends. If it returns an error it does
// not hold the lock; the error wraps ctx.Err() if that was the reason.
func (l *Lock) Lock(ctx context.Context) error {
	return limits.Poll(ctx, "redis: lock "+l.key, l.TryLock)
}

// TryLock takes the lock if nobody holds it. It returns false and no error only if another contender holds the lock.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	if l.held != nil {
		return false, fmt.Errorf("redis: lock %s: this Lock holds it already: it is not reentrant", l.key)
	}
	l.attempts.Add(1)
	value := rand.Text()
	sent := time.Now()
	token, returned, err := send(ctx, func() (int64, error) {
		if l.counter != "" {
			return setAndCount.Run(ctx, l.client, []string{l.key, l.counter}, value, l.ttl.Milliseconds()).Int64()
		}
		return 0, l.client.SetArgs(ctx, l.key, value, redis.SetArgs{Mode: "NX", TTL: l.ttl}).Err() // SET key value PX … NX
	})
	if err == nil && l.counter != "" && token == 0 {
		err = redis.Nil
	}
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		limits.CleanUp(ctx, cleanUp, func(ctx context.Context) { // the key may be set all the same
			compareAndDelete.Run(ctx, l.client, []string{l.key}, value)
		}, returned)
		return false, fmt.Errorf("redis: lock %s: %w", l.key, explain(ctx, err))
	}
	watch, stop := context.WithCancel(context.Background())
	l.held = &acquisition{value, token, make(chan struct{}), stop, make(chan struct{})}
	go l.held.renew(watch, l.client, l.key, l.ttl, l.renewEvery, sent)
	return true, nil
}

// send sends a command, and returns when the server has answered or ctx ends: the client looks at the
// deadline of a command's ctx and not at its cancellation. returned is closed when the command has returned.
func send[T any](ctx context.Context, command func() (T, error)) (result T, returned <-chan struct{}, err error) {
	var answer T
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, failed = command()
	}()
	select {
	case <-done:
		return answer, done, failed
	case <-ctx.Done():
		return result, done, ctx.Err()
	}
}

// run runs a script, and returns when ctx ends.
func run(ctx context.Context, script *redis.Script, client *redis.Client, key string, args ...any) (int, error) {
	result, _, err := send(ctx, func() (int, error) { return script.Run(ctx, client, []string{key}, args...).Int() })
	return result, err
}

// renew is the watchdog. It closes Lost when the key has gone, or at the end of its life by the holder's clock.
func (h *acquisition) renew(ctx context.Context, client *redis.Client, key string, ttl, every time.Duration, sent time.Time) {
	defer close(h.ended)
	limits.Keep(ctx, sent, ttl, every, func(ctx context.Context) (gone bool, err error) {
		renewed, err := run(ctx, compareAndRenew, client, key, h.value, ttl.Milliseconds())
		return err == nil && renewed == 0, err
	})
	if ctx.Err() == nil {
		close(h.lost)
	}
}

// Lost is closed when the lock can no longer be trusted: its key has gone, or could not be renewed for as long as it
// lives. It must be called while the lock is held.
func (l *Lock) Lost() <-chan struct{} { return l.held.lost }

// Unlock releases the lock. If this Lock does not hold it, Unlock returns ErrNotLocked and deletes no other contender's
// key. After any other error the lock may still be held, and is no longer renewed; Unlock can be called again.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.held == nil {
		return ErrNotLocked
	}
	l.held.stop()
	<-l.held.ended
	deleted, err := run(ctx, compareAndDelete, l.client, l.key, l.held.value)
	if err != nil {
		return fmt.Errorf("redis: unlock %s: %w", l.key, explain(ctx, err))
	}
	l.held = nil
	if deleted == 0 {
		return fmt.Errorf("%w: the key %s has expired", ErrNotLocked, l.key)
	}
	return nil
}

// explain adds to an error that ctx has ended, or ErrNoReply if the error is not the server's own.
func explain(ctx context.Context, err error) error {
	if errors.As(err, new(redis.Error)) {
		return limits.Explain(ctx, err, nil)
	}
	return limits.Explain(ctx, err, ErrNoReply)
}
