package redis

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// setAndCount sets the key as SET NX PX does, and counts one more holder in the same step: so a holder that came later
// has a higher number. With INCR after the SET, in a command of its own, a holder that was paused between the two would
// get a number above its successor's.
var setAndCount = redis.NewScript(`
	if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
		return redis.call('incr', KEYS[2])
	end
	return 0`)

// NewFenced is New for a lock whose holders have a Token. It is counted in a key of its own, which has no end. If Redis
// forgets that key, the tokens begin at 1 again, and a resource refuses all holders until they are above what it has
// seen: Redis must write both keys to a disk before it answers, see the package's README.
func NewFenced(client *redis.Client, key string, ttl time.Duration) *Lock {
	l := New(client, key, ttl)
	// The braces put both keys on one node of a cluster.
	l.counter = "{" + key + "}:holders"
	return l
}

// Token is the fencing token: it is higher than that of every earlier holder. It must be called while the lock is held,
// and is 0 unless NewFenced has made the Lock.
func (l *Lock) Token() int64 { return l.held.token }
