package sqlversion_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlversion"
	"example.com/zklock/internal/testenv"
)

// No case of the suite applies but the two about one at a time: nobody holds
// anything, so nothing is waited for, released or lost. Those two check for a lock
// that no addition is lost; these tests check it for a stock.

func stock(t testing.TB, db *database.DB, pieces int) *sqlversion.Stock {
	require.NoError(t, sqlversion.Prepare(t.Context(), db))
	s := sqlversion.New(db, databasetest.Name(t))
	require.NoError(t, s.Put(t.Context(), pieces))
	return s
}

func read(t testing.TB, s *sqlversion.Stock) sqlversion.Reading {
	t.Helper()
	r := testenv.Must(s.Read(t.Context()))(t)
	return r
}

// More buyers come than there are pieces. Those of a third share a pool.
func TestNoPieceIsSoldTwice(t *testing.T) {
	const pieces, buyers = 10, 15
	spec := databasetest.Spec(t)
	clients := []*database.DB{databasetest.Open(t, spec), databasetest.Open(t, spec), databasetest.Open(t, spec)}
	s := stock(t, clients[0], pieces)
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
	require.Equal(t, sqlversion.Reading{Resource: 0, Version: 1 + pieces}, read(t, s))
}

// The article's schedule: two clients read before either writes. If they write
// what they computed from what they read, both sell and the stock shrinks by one.
// With the version the late one changes nothing: there is nothing like bug E1 here.
// The article's own statement computes on the server:
// TestTheArticlesUpdateLosesNothingAndSellsTooMuch plays it.
func TestWithoutTheVersionAPieceIsSoldTwice(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t))
	for name, c := range map[string]struct {
		take  func(s *sqlversion.Stock, r sqlversion.Reading) (bool, error)
		twice bool
	}{
		"a value computed from what was read": {func(s *sqlversion.Stock, r sqlversion.Reading) (bool, error) {
			rows, err := db.Exec(t.Context(), "UPDATE zklock_version SET resource = ? WHERE id = ?", r.Resource-1, sqlversion.ID(s))
			return rows == 1, err
		}, true},
		"with the version": {func(s *sqlversion.Stock, r sqlversion.Reading) (bool, error) { return s.Take(t.Context(), r) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := stock(t, db, 20)
			a, b := read(t, s), read(t, s)
			sold := testenv.Must(c.take(s, a))(t)
			require.True(t, sold)
			again := testenv.Must(c.take(s, b))(t)
			require.Equal(t, c.twice, again)
			require.Equal(t, 19, read(t, s).Resource)
		})
	}
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
	testenv.Must(db.Exec(t.Context(), "UPDATE zklock_version SET version = ? WHERE id = ?", second, id))(t)
	a, b := read(t, s), read(t, s)
	require.EqualValues(t, 1, write(a.Resource-1))
	require.EqualValues(t, 1, write(b.Resource-1))
	require.Equal(t, 19, read(t, s).Resource, "after two sales")
}

// The cost that the README states.
func TestAPieceCostsTwoStatements(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t))
	s := stock(t, db, 20)
	before := db.Statements()
	require.NoError(t, s.Buy(t.Context()))
	require.EqualValues(t, 2, db.Statements()-before)
	require.EqualValues(t, 1, s.Attempts())
}
