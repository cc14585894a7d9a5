package sqlforupdate_test

import (
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/testenv"
)

// ask runs a statement, and returns its result or its error's code. A select returns a value.
func ask(tx *sql.Tx, query string) string {
	answer, err := "ok", error(nil)
	switch verb, _, _ := strings.Cut(query, " "); verb {
	case "COMMIT":
		err = tx.Commit()
	case "SELECT":
		err = tx.QueryRow(query).Scan(&answer)
	default:
		_, err = tx.Exec(query)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "no row"
	case err != nil:
		return "error " + database.Code(err)
	}
	return answer
}

var (
	request = regexp.MustCompile(`(\w)->>S: ([^:\n]+)(?:: (.+))?`)
	reply   = regexp.MustCompile(`S-->>(\w): (.+)`)
	total   = regexp.MustCompile(`the count is (\d+)`)
	row     = regexp.MustCompile(`'(\w+)'`)
)

// play plays an exhibit as the page has it: each arrow is a statement, with the server's answer to it; one without an
// answer waits. The names of the rows are the test's own.
func play(t *testing.T, name string, level sql.IsolationLevel, kinds ...database.Kind) {
	db, own := databasetest.On(t, 8, kinds...), suite.Name()
	require.NoError(t, db.CreateTable(t.Context(), "zklock_exhibit", "id {name} NOT NULL PRIMARY KEY, value INTEGER NOT NULL"))
	for _, row := range []string{"-lock", "-stock"} {
		testenv.Must(db.Exec(t.Context(), "INSERT INTO zklock_exhibit (id, value) VALUES (?, 0)", own+row))(t)
	}
	clients, waits := make(map[string]*sql.Tx), make(map[string]<-chan string)
	var seen []string // answers of which the page has two, one for each client
	check := func(line, want, got string) {
		if !strings.Contains(want, " or ") {
			require.Equal(t, want, got, line)
			return
		}
		require.Contains(t, want, strings.TrimPrefix(got, "error "), line)
		require.NotContains(t, seen, got, line)
		seen = append(seen, got)
	}
	for _, line := range exhibit.Lines(t, name) {
		if m := total.FindStringSubmatch(line); m != nil {
			var count string
			require.NoError(t, db.Row(t.Context(), "SELECT value FROM zklock_exhibit WHERE id = ?", own+"-stock").Scan(&count))
			require.Equal(t, m[1], count, line)
		} else if m := reply.FindStringSubmatch(line); m != nil {
			check(line, m[2], <-waits[m[1]])
		} else if m := request.FindStringSubmatch(line); m != nil && m[2] == "BEGIN" {
			tx := testenv.Must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level}))(t)
			t.Cleanup(func() { tx.Rollback() })
			clients[m[1]] = tx
		} else if m != nil {
			tx, query, got := clients[m[1]], row.ReplaceAllString(m[2], "'"+own+"-${1}'"), make(chan string, 1)
			go func() { got <- ask(tx, query) }()
			if m[3] != "" {
				check(line, m[3], <-got)
				continue
			}
			require.Eventually(t, func() bool { return databasetest.Running(t, db, "%zklock_exhibit%", true) > 0 },
				2*time.Minute, 10*time.Millisecond, line)
			waits[m[1]] = got
		}
	}
}

// MariaDB at REPEATABLE READ, its default: the lock excludes, and the read under it
// is as old as the transaction's first read.
func TestALostUpdateUnderTheLock(t *testing.T) {
	play(t, "O1", sql.LevelRepeatableRead, database.MariaDB)
}

// PostgreSQL at REPEATABLE READ reads as old a value, and refuses the update.
func TestPostgreSQLRefusesTheUpdate(t *testing.T) {
	play(t, "O2", sql.LevelRepeatableRead, database.PostgreSQL)
}

// READ COMMITTED, on both servers: each statement reads what is committed.
func TestAtReadCommittedNoUpdateIsLost(t *testing.T) {
	play(t, "O3", sql.LevelReadCommitted, database.PostgreSQL, database.MariaDB)
}

// A row that does not exist, on MariaDB at REPEATABLE READ: what is locked is the gap
// where the row would be, by both, and neither can insert. The server ends one of the two.
func TestAMissingRowAtRepeatableReadIsADeadlock(t *testing.T) {
	play(t, "O4", sql.LevelRepeatableRead, database.MariaDB)
}

// At READ COMMITTED, and on PostgreSQL at both levels, nothing is locked: the
// insert decides.
func TestAMissingRowLocksNothing(t *testing.T) {
	play(t, "O5", sql.LevelReadCommitted, database.PostgreSQL, database.MariaDB)
	t.Run("PostgreSQL at REPEATABLE READ", func(t *testing.T) { play(t, "O5", sql.LevelRepeatableRead, database.PostgreSQL) })
}
