package reentrant_test

import (
	"context"
	"errors"
	"fmt"

	reentrant "example.com/zklock/04-reentrant"
	"example.com/zklock/internal/ensemble"
)

// A function that locks calls another one that locks, for the same owner.
func Example() {
	ctx := context.Background()
	zoo, err := ensemble.Open(ctx, ensemble.SpecEmbedded)
	if err != nil {
		panic(err)
	}
	defer zoo.Close()
	conn, err := zoo.Connect(ctx, ensemble.Options{})
	if err != nil {
		panic(err)
	}
	defer conn.Close()

	m := reentrant.New(conn, "/accounts/42") // shared by all goroutines
	alice, bob := reentrant.NewOwner("alice"), reentrant.NewOwner("bob")

	withdraw := func(owner *reentrant.Owner) {
		if err := m.Lock(owner); err != nil {
			panic(err)
		}
		defer m.Unlock(owner)
		fmt.Println(owner, "withdraws and holds the lock", m.Holds(owner), "times")
	}
	transfer := func(owner *reentrant.Owner) {
		if err := m.Lock(owner); err != nil {
			panic(err)
		}
		defer m.Unlock(owner)
		withdraw(owner)
		ok, err := m.TryLock(bob)
		fmt.Println("bob gets in:", ok, err)
	}

	transfer(alice)
	fmt.Println("afterwards:", m.Holds(alice), "times")
	fmt.Println("one Unlock too many:", errors.Is(m.Unlock(alice), reentrant.ErrNotOwner))
	// Output:
	// alice withdraws and holds the lock 2 times
	// bob gets in: false <nil>
	// afterwards: 0 times
	// one Unlock too many: true
}
