package sqlforupdate_test

import (
	"context"
	"flag"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/faults"
	"example.com/zklock/docs/other-locks/sqlforupdate"
	"example.com/zklock/internal/proxy"
)

var vanishFor = flag.Duration("vanish.for", 3*time.Second, "the time that a waiter waits for the row of a machine that has vanished")

// firstLimit is how soon a server, as it is configured, ends a transaction whose client is
// silent, and which of its settings says so. 0 switches a limit off; of TCP's keepalive it
// means the system's.
func firstLimit(t *testing.T, db *database.DB) (first time.Duration, setting string) {
	settings := map[string]string{ // → query, in seconds
		"wait_timeout":                   "SELECT @@wait_timeout",
		"idle_transaction_timeout":       "SELECT @@idle_transaction_timeout",
		"idle_write_transaction_timeout": "SELECT @@idle_write_transaction_timeout",
		"tcp_keepalive_time":             "SELECT @@tcp_keepalive_time",
	}
	if db.Kind == database.PostgreSQL {
		settings = make(map[string]string)
		for name, unit := range map[string]string{"idle_in_transaction_session_timeout": "1000.0", "tcp_user_timeout": "1000.0", "tcp_keepalives_idle": "1"} {
			settings[name] = "SELECT setting::bigint / " + unit + " FROM pg_settings WHERE name = '" + name + "'"
		}
	}
	first = 1<<63 - 1
	limit := func(name string, seconds float64) {
		if d := time.Duration(seconds * float64(time.Second)); d > 0 && d < first {
			first, setting = d, name
		}
	}
	for name, query := range settings {
		var seconds float64
		require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&seconds), name)
		limit(name, seconds)
	}
	u, err := url.Parse(db.Spec())
	require.NoError(t, err)
	const system = "/proc/sys/net/ipv4/tcp_keepalive_time" // of the server only if it is on this machine
	if text, err := os.ReadFile(system); err == nil && net.ParseIP(u.Hostname()).IsLoopback() {
		seconds, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		require.NoError(t, err)
		limit(system, seconds)
	}
	return first, setting
}

// The holder's machine vanishes: no packet comes from it any more, not even the one
// that ends a connection. The server cannot see that, and keeps the row locked.
// With a limit on the idle time of a transaction it rolls back. The test sees B
// wait for -vanish.for; the server's settings show that it would wait for 45 s.
func TestAMachineThatVanishesHoldsTheRow(t *testing.T) {
	spec := server(t)
	e := exhibit.New(t, "O6", "MariaDB or PostgreSQL")
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
	first, setting := firstLimit(t, db)
	require.Greater(t, first, 45*time.Second, "%s would end the transaction", setting)
	t.Logf("the first limit is %s: %v", setting, first)
	e.Note("S", "none of its limits is below 45 s")
	ctx, cancel := context.WithTimeout(t.Context(), *vanishFor)
	defer cancel()
	e.Waits("B", lock)
	require.ErrorIs(t, b.Lock(ctx), context.DeadlineExceeded)
	e.Note("B", "has waited until its ctx ended")

	line.CutOff()
	faults.Round(t, b)
	line.Heal()
	e.Note("S", "the server sees the connection closed, and the row is free")

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
