// Tests of specs, of errors, and of names in a table.
package database_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/testenv"
)

func TestAPasswordIsNotShown(t *testing.T) {
	for spec, want := range map[string]string{
		"postgres://u:secret@h:1/db":             "postgres://u:xxxxx@h:1/db",
		"mysql://u:secret%zz@h:1/db":             "mysql://u:xxxxx@h:1/db",
		"mysql://u:sec#ret@h:1/db":               "mysql://u:xxxxx@h:1/db",
		"mysql://u:sec@re:t@h:1/db":              "mysql://u:xxxxx@h:1/db",
		"mysql://u@h:1/db":                       "mysql://u@h:1/db",
		"postgres://h/db?user=u&password=secret": "postgres://h/db?user=u&password=xxxxx",
		"sqlite:a@b:c.db":                        "sqlite:a@b:c.db",
		"embedded":                               "embedded",
	} {
		require.Equal(t, want, database.Redacted(spec))
	}
}

// Each is one line that does not quote the password and says what to do.
func TestASpecThatIsWrong(t *testing.T) {
	for spec, want := range map[string]string{
		"mysql://u:secret%zz@127.0.0.1:1/db":       "written %25",
		"mysql://u:sec#ret@127.0.0.1:1/db":         "written %25",
		"postgres://u:secret%zz@127.0.0.1:1/db":    "invalid percent-encoded token in password",
		"mysql://u:secret@127.0.0.1:1/db?tls=true": "options after a question mark are not supported",
		"sqlite:":                          "it names no file",
		"oracle://u:secret@127.0.0.1:1/db": "no database: it is embedded, sqlite:FILE, postgres://… or mysql://…",
	} {
		_, err := database.Open(t.Context(), spec, database.FewConns)
		require.ErrorContains(t, err, want, spec)
		require.NotContains(t, err.Error(), "sec", spec)
		require.NotContains(t, err.Error(), "%zz", spec)
		require.NotContains(t, err.Error(), "\n")
	}
}

// MariaDB compares texts without regard to case and to blanks at the end, unless the column says
// else, as those of the locks' names do.
func TestNamesThatDifferAreRowsOfTheirOwn(t *testing.T) {
	db, name := databasetest.Open(t, databasetest.Spec(t), database.FewConns), suite.Name()
	require.ErrorContains(t, db.CreateTable(t.Context(), "zklock_none", "name VARCHAR(64)"), "no column of type {name}")
	require.NoError(t, db.CreateTable(t.Context(), "zklock_names", "name {name} NOT NULL PRIMARY KEY"))
	insert := func(end string) error {
		_, err := db.Exec(t.Context(), "INSERT INTO zklock_names (name) VALUES (?)", name+end)
		return err
	}
	for _, end := range []string{"x", "X", "x ", "é", "e"} {
		require.NoError(t, insert(end), "%q", end)
		require.True(t, database.IsDuplicate(insert(end)), "%q", end)
	}
}

// A server that accepts and says nothing: MariaDB's client waits for its first word.
func TestAServerThatSaysNothing(t *testing.T) {
	suite.Set(t, database.ConnectTimeout, 50*time.Millisecond)
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	_, err := database.Open(t.Context(), "mysql://u:secret@"+listener.Addr().String()+"/db", database.FewConns)
	require.ErrorContains(t, err, "no answer within 50ms")
	require.False(t, strings.Contains(err.Error(), "secret"))
}
