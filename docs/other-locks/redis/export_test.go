package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Renew sets the interval at which the watchdog of a lock renews.
func Renew(l *Lock, every time.Duration) { l.renewEvery = every }

// CleanUp is the time limit of clean-ups.
var CleanUp = &cleanUp

// Load loads the scripts, so that the first call of each is one command.
func Load(ctx context.Context, client *redis.Client) error {
	for _, s := range []*redis.Script{setAndCount, compareAndDelete, compareAndRenew, lockAgain, unlockOnce} {
		if err := s.Load(ctx, client).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Explain is explain.
var Explain = explain
