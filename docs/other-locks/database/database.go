// Package database opens the database that the SQL locks run on, and hides the differences between three of them:
// SQLite, which runs inside the process, PostgreSQL and MariaDB.
//
// The settings that decide how a lock performs are explicit here:
//
//   - The pool. SQLite has one writer, and its other connections poll for their turn, so one connection is the fastest
//     pool; the lock that keeps a transaction open needs more and says how many. The others get 50, which is below
//     PostgreSQL's limit of 100. A contender for which no connection is free waits in the process, in database/sql's
//     queue.
//   - Isolation. READ COMMITTED on PostgreSQL (its default, and TxOptions) and on MariaDB (whose default is REPEATABLE
//     READ, with locks on the gaps between rows). SQLite is always serializable.
//   - The end of ctx. The server is asked to end the statement, and its answer is awaited for 2 s: else a statement
//     that waits is carried out after its caller has got an error.
//   - fsync. The servers decide. SQLite writes to memory ("embedded"), or to a file, after each commit with fsync.
//   - Round trips. MariaDB's driver puts the arguments into the text (InterpolateParams); it would otherwise prepare
//     each statement first, which is a round trip more.
package database

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver" // the driver "sqlite3"
	_ "github.com/ncruces/go-sqlite3/embed"
	"github.com/ncruces/go-sqlite3/vfs/memdb"
)

// A Kind is one of the databases.
type Kind string

const (
	SQLite     Kind = "sqlite"
	PostgreSQL Kind = "postgres"
	MariaDB    Kind = "mariadb"
)

// Embedded is the name of a new SQLite database in memory.
const Embedded = "embedded"

// connectTimeout bounds the time of a server's first answer.
var connectTimeout = 5 * time.Second

// SQLiteBusyTimeout is the time that a statement on SQLite waits for another writer.
const SQLiteBusyTimeout = time.Minute

// A DB is a pool of connections to a database. It may be used concurrently.
type DB struct {
	*sql.DB
	Kind Kind
	Spec string // opens the same database again

	memdb   string  // the name of a database in memory that this DB has made
	control *sql.DB // on MariaDB, see [session]

	statements atomic.Int64
}

// FewConns has Open make as few connections as a lock needs that keeps none.
const FewConns = 0

// Open makes a pool of connections to a database, as many as conns says, or FewConns:
//
//   - "embedded": a new SQLite database in memory, gone with Close;
//   - "sqlite:FILE": a SQLite database in a file;
//   - "postgres://user:password@host:port/database";
//   - "mysql://user:password@host:port/database".
//
// An error is one line, and comes within seconds.
func Open(ctx context.Context, spec string, conns int) (*DB, error) {
	db := &DB{Spec: spec}
	if !IsSQLite(spec) { // which is compiled first, and that takes as long as it takes
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, connectTimeout)
		defer cancel()
	}
	if err := db.connect(conns); err != nil {
		return nil, fmt.Errorf("%s: %w", Redacted(spec), oneLine(err))
	}
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v: %w", connectTimeout, err)
		}
		return nil, fmt.Errorf("%s: %w", Redacted(spec), oneLine(err))
	}
	return db, nil
}

func (db *DB) connect(conns int) (err error) {
	scheme, rest, _ := strings.Cut(db.Spec, ":")
	switch scheme {
	case Embedded:
		if rest == "" {
			rest = rand.Text()
			memdb.Create(rest, nil) // else it would go with its last connection
			db.memdb, db.Spec = rest, Embedded+":"+rest
		}
		err = db.sqlite("file:/"+rest+"?vfs=memdb", "&_pragma=journal_mode(memory)")
	case "sqlite":
		if rest == "" {
			return errors.New("it names no file: sqlite:FILE")
		}
		err = db.sqlite("file:"+rest+"?", "&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	case "postgres", "postgresql":
		err = db.postgres()
	case "mysql", "mariadb":
		err = db.mariaDB()
	default:
		return errors.New("no database: it is embedded, sqlite:FILE, postgres://… or mysql://…")
	}
	if err != nil {
		return err
	}
	conns = cmp.Or(conns, map[Kind]int{SQLite: 1, PostgreSQL: 50, MariaDB: 50}[db.Kind])
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns) // else each turn of a waiter would connect again
	return nil
}

func (db *DB) sqlite(dsn, pragmas string) (err error) {
	db.Kind = SQLite
	dsn += fmt.Sprintf("&_txlock=immediate&_pragma=busy_timeout(%d)", SQLiteBusyTimeout.Milliseconds()) + pragmas
	db.DB, err = sql.Open("sqlite3", dsn)
	return err
}

func (db *DB) postgres() error {
	db.Kind = PostgreSQL
	cfg, err := pgx.ParseConfig(db.Spec)
	if err != nil {
		return err
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec // a prepared statement is another session's behind pgbouncer
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler { return &canceller{conn: conn} }
	db.DB = stdlib.OpenDB(*cfg)
	return nil
}

func (db *DB) mariaDB() error {
	db.Kind = MariaDB
	u, err := url.Parse(db.Spec)
	if err != nil { // which quotes the password
		return errors.New("this is not a mysql://user:password@host:port/database; " +
			"in a password %, :, /, ?, #, @ and a comma are written %25, %3A, %2F, %3F, %23, %40 and %2C")
	}
	if u.RawQuery != "" {
		return errors.New("options after a question mark are not supported, and would be ignored")
	}

	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr, cfg.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		cfg.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	cfg.InterpolateParams = true
	cfg.ClientFoundRows = true // an update's rows are those that it found, as in the other databases
	cfg.Timeout = connectTimeout
	cfg.Logger = &mysql.NopLogger{} // each error is returned, too
	// In a zone with summer time the server's NOW goes back an hour each year.
	cfg.Params = map[string]string{"time_zone": "'+00:00'", "tx_isolation": "'READ-COMMITTED'"}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}

	db.control = sql.OpenDB(connector{c, nil})
	db.DB = sql.OpenDB(connector{c, db.control})
	db.control.SetMaxOpenConns(1)
	db.control.SetConnMaxIdleTime(time.Minute)
	return nil
}

