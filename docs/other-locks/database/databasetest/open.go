// Package databasetest opens the database that tests run on.
package databasetest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/faults"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
)

// In tests SQLite starts often and does little: the interpreter starts at once, and compiling takes a second.
func init() {
	sqlite3.RuntimeConfig = wazero.NewRuntimeConfigInterpreter()
	callBeforePart := func() {
		if act := beforePart.Load(); act != nil {
			(*act)()
		}
	}
	sqlite3.AutoExtension(func(c *sqlite3.Conn) error {
		c.CommitHook(func() bool { callBeforePart(); return true })
		return c.SetAuthorizer(func(sqlite3.AuthorizerActionCode, string, string, string, string) sqlite3.AuthorizerReturnCode {
			callBeforePart()
			return sqlite3.AUTH_OK
		})
	})
}

var beforePart atomic.Pointer[func()] // called whenever SQLite is about to begin a part of a statement, or to commit

// Statement is that of a suite's subject; nil unless the spec is SQLite's.
func Statement(spec string) func(n int, act func()) (came func() bool) {
	if !database.IsSQLite(spec) {
		return nil
	}
	return func(n int, act func()) func() bool {
		var begun atomic.Int32
		statement := func() {
			if int(begun.Add(1)) == n {
				act()
			}
		}
		beforePart.Store(&statement)
		return func() bool { return int(begun.Load()) >= n }
	}
}

// Spec is what the environment variable SQL names, as for database.Open; without
// it, a SQLite database in memory that lives as long as the test.
func Spec(t testing.TB) string {
	if spec := os.Getenv("SQL"); spec != "" && spec != database.Embedded {
		return spec
	}
	db := testenv.Must(database.Open(context.Background(), database.Embedded, database.FewConns))(t)
	t.Cleanup(func() { db.Close() })
	return db.Spec
}

// Open opens the database with that spec until the test ends.
func Open(t testing.TB, spec string, conns int) *database.DB {
	db := testenv.Must(database.Open(t.Context(), spec, conns))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

// OpenOn opens the database that SQL names, and skips a test that is about others.
func OpenOn(t testing.TB, conns int, kinds ...database.Kind) *database.DB {
	db := Open(t, Spec(t), conns)
	if !slices.Contains(kinds, db.Kind) {
		t.Skipf("it is about %v: SQL=postgres://… (Debian: postgresql) or mysql://… (mariadb-server)", kinds)
	}
	return db
}

// Via is a spec of the same database by way of a proxy. It skips a test that runs on SQLite.
func Via(t testing.TB, spec string) (*proxy.Proxy, string) {
	if database.IsSQLite(spec) {
		t.Skip("SQLite is part of the process, so there is no line that could break: " +
			"SQL=postgres://… (Debian: postgresql) or mysql://… (mariadb-server)")
	}
	u := testenv.Must(url.Parse(spec))(t)
	mysql, defaultPort := u.Scheme == "mysql" || u.Scheme == "mariadb", "5432"
	if mysql {
		defaultPort = "3306"
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), defaultPort)
	}
	line := proxy.New(t, u.Host)
	u.Host = line.Addr()
	if !mysql { // in plain text
		u.RawQuery = "sslmode=disable"
	}
	return line, u.String()
}

// Bouncer is a spec of the database in SQL by way of Debian's pgbouncer in transaction mode, in which each transaction
// gets a connection of its own. It skips a test on another database.
func Bouncer(t testing.TB) string {
	u := testenv.Must(url.Parse(Spec(t)))(t)
	if u.Scheme != "postgres" {
		t.Skip("pgbouncer is for PostgreSQL: SQL=postgres://…")
	}
	servers.Needs(t, "pgbouncer", "pgbouncer", "SQL")
	password, _ := u.User.Password()
	settings := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s password=%s\n",
		u.Hostname(), u.Port(), u.User.Username(), password)
	u.Host = testenv.Must(servers.FreeAddr())(t)
	settings += fmt.Sprintf("[pgbouncer]\nlisten_addr=%s\nlisten_port=%s\n", u.Hostname(), u.Port()) +
		"unix_socket_dir=\nauth_type=any\npool_mode=transaction\n"
	if os.Getuid() == 0 { // it refuses to run as root
		settings += "user=postgres\n"
	}
	file := filepath.Join(t.TempDir(), "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o644))
	servers.Start(t, func() error {
		db, err := database.Open(t.Context(), u.String(), database.FewConns)
		if err == nil {
			db.Close()
		}
		return err
	}, "pgbouncer", file)
	return u.String()
}

// RequireEnds lets the ctx of a call end while it waits for the row of that name, which another transaction changes.
// Then that one commits, and the server has carried out all that it was sent.
func RequireEnds(t testing.TB, db *database.DB, table, change, name string, call func(ctx context.Context) error) {
	t.Helper()
	late := testenv.Must(db.BeginTx(t.Context(), nil))(t)
	_ = testenv.Must(late.Exec(db.Bind(change), name))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	faults.RequireEnds(t, ctx, context.DeadlineExceeded, "a waiter", call)
	require.NoError(t, late.Commit())
	over := func() bool { return Running(t, db, "%"+table+"%", false) == 0 }
	require.Eventually(t, over, 2*time.Minute, 10*time.Millisecond)
}

// Running is how many statements like this one the server runs for others. On PostgreSQL, waits leaves out those that
// do not wait for a lock.
func Running(t testing.TB, db *database.DB, like string, waits bool) (n int) {
	query := "SELECT count(*) FROM information_schema.processlist WHERE command = 'Query' AND info LIKE ? " +
		"AND id <> connection_id()"
	if db.Kind == database.PostgreSQL {
		query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE ? AND pid <> pg_backend_pid()"
		if waits {
			query += " AND wait_event_type = 'Lock'"
		}
	}
	require.NoError(t, db.Row(context.WithoutCancel(t.Context()), query, like).Scan(&n))
	return n
}
