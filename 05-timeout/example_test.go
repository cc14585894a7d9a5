package timeout_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/ensemble"
)

// A waiter gives up, the holder works on, and the next holder has a higher token.
func Example() {
	ctx := context.Background()
	zoo, err := ensemble.Open(ctx, ensemble.SpecEmbedded)
	if err != nil {
		panic(err)
	}
	defer zoo.Close()
	const sessionTimeout = 40 * time.Second
	conn, err := zoo.Connect(ctx, ensemble.Options{SessionTimeout: sessionTimeout})
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	lock := timeout.New(conn, "/accounts/42", sessionTimeout) // shared by all goroutines
	first, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}

	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = lock.Lock(soon)
	fmt.Println("the waiter gives up:", errors.Is(err, context.DeadlineExceeded))
	_, err = lock.TryLock(ctx)
	fmt.Println("held:", errors.Is(err, timeout.ErrHeld))

	select {
	case <-first.Lost():
		fmt.Println("lost: stop the work")
	default:
		fmt.Println("the holder works on, with its token")
	}
	if err := first.Unlock(ctx); err != nil {
		panic(err)
	}

	second, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("the next token is higher:", second.Token() > first.Token())
	if err := second.Unlock(ctx); err != nil {
		panic(err)
	}
	// Output:
	// the waiter gives up: true
	// held: true
	// the holder works on, with its token
	// the next token is higher: true
}
