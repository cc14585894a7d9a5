package sqlforupdate_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlforupdate"
)

func write(t testing.TB, db *database.DB, holder *sqlforupdate.Lock, name, text string) error {
	_, err := holder.Tx().ExecContext(t.Context(), db.Bind("UPDATE zklock_forupdate SET description = ? WHERE name = ?"), text, name)
	return err
}

func written(t testing.TB, db *database.DB, name string) string {
	var text sql.NullString
	require.NoError(t, db.Row(t.Context(), "SELECT description FROM zklock_forupdate WHERE name = ?", name).Scan(&text))
	return text.String
}

// The reply to the SELECT is lost. The row is locked by a connection that is
// gone, so the server rolls back, and the next one gets in.
func TestALostReplyToTheSelectLocksNobodyOut(t *testing.T) {
	spec := server(t)
	line, via := databasetest.Via(t, spec)
	name := name(t)
	l, next := sqlforupdate.New(open(t, via, 4), name), sqlforupdate.New(open(t, spec, 4), name)
	selects := line.LoseReply("FOR UPDATE", nil)
	require.ErrorIs(t, l.Lock(t.Context()), database.ErrNoReply)
	require.Equal(t, 1, selects())
	require.ErrorIs(t, l.Unlock(t.Context()), sqlforupdate.ErrNotLocked)
	require.NoError(t, next.Lock(t.Context()))
	require.NoError(t, next.Unlock(t.Context()))
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
}

// The holder sees the same error whether its COMMIT came and the reply was lost,
// or the connection broke before: ErrNotLocked, which is certain, and ErrNoReply, so
// that what it wrote may be there or not.
func TestALostReplyToTheCommitLeavesTheWriteInDoubt(t *testing.T) {
	for what, c := range map[string]struct {
		arrives bool
		want    string
	}{
		"the reply is lost":           {true, "new"},
		"the COMMIT does not come in": {false, "old"},
	} {
		t.Run(what, func(t *testing.T) {
			spec := server(t)
			line, via := databasetest.Via(t, spec)
			db, client, name := open(t, spec, 4), open(t, via, 4), name(t)
			l, next := sqlforupdate.New(client, name), sqlforupdate.New(db, name)
			require.NoError(t, l.Lock(t.Context()))
			require.NoError(t, write(t, client, l, name, "old"))
			require.NoError(t, l.Unlock(t.Context()))

			require.NoError(t, l.Lock(t.Context()))
			require.NoError(t, write(t, client, l, name, "new"))
			if c.arrives {
				commits := line.LoseReply("COMMIT", nil)
				defer func() { require.Equal(t, 1, commits()) }()
			} else {
				line.Sever()
			}
			err := l.Unlock(t.Context())
			require.ErrorIs(t, err, sqlforupdate.ErrNotLocked)
			require.ErrorIs(t, err, database.ErrNoReply)
			require.NoError(t, next.Lock(t.Context()), "nobody holds it")
			require.Equal(t, c.want, written(t, db, name))
			require.NoError(t, next.Unlock(t.Context()))
		})
	}
}

// The server goes away and comes back. The proxy plays that: it ends all
// connections and refuses new ones, while the database itself runs on. As in a true
// restart all transactions are over, so the holder has lost the lock and can
// write nothing more with it.
func TestTheHolderLosesTheLockWhenTheServerGoesAway(t *testing.T) {
	spec := server(t)
	line, via := databasetest.Via(t, spec)
	db, client, name := open(t, spec, 4), open(t, via, 4), name(t)
	holder, waiter := sqlforupdate.New(client, name), sqlforupdate.New(client, name)
	require.NoError(t, holder.Lock(t.Context()))
	require.NoError(t, write(t, client, holder, name, "early"))
	waits := make(chan error, 1)
	go func() { waits <- waiter.Lock(context.WithoutCancel(t.Context())) }()
	require.Eventually(t, func() bool { return waiter.Attempts() > 0 }, 2*time.Minute, time.Millisecond)

	line.CutOff()
	require.ErrorIs(t, <-waits, database.ErrNoReply, "the waiter is told, and does not wait on")
	next := sqlforupdate.New(db, name)
	require.NoError(t, next.Lock(t.Context()), "another client gets in, once the server knows")
	require.Error(t, write(t, client, holder, name, "late"))
	require.ErrorIs(t, holder.Unlock(t.Context()), sqlforupdate.ErrNotLocked)
	require.Empty(t, written(t, db, name))
	require.NoError(t, next.Unlock(t.Context()))

	line.Heal()
	require.NoError(t, databasetest.WhileNoReply(t, func() error { return waiter.Lock(t.Context()) }))
	require.NoError(t, waiter.Unlock(t.Context()))
}
