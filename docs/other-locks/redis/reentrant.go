package redis

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Article B counts in the client's memory how many times a thread has locked, and
// says that this is not worth the effort, because the count should expire with the
// key. Here the count is in the key, a hash with one field, the owner. A script
// compares the owner, counts and renews in one step, so that count and lock cannot
// disagree, and an expired lock has no count.
var (
	lockAgain = redis.NewScript(`
		if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
			local times = redis.call('hincrby', KEYS[1], ARGV[1], 1)
			redis.call('pexpire', KEYS[1], ARGV[2])
			return times
		end
		return 0`)
	unlockOnce = redis.NewScript(`
		if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
			return -1
		end
		local times = redis.call('hincrby', KEYS[1], ARGV[1], -1)
		if times == 0 then
			redis.call('del', KEYS[1])
		end
		return times`)
)

// A Reentrant is one owner of a lock that its owner may lock again. It has no watchdog: each
// Lock gives the key a new life of ttl. It may be used concurrently. Two owners
// must never have one name, so a name that is not random belongs to one process that never runs twice.
type Reentrant struct {
	client     *redis.Client
	key, owner string
	ttl        time.Duration
	times      atomic.Int64
	attempts   atomic.Int64
}

// NewReentrant returns an owner of the lock whose key is given. It must not be the key of a
// Lock.
func NewReentrant(client *redis.Client, key, owner string, ttl time.Duration) *Reentrant {
	return &Reentrant{client: client, key: key, owner: owner, ttl: ttl}
}

// Times is how many times the owner holds the lock, by the last reply. After an error that wraps
// ErrNoReply the count at the server may be another, which the next reply shows.
func (r *Reentrant) Times() int { return int(r.times.Load()) }

// Attempts is the number of times that the owner has asked for the lock.
func (r *Reentrant) Attempts() int64 { return r.attempts.Load() }

// TryLock locks once more. It returns false and no error only if another owner holds the lock. If
// ctx ends before the reply, what the reply then grants is unlocked again.
func (r *Reentrant) TryLock(ctx context.Context) (bool, error) {
	r.attempts.Add(1)
	again := start(func() (int64, error) {
		return lockAgain.Run(ctx, r.client, []string{r.key}, r.owner, r.ttl.Milliseconds()).Int64()
	})
	times, err := again.wait(ctx)
	if err != nil {
		afterwards(ctx, again.returned, func(ctx context.Context) {
			if again.err == nil && again.result > 0 {
				unlockOnce.Run(ctx, r.client, []string{r.key}, r.owner)
			}
		})
		return false, fmt.Errorf("redis: lock %s: %w", r.key, explain(ctx, err))
	}
	r.times.Store(times)
	return times > 0, nil
}

// Lock waits until the owner holds the lock once more, or ctx ends.
func (r *Reentrant) Lock(ctx context.Context) error { return poll(ctx, r.key, r.TryLock) }

// Unlock unlocks once; the key goes with the last time. It returns ErrNotLocked if the owner does not
// hold the lock.
func (r *Reentrant) Unlock(ctx context.Context) error {
	times, err := run(ctx, unlockOnce, r.client, r.key, r.owner)
	if err != nil {
		return fmt.Errorf("redis: unlock %s: %w", r.key, explain(ctx, err))
	}
	r.times.Store(int64(max(0, times)))
	if times < 0 {
		return fmt.Errorf("%w: %s does not hold %s", ErrNotLocked, r.owner, r.key)
	}
	return nil
}
