package redis

import (
	"context"
	"fmt"
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

// A Reentrant is a lock that its owner may lock again. It has no watchdog: each
// Lock gives the key a new life of ttl. It may be used concurrently, and each
// call names its owner. Two owners must never have one name, so a name
// that is not random belongs to one process that never runs twice.
type Reentrant struct {
	client *redis.Client
	key    string
	ttl    time.Duration
}

// NewReentrant returns the lock whose key is given. It must not be the key of a
// Lock.
func NewReentrant(client *redis.Client, key string, ttl time.Duration) *Reentrant {
	return &Reentrant{client, key, ttl}
}

// TryLock locks once more and returns how many times the owner now holds the lock,
// 0 if another owner holds it. After an error that wraps ErrNoReply the count may
// have grown all the same, which the next call's result shows. If ctx ends before the
// reply, what the reply then grants is unlocked again.
func (r *Reentrant) TryLock(ctx context.Context, owner string) (times int, err error) {
	again := start(func() (int, error) {
		return lockAgain.Run(ctx, r.client, []string{r.key}, owner, r.ttl.Milliseconds()).Int()
	})
	times, err = again.wait(ctx)
	if err != nil {
		afterwards(ctx, again.returned, func(ctx context.Context) {
			if again.err == nil && again.result > 0 {
				unlockOnce.Run(ctx, r.client, []string{r.key}, owner)
			}
		})
		return 0, fmt.Errorf("redis: lock %s: %w", r.key, explain(ctx, err))
	}
	return times, nil
}

// Lock waits until the owner holds the lock once more, or ctx ends.
func (r *Reentrant) Lock(ctx context.Context, owner string) (times int, err error) {
	err = poll(ctx, r.key, func(ctx context.Context) (bool, error) {
		times, err = r.TryLock(ctx, owner)
		return times > 0, err
	})
	return times, err
}

// Unlock unlocks once and returns how many times the owner still holds the lock;
// the key goes with the last one. It returns ErrNotLocked if the owner does not
// hold the lock. After an error that wraps ErrNoReply the count may have gone down all
// the same.
func (r *Reentrant) Unlock(ctx context.Context, owner string) (times int, err error) {
	times, err = run(ctx, unlockOnce, r.client, r.key, owner)
	switch {
	case err != nil:
		return 0, fmt.Errorf("redis: unlock %s: %w", r.key, explain(ctx, err))
	case times < 0:
		return 0, fmt.Errorf("%w: %s does not hold %s", ErrNotLocked, owner, r.key)
	}
	return times, nil
}
