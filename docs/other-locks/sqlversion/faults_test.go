// Tests of what Buy does when the line to the database breaks, or a ctx ends.
package sqlversion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlversion"
)

// Another transaction has the row when the ctx ends in which Buy waits for it: the update is not carried out later.
func TestAPieceIsNotTakenAfterTheEndOfCtx(t *testing.T) {
	db := databasetest.OpenOn(t, database.FewConns, database.PostgreSQL, database.MariaDB)
	s, id := stock(t, db, 20)
	databasetest.RequireEnds(t, db, "zklock_version", "UPDATE zklock_version SET resource = resource WHERE id = ?", id, s.Buy)
	require.Equal(t, 20, read(t, s).Resource)
}

// The reply to the update is lost. The piece is taken, and the buyer has no reply
// that says so: Buy sends nothing again. A buyer that does so itself buys twice.
func TestAfterALostReplyThePieceMayBeTaken(t *testing.T) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	s, id := stock(t, databasetest.Open(t, spec, database.FewConns), 20)
	buyer := sqlversion.New(databasetest.Open(t, via, database.FewConns), id)
	updates := line.LoseReply("UPDATE zklock_version", nil)
	require.ErrorIs(t, buyer.Buy(t.Context()), database.ErrNoReply)
	require.Equal(t, 1, updates())
	require.Equal(t, sqlversion.Reading{Resource: 19, Version: 2}, read(t, s))

	require.NoError(t, buyer.Buy(t.Context()))
	require.Equal(t, 18, read(t, s).Resource, "one buyer, that wanted one piece")
}
