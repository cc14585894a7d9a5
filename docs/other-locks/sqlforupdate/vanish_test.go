package sqlforupdate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/sqlforupdate"
	"example.com/zklock/internal/proxy"
)

// The holder's machine vanishes: no packet comes from it any more, not even the one
// that ends a connection. The server does not know that, and holds the row. With a
// limit on how long a transaction may be idle it rolls back.
func TestAMachineThatVanishesHoldsTheRow(t *testing.T) {
	spec := server(t)
	e := exhibit.New(t, "O6", "MariaDB or PostgreSQL", "A", "B")
	line, via := databasetest.Via(t, spec)
	db, client, name := open(t, spec, 4), open(t, via, 4), name(t)
	const lock = "SELECT … FOR UPDATE"
	vanish := func(idle string) {
		a := sqlforupdate.New(client, name)
		require.NoError(t, a.Lock(t.Context()))
		e.Does("A", lock, "ok")
		e.Note("A", "holds the lock")
		if idle != "" {
			_, err := a.Tx().Exec(idle)
			require.NoError(t, err)
			e.Does("A", "a limit on idle transactions", "1 s")
		}
		line.Silence(proxy.ToServer, proxy.ToClient)
		e.Note("A", "vanishes")
	}
	b := sqlforupdate.New(db, name)

	vanish("")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	e.Waits("B", lock)
	require.ErrorIs(t, b.Lock(ctx), context.DeadlineExceeded)
	e.Note("B", "has waited until its ctx ended")

	line.CutOff()
	require.NoError(t, b.Lock(t.Context()))
	require.NoError(t, b.Unlock(t.Context()))
	line.Heal()
	e.Note("S", "the server is told: the connection is closed, and the row is free")

	client = open(t, via, 4)
	vanish(map[database.Kind]string{
		database.PostgreSQL: "SET idle_in_transaction_session_timeout = '1s'",
		database.MariaDB:    "SET SESSION idle_transaction_timeout = 1",
	}[db.Kind])
	e.Waits("B", lock)
	require.NoError(t, b.Lock(t.Context()))
	e.Note("S", "after 1 s the server rolls back")
	e.Answer("B", "ok")
	require.NoError(t, b.Unlock(t.Context()))
	line.CutOff()
}
