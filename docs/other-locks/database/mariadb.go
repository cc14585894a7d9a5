package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

// grace is the time in which a server must end a statement whose ctx has ended.
const grace = 200 * time.Millisecond

// rollbackTimeout is the time that a rollback may take before the connection is
// closed, which rolls back, too.
const rollbackTimeout = 2 * time.Second

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
	id string // the server's number for it
}

// A connector makes sessions whose settings do not depend on the server's.
type connector struct{ driver.Connector }

func mysqlConnector(cfg *mysql.Config) (driver.Connector, error) {
	c, err := mysql.NewConnector(cfg)
	return connector{c}, err
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{mysqlConn: conn.(mysqlConn)}
	_, err = s.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil)
	if err == nil {
		s.id, err = s.text(ctx, "SELECT CONCAT(CONNECTION_ID())")
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// text reads one text.
func (s *session) text(ctx context.Context, query string) (string, error) {
	rows, err := s.QueryContext(ctx, query, nil)
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
	_, err := tx.session.ExecContext(tx.ctx, "COMMIT", nil)
	return err
}

func (tx mysqlTx) Rollback() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tx.ctx), rollbackTimeout)
	defer cancel()
	_, err := tx.session.ExecContext(ctx, "ROLLBACK", nil)
	return err
}

// EndWith calls end when ctx ends, which must end the statement that conn runs.
// Where a statement waits on in the server's queue although its client has gone, as on
// MariaDB, the server is asked to end it first, and end is called when it has
// returned, or when the server does not answer. Stop ends that, as that of
// context.AfterFunc does; it returns when nothing more is sent.
func (db *DB) EndWith(ctx context.Context, conn *sql.Conn, returned <-chan struct{}, end func()) (stop func() bool) {
	kill := ""
	conn.Raw(func(c any) error {
		if s, ok := c.(*session); ok {
			kill = "KILL QUERY " + s.id
		}
		return nil
	})
	ended := make(chan struct{})
	detach := context.AfterFunc(ctx, func() {
		defer close(ended)
		defer end()
		if kill == "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		for ctx.Err() == nil { // the first may come before the statement
			db.control.ExecContext(ctx, kill)
			select {
			case <-returned:
				return
			case <-ctx.Done():
			case <-time.After(grace / 10):
			}
		}
	})
	return func() bool {
		if detach() {
			return true
		}
		<-ended
		return false
	}
}

// Commit commits a transaction. If ctx ends, it calls end soon afterwards, which
// must end the ctx that the transaction was begun with: that closes the connection.
func Commit(ctx context.Context, tx *sql.Tx, end func()) error {
	returned := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-returned:
		case <-time.After(grace):
			end()
		}
	})
	defer stop()
	defer close(returned)
	return tx.Commit()
}
