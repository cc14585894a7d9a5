package sqlversion_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlversion"
)

// No case of locktest applies but the two about one at a time: nobody holds
// anything, so nothing is waited for, released or lost. Those two check for a lock
// that no addition is lost; these tests check it for a stock.

func stock(t testing.TB, db *database.DB, pieces int) *sqlversion.Stock {
	require.NoError(t, sqlversion.Prepare(t.Context(), db))
	s := sqlversion.New(db, databasetest.Name(t))
	require.NoError(t, s.Put(t.Context(), pieces))
	return s
}

// sellOut lets more clients buy than there are pieces.
func sellOut(t *testing.T, spec string, pools int) {
	const pieces, buyers = 10, 15
	db := databasetest.Open(t, spec)
	s := stock(t, db, pieces)
	clients := []*database.DB{db}
	for len(clients) < pools {
		clients = append(clients, databasetest.Open(t, spec))
	}
	results := make([]error, buyers)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = sqlversion.On(clients[i%len(clients)], s).Buy(t.Context()) })
	}
	wg.Wait()
	sold := 0
	for _, err := range results {
		if err == nil {
			sold++
			continue
		}
		require.ErrorIs(t, err, sqlversion.ErrSoldOut)
	}
	require.Equal(t, pieces, sold, "buyers that got a piece")
	r, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, sqlversion.Reading{Resource: 0, Version: 1 + pieces}, r)
}

func TestNoPieceIsSoldTwice(t *testing.T) {
	t.Run("buyers that share a pool", func(t *testing.T) { sellOut(t, databasetest.Spec(t), 1) })
	t.Run("buyers with pools of their own", func(t *testing.T) { sellOut(t, databasetest.Spec(t), 3) })
}

// The article's schedule: two clients read before either writes. If they write
// what they computed from what they read, both sell and the stock shrinks by one.
// The article's own statement computes on the server:
// TestTheArticlesUpdateLosesNothingAndSellsTooMuch plays it.
func TestWithoutTheVersionAPieceIsSoldTwice(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t))
	take := map[string]func(id string, r sqlversion.Reading) (int64, error){
		"a value computed from what was read": func(id string, r sqlversion.Reading) (int64, error) {
			return db.Exec(t.Context(), "UPDATE zklock_version SET resource = ? WHERE id = ?", r.Resource-1, id)
		},
		"with the version": func(id string, r sqlversion.Reading) (int64, error) {
			return db.Exec(t.Context(), "UPDATE zklock_version SET resource = ?, version = version + 1 WHERE id = ? AND version = ?", r.Resource-1, id, r.Version)
		},
	}
	for name, want := range map[string]int64{"a value computed from what was read": 2, "with the version": 1} {
		t.Run(name, func(t *testing.T) {
			s := stock(t, db, 20)
			a, err := s.Read(t.Context())
			require.NoError(t, err)
			b, err := s.Read(t.Context())
			require.NoError(t, err)
			rowsA, err := take[name](sqlversion.ID(s), a)
			require.NoError(t, err)
			rowsB, err := take[name](sqlversion.ID(s), b)
			require.NoError(t, err)
			require.Equal(t, want, rowsA+rowsB, "clients that sold")
			r, err := s.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, 19, r.Resource)
		})
	}
}

// A client that was paused between reading and writing changes nothing: there
// is nothing like bug E1 here.
func TestAPausedClientDoesNotWriteLate(t *testing.T) {
	s := stock(t, databasetest.Open(t, databasetest.Spec(t)), 20)
	paused, err := s.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Buy(t.Context()))
	taken, err := s.Take(t.Context(), paused)
	require.NoError(t, err)
	require.False(t, taken)
	require.EqualValues(t, 1, s.Attempts())
}

// A timestamp in place of the version, in whole seconds: two updates within one
// second have the same one.
func TestATimestampForAVersionLosesUpdates(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t))
	s := stock(t, db, 20)
	id := sqlversion.ID(s)
	const second = 1700000000 // in which all of this happens
	write := func(resource int) int64 {
		rows, err := db.Exec(t.Context(), "UPDATE zklock_version SET resource = ?, version = ? WHERE id = ? AND version = ?", resource, second, id, second)
		require.NoError(t, err)
		return rows
	}
	_, err := db.Exec(t.Context(), "UPDATE zklock_version SET version = ? WHERE id = ?", second, id)
	require.NoError(t, err)
	a, err := s.Read(t.Context())
	require.NoError(t, err)
	b, err := s.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, write(a.Resource-1))
	require.EqualValues(t, 1, write(b.Resource-1))
	r, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, 19, r.Resource, "after two sales")
}

func TestStocksWhoseNamesDifferInCaseOrABlankAreTwo(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t))
	require.NoError(t, sqlversion.Prepare(t.Context(), db))
	name := databasetest.Name(t)
	for _, end := range []string{"x", "X", "x "} {
		require.NoError(t, sqlversion.New(db, name+end).Put(t.Context(), 1))
	}
	require.NoError(t, sqlversion.New(db, name+"x").Buy(t.Context()))
	require.NoError(t, sqlversion.New(db, name+"X").Buy(t.Context()))
}

func TestBuyEndsWithItsContext(t *testing.T) {
	s := stock(t, databasetest.Open(t, databasetest.Spec(t)), 20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Buy(ctx)
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
	r, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, 20, r.Resource)
}

// The cost that the package's comment states.
func TestAPieceCostsTwoStatements(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t))
	s := stock(t, db, 20)
	before := db.Statements()
	require.NoError(t, s.Buy(t.Context()))
	require.EqualValues(t, 2, db.Statements()-before)
	require.EqualValues(t, 1, s.Attempts())
}
