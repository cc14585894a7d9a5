// The exhibits about isolation in exhibits.md, played on a database.
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

// These are the lines of a diagram that a play needs. A request has its answer behind a colon, or waits.
var (
	requestArrow = regexp.MustCompile(`(\w)->>S: ([^:\n]+)(?:: (.+))?`)
	replyArrow   = regexp.MustCompile(`S-->>(\w): (.+)`)
	countNote    = regexp.MustCompile(`the count is (\d+)`)
	rowName      = regexp.MustCompile(`'(\w+)'`)
)

// A diagramPlay plays the diagram of an exhibit on a server.
type diagramPlay struct {
	*testing.T
	db      *database.DB
	level   sql.IsolationLevel
	own     string                   // the names of its rows begin with this
	clients map[string]*sql.Tx       // by the names in the diagram
	waits   map[string]<-chan string // of the clients that wait, the answers to come
	seen    []string                 // answers of which the page has two, one for each client
}

// play plays an exhibit as the page has it: each arrow is a statement, with the server's answer to it; one without an
// answer waits. The names of the rows are the test's own.
func play(t *testing.T, name string, level sql.IsolationLevel, kinds ...database.Kind) {
	p := &diagramPlay{T: t, db: databasetest.OpenOn(t, 8, kinds...), level: level, own: suite.Name(),
		clients: make(map[string]*sql.Tx), waits: make(map[string]<-chan string)}
	const columns = "id {name} NOT NULL PRIMARY KEY, value INTEGER NOT NULL"
	require.NoError(t, p.db.CreateTable(t.Context(), "zklock_exhibit", columns))
	for _, row := range []string{"-lock", "-stock"} {
		testenv.Must(p.db.Exec(t.Context(), "INSERT INTO zklock_exhibit (id, value) VALUES (?, 0)", p.own+row))(t)
	}

	for _, line := range exhibit.Lines(t, name) {
		if m := countNote.FindStringSubmatch(line); m != nil {
			p.requireCount(line, m[1])
		} else if m := replyArrow.FindStringSubmatch(line); m != nil {
			client, want := m[1], m[2]
			p.requireAnswer(line, want, <-p.waits[client])
		} else if m := requestArrow.FindStringSubmatch(line); m != nil {
			p.request(line, m[1], m[2], m[3])
		}
	}
}

// request sends a statement of a client. If the diagram has no answer to it, the statement must wait.
func (p *diagramPlay) request(line, client, statement, want string) {
	if statement == "BEGIN" {
		tx := testenv.Must(p.db.BeginTx(p.Context(), &sql.TxOptions{Isolation: p.level}))(p)
		p.Cleanup(func() { tx.Rollback() })
		p.clients[client] = tx
		return
	}
	tx, answer := p.clients[client], make(chan string, 1)
	query := rowName.ReplaceAllString(statement, "'"+p.own+"-${1}'")
	go func() { answer <- ask(tx, query) }()
	if want != "" {
		p.requireAnswer(line, want, <-answer)
		return
	}
	waits := func() bool { return databasetest.Running(p, p.db, "%zklock_exhibit%", true) > 0 }
	require.Eventually(p, waits, 2*time.Minute, 10*time.Millisecond, line)
	p.waits[client] = answer
}

// requireAnswer compares an answer of the server with the diagram's. Where that has two, "x or y", each client gets one.
func (p *diagramPlay) requireAnswer(line, want, got string) {
	if !strings.Contains(want, " or ") {
		require.Equal(p, want, got, line)
		return
	}
	require.Contains(p, want, strings.TrimPrefix(got, "error "), line)
	require.NotContains(p, p.seen, got, line)
	p.seen = append(p.seen, got)
}

func (p *diagramPlay) requireCount(line, want string) {
	var count string
	require.NoError(p, p.db.Row(p.Context(), "SELECT value FROM zklock_exhibit WHERE id = ?", p.own+"-stock").Scan(&count))
	require.Equal(p, want, count, line)
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

// At READ COMMITTED, and on PostgreSQL at both levels, nothing is locked: the insert decides.
func TestAMissingRowLocksNothing(t *testing.T) {
	play(t, "O5", sql.LevelReadCommitted, database.PostgreSQL, database.MariaDB)
	t.Run("PostgreSQL at REPEATABLE READ", func(t *testing.T) { play(t, "O5", sql.LevelRepeatableRead, database.PostgreSQL) })
}
