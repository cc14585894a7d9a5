package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"

	"example.com/zklock/docs/other-locks/limits"
)

// ErrNoReply says that the connection to the server broke, or could not be made, before its reply came. Whether the
// server has done what the statement asks is unknown; a server that still has the connection's transaction open rolls
// it back. A statement with parameters is not sent again; pgx may send one without parameters again.
var ErrNoReply = errors.New("no reply from the database, which may have done what was asked")

// IsDuplicate reports whether a row with the same key exists.
func IsDuplicate(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) || errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY) ||
		Code(err) == "23505" || Code(err) == "1062"
}

// IsDeadlock reports whether the database has ended this transaction so that another one could go on. On MariaDB that
// happens to an insert: one that fails because the row exists leaves a shared lock on it, and two that wait for the
// deletion of the same row both get that lock, and then wait for each other. On PostgreSQL it happens also at a level
// above READ COMMITTED, if the server was set to one.
func IsDeadlock(err error) bool {
	return slices.Contains([]string{"1213", "40P01", "40001"}, Code(err))
}

// IsHeld reports whether another transaction has not released a row in time.
func IsHeld(err error) bool {
	return Code(err) == "1205" || Code(err) == "55P03" || errors.Is(err, sqlite3.BUSY)
}

// Code is a server's code of an error, "" for others.
func Code(err error) string {
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) {
		return pg.Code
	}
	if my := (*mysql.MySQLError)(nil); errors.As(err, &my) {
		return strconv.Itoa(int(my.Number))
	}
	return ""
}

// Explain adds to a statement's error what the drivers do not say: that the end of ctx has interrupted it, which
// SQLite's error does not have, or ErrNoReply. The text of the result is one line.
func Explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case noReply(err):
		return limits.Explain(ctx, oneLine(err), ErrNoReply)
	}
	return limits.Explain(ctx, oneLine(err), nil)
}

// IsAnswer reports whether an error is the database's own: the statement has left nothing.
func IsAnswer(err error) bool { return Code(err) != "" || errors.As(err, new(*sqlite3.Error)) }

// noReply reports whether an error is the connection's and not the server's.
func noReply(err error) bool {
	if Code(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	broken := []error{driver.ErrBadConn, pgconn.ErrConnClosed, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed}
	return errors.As(err, new(*net.OpError)) || slices.ContainsFunc(broken, func(target error) bool { return errors.Is(err, target) })
}

// oneLine is an error whose text is one line.
func oneLine(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return fmt.Errorf("%s%.0w", text, err) // of err itself it prints nothing
}
