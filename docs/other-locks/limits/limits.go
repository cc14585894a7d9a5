// Package limits has what the locks of these folders do alike with time: they renew a lease, pause between two tries,
// clean up, and say that a ctx has ended.
package limits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Keep renews a lease at an interval, until ctx ends or the lease can no longer be trusted. It lives for ttl from the
// moment when the last renewal that succeeded was sent, at first from sent on, or longer. At the end of that time Keep
// returns, whether the server has answered or not; gone says that it has answered that the lease is over.
func Keep(ctx context.Context, sent time.Time, ttl, every time.Duration, renew func(ctx context.Context) (gone bool, err error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		life, cancel := context.WithDeadline(ctx, sent.Add(ttl))
		select {
		case <-ticker.C:
		case <-life.Done():
		}
		now, gone, err := time.Now(), false, life.Err()
		if err == nil {
			gone, err = renew(life)
		}
		over := life.Err() != nil
		cancel()
		switch {
		case gone, over:
			return
		case err == nil:
			sent = now
		}
	}
}

const (
	firstPause = time.Millisecond
	lastPause  = 64 * time.Millisecond
)

// Poll tries until that succeeds or fails, or ctx ends; what says what for. It pauses after each try, for 1 ms at
// first, then twice as long each time up to 64 ms; each pause is random between half of that and all of it.
func Poll(ctx context.Context, what string, try func(ctx context.Context) (done bool, err error)) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		done, err := try(ctx)
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
}

const promptly = 100 * time.Millisecond // the time that a caller whose ctx has ended waits for a clean-up

// CleanUp calls remove, which removes what an attempt that failed may have left, once all requests of the attempt have
// returned. remove has so much time. If ctx has ended, it may go on after CleanUp has returned.
func CleanUp(ctx context.Context, limit time.Duration, remove func(ctx context.Context), requests ...<-chan struct{}) {
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		for _, returned := range requests {
			<-returned
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		remove(ctx)
	}()
	if ctx.Err() == nil {
		<-removed
		return
	}
	select {
	case <-removed:
	case <-time.After(promptly):
	}
}

// Explain adds to an error what a client does not say: that ctx has ended, or else what is given, which may be nil. A
// connection that has the deadline of ctx looks at the clock itself, and may be earlier than ctx.
func Explain(ctx context.Context, err, otherwise error) error {
	cause := ctx.Err()
	if end, ok := ctx.Deadline(); ok && cause == nil && !time.Now().Before(end) {
		cause = context.DeadlineExceeded
	}
	cause = cmp.Or(cause, otherwise)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}
