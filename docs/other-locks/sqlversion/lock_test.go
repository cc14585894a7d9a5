// No case of the suite applies but the two about one at a time: nobody holds anything, so nothing is waited for,
// released or lost. Those two check for a lock that no addition is lost; these tests check it for a stock.
package sqlversion_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlversion"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/testenv"
)

func stock(t testing.TB, db *database.DB, pieces int) (s *sqlversion.Stock, id string) {
	require.NoError(t, sqlversion.Prepare(t.Context(), db))
	id = suite.Name()
	s = sqlversion.New(db, id)
	require.NoError(t, s.Put(t.Context(), pieces))
	return s, id
}

func read(t testing.TB, s *sqlversion.Stock) sqlversion.Reading {
	t.Helper()
	return testenv.Must(s.Read(t.Context()))(t)
}

// More buyers come than there are pieces. Those of a third share a pool.
func TestNoPieceIsSoldTwice(t *testing.T) {
	const pieces, buyers = 10, 15
	spec := databasetest.Spec(t)
	open := func() *database.DB { return databasetest.Open(t, spec, database.FewConns) }
	clients := []*database.DB{open(), open(), open()}
	s, id := stock(t, clients[0], pieces)
	results := make([]error, buyers)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = sqlversion.New(clients[i%len(clients)], id).Buy(t.Context()) })
	}
	wg.Wait()
	results = slices.DeleteFunc(results, func(err error) bool { return errors.Is(err, sqlversion.ErrSoldOut) })
	require.Equal(t, make([]error, pieces), results, "of the buyers that got a piece")
	require.Equal(t, sqlversion.Reading{Resource: 0, Version: 1 + pieces}, read(t, s))
}

// The article's schedule: two clients read before either writes. If they write what they computed from what they read,
// both sell and the stock shrinks by one. With the version the late one changes nothing: there is nothing like bug E1
// here. The article's own statement computes on the server: TestTheArticlesUpdateLosesNothingAndSellsTooMuch plays it.
func TestWithoutTheVersionAPieceIsSoldTwice(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t), database.FewConns)
	for name, c := range map[string]struct {
		take  func(id string, r sqlversion.Reading) (bool, error)
		twice bool
	}{
		"a value computed from what was read": {func(id string, r sqlversion.Reading) (bool, error) {
			rows, err := db.Exec(t.Context(), "UPDATE zklock_version SET resource = ? WHERE id = ?", r.Resource-1, id)
			return rows == 1, err
		}, true},
		"with the version": {func(id string, r sqlversion.Reading) (bool, error) {
			return sqlversion.New(db, id).Take(t.Context(), r)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, id := stock(t, db, 20)
			a, b := read(t, s), read(t, s)
			require.True(t, testenv.Must(c.take(id, a))(t))
			require.Equal(t, c.twice, testenv.Must(c.take(id, b))(t))
			require.Equal(t, 19, read(t, s).Resource)
		})
	}
}

// A timestamp in place of the version, in whole seconds: two updates within one second have the same one.
func TestATimestampForAVersionLosesUpdates(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t), database.FewConns)
	s, id := stock(t, db, 20)
	const second = 1700000000 // in which all of this happens
	write := func(resource int) int64 {
		const update = "UPDATE zklock_version SET resource = ?, version = ? WHERE id = ? AND version = ?"
		return testenv.Must(db.Exec(t.Context(), update, resource, second, id, second))(t)
	}
	testenv.Must(db.Exec(t.Context(), "UPDATE zklock_version SET version = ? WHERE id = ?", second, id))(t)
	a, b := read(t, s), read(t, s)
	require.EqualValues(t, 1, write(a.Resource-1))
	require.EqualValues(t, 1, write(b.Resource-1))
	require.Equal(t, 19, read(t, s).Resource, "after two sales")
}

// The cost that the README states.
func TestAPieceCostsTwoStatements(t *testing.T) {
	db := databasetest.Open(t, databasetest.Spec(t), database.FewConns)
	s, _ := stock(t, db, 20)
	before := db.Statements()
	require.NoError(t, s.Buy(t.Context()))
	require.EqualValues(t, 2, db.Statements()-before)
	require.EqualValues(t, 1, s.Attempts())
}
