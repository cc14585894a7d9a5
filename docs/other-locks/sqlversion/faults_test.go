package sqlversion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlversion"
)

// The reply to the update is lost. The piece is taken, and the buyer has no reply
// that says so: Buy sends nothing again. A buyer that does so itself buys twice.
func TestAfterALostReplyThePieceMayBeTaken(t *testing.T) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	s := stock(t, databasetest.Open(t, spec), 20)
	buyer := sqlversion.On(databasetest.Open(t, via), s)
	updates := line.LoseReply("UPDATE zklock_version", nil)
	require.ErrorIs(t, buyer.Buy(t.Context()), database.ErrNoReply)
	require.Equal(t, 1, updates())
	require.Equal(t, sqlversion.Reading{Resource: 19, Version: 2}, read(t, s))

	require.NoError(t, buyer.Buy(t.Context()))
	require.Equal(t, 18, read(t, s).Resource, "one buyer, that wanted one piece")
}
