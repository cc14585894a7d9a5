package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// grace is the time in which a server must end a statement whose ctx has ended, or a transaction; then
// the connection is closed.
const grace = 2 * time.Second

// mysqlConn is the API that database/sql needs of the driver's connections.
type mysqlConn interface {
	driver.Conn
	driver.Pinger
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// A session is a connection to MariaDB.
type session struct {
	mysqlConn
	id      string  // the server's number for it
	control *sql.DB // one connection, to end statements on the others
}

// A connector makes sessions.
type connector struct {
	driver.Connector
	control *sql.DB
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{mysqlConn: conn.(mysqlConn), control: c.control}
	if s.id, err = s.text(ctx, "SELECT CONCAT(CONNECTION_ID())"); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// text reads one text.
func (s *session) text(ctx context.Context, query string) (string, error) {
	rows, err := s.mysqlConn.QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s", value[0]), nil
}

func (s *session) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	_, err := s.mysqlConn.BeginTx(ctx, options)
	return mysqlTx{ctx, s}, err
}

// A mysqlTx is a transaction whose COMMIT ends with the ctx of BeginTx, as pgx's
// does. The driver's own waits for a server that is silent without an end.
type mysqlTx struct {
	ctx     context.Context
	session *session
}

func (tx mysqlTx) Commit() error {
	_, err := tx.session.mysqlConn.ExecContext(tx.ctx, "COMMIT", nil)
	return err
}

func (tx mysqlTx) Rollback() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tx.ctx), grace)
	defer cancel()
	_, err := tx.session.mysqlConn.ExecContext(ctx, "ROLLBACK", nil)
	return err
}

// run runs a statement with a ctx of its own. When the caller's ctx ends, the server is asked to end the statement, and
// the answer is awaited for as long as grace: MariaDB does not notice that a client has gone until it answers, and
// would carry out later what waits. stop must be called once all of the answer is read; it returns when nothing more is
// sent.
func run[T any](ctx context.Context, s *session, do func(context.Context) (T, error)) (value T, stop func(), err error) {
	if err := ctx.Err(); err != nil {
		return value, func() {}, err
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	returned, asked := make(chan struct{}), make(chan struct{}) // closed when do has returned, and after the last request
	detach := context.AfterFunc(ctx, func() {
		defer close(asked)
		defer cancel()
		s.askToEnd(returned)
	})
	value, err = do(own)
	close(returned)
	return value, func() {
		if ctxHasEnded := !detach(); ctxHasEnded {
			<-asked
		}
		cancel()
	}, err
}

// askToEnd asks the server to end the statement, until that has returned or grace is over.
func (s *session) askToEnd(returned <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for {
		select {
		case <-returned:
			return
		default:
		}
		s.control.ExecContext(ctx, "KILL QUERY "+s.id) // the first may come before the statement
		select {
		case <-returned:
		case <-ctx.Done():
			return
		case <-time.After(grace / 100):
		}
	}
}

func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, stop, err := run(ctx, s, func(ctx context.Context) (driver.Result, error) {
		return s.mysqlConn.ExecContext(ctx, query, args)
	})
	stop()
	return result, err
}

func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, stop, err := run(ctx, s, func(ctx context.Context) (driver.Rows, error) {
		return s.mysqlConn.QueryContext(ctx, query, args)
	})
	if err != nil {
		stop()
		return nil, err
	}
	return answer{rows, stop}, nil
}

// An answer is the rows of a statement, whose ctx lives until they are read.
type answer struct {
	driver.Rows
	stop func()
}

func (a answer) Close() error {
	defer a.stop()
	return a.Rows.Close()
}