// A canceller asks PostgreSQL to end a statement whose ctx has ended, and has the answer awaited for as long as grace.
// pgx's own closes the line of the request once the statement has ended: Debian's pgbouncer ends itself when it meets
// that.
type canceller struct {
	conn *pgconn.PgConn
	sent chan struct{} // closed once the server has received the request
}

func (c *canceller) HandleCancel(context.Context) {
	c.conn.Conn().SetDeadline(time.Now().Add(grace))
	c.sent = make(chan struct{})
	go func() {
		defer close(c.sent)
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		c.conn.CancelRequest(ctx)
	}()
}

// HandleUnwatchAfterCancel leaves the deadline where it is if the request may still end the next statement.
func (c *canceller) HandleUnwatchAfterCancel() {
	select {
	case <-c.sent:
		c.conn.Conn().SetDeadline(time.Time{})
	case <-time.After(grace):
	}
}

// Close closes all connections. A database in memory goes with the DB that has made it.
func (db *DB) Close() error {
	err := db.DB.Close()
	if db.control != nil {
		db.control.Close()
	}
	if db.memdb != "" {
		memdb.Delete(db.memdb)
	}
	return err
}

// Version is the server's own name for itself.
func (db *DB) Version(ctx context.Context) (version string) {
	err := db.QueryRowContext(ctx, map[Kind]string{
		SQLite:     "SELECT 'SQLite ' || sqlite_version()",
		PostgreSQL: "SELECT 'PostgreSQL ' || current_setting('server_version')",
		MariaDB:    "SELECT version()",
	}[db.Kind]).Scan(&version)
	if err != nil {
		return string(db.Kind)
	}
	return version
}

// Statements is how many statements have been sent so far by Exec and Row, and
// Count for those that a transaction sends.
func (db *DB) Statements() int64 { return db.statements.Load() }

// TxOptions are those of a transaction. PostgreSQL gets the level with BEGIN: pgbouncer
// refuses it as a setting of the connection, and a SET would stay for its next client.
func (db *DB) TxOptions() *sql.TxOptions {
	if db.Kind != PostgreSQL {
		return nil
	}
	return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
}

// Count counts statements that were sent in another way.
func (db *DB) Count(n int64) { db.statements.Add(n) }

// Exec sends a statement, which is a transaction by itself, and returns how many rows it has changed.
func (db *DB) Exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	db.statements.Add(1)
	result, err := db.ExecContext(ctx, db.Bind(query), args...)
	if err == nil {
		if rows, err = result.RowsAffected(); rows == 0 && err == nil {
			err = ctx.Err() // MariaDB answers so now and then if it was asked to end the statement
		}
	}
	return rows, Explain(ctx, err)
}

// Row reads one row. Its error is for Explain.
func (db *DB) Row(ctx context.Context, query string, args ...any) *sql.Row {
	db.statements.Add(1)
	return db.QueryRowContext(ctx, db.Bind(query), args...)
}

// Bind writes a statement's parameters, which are question marks, and {now},
// which is the database's time in milliseconds, in the database's way.
func (db *DB) Bind(query string) string {
	query = strings.ReplaceAll(query, "{now}", map[Kind]string{
		SQLite:     "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)",
		PostgreSQL: "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint",
		MariaDB:    "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
	}[db.Kind])
	if db.Kind != PostgreSQL {
		return query
	}
	var bound strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			bound.WriteString("$" + strconv.Itoa(n))
		}
		bound.WriteString(part)
		n++
	}
	return bound.String()
}

// CreateTable creates a table unless it exists. {name} is the type of a column of
// names: two names are the same only if their bytes are. On PostgreSQL two clients that
// do so at once collide in the catalogue: the one that fails finds the table.
func (db *DB) CreateTable(ctx context.Context, name, columns string) error {
	if !strings.Contains(columns, "{name}") {
		return fmt.Errorf("database: table %s has no column of type {name}", name)
	}
	key := "VARCHAR(64)"
	if db.Kind == MariaDB {
		key = "VARBINARY(256)" // else x, X and x with a blank are one name
	}
	statement := "CREATE TABLE IF NOT EXISTS " + name + " (" + strings.ReplaceAll(columns, "{name}", key) + ")"
	if db.Kind == MariaDB {
		statement += " ENGINE=InnoDB" // others have no row locks
	}
	_, err := db.Exec(ctx, statement)
	if err == nil || IsDuplicate(err) || Code(err) == "42P07" {
		return nil
	}
	return fmt.Errorf("database: create the table %s: %w", name, err)
}

// IsSQLite reports whether a spec names a SQLite database.
func IsSQLite(spec string) bool {
	scheme, _, _ := strings.Cut(spec, ":")
	return scheme == Embedded || scheme == string(SQLite)
}

var passwordOption = regexp.MustCompile(`([?&][^=&]*password=)[^&]*`)

// Redacted is a spec without its password, also if it is not a URL because of the characters in the password.
func Redacted(spec string) string {
	scheme, rest, ok := strings.Cut(spec, "://")
	if !ok {
		return spec
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if user, _, ok := strings.Cut(rest[:at], ":"); ok {
			rest = user + ":xxxxx" + rest[at:]
		}
	}
	return scheme + "://" + passwordOption.ReplaceAllString(rest, "${1}xxxxx")
}
