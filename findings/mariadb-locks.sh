#!/usr/bin/env bash
# What MariaDB's locks do that few expect.
#
# One would guess: a statement whose client has gone ends; two names that compare as equal are one lock; a lock that was taken
# behind a savepoint goes with it; a row that was deleted is gone for a waiter.
#
# Seen with MariaDB 10.11 (Debian 12) and go-sql-driver/mysql 1.10.1:
#   an UPDATE and an INSERT whose ctx ended while they waited are carried out afterwards: value 1, and 1 row
#   a DELETE that KILL QUERY ends early may answer that it succeeded, with 0 rows: the row is there
#   a GET_LOCK whose ctx ended while it waited is not: it leaves the queue
#   GET_LOCK('a'), and another session gets 'A' and 'a ': 1 and 1; a text column with a unique key has room for one of them
#   GET_LOCK('b', -1) answers NULL
#   a row that is deleted and inserted again in one transaction: the waiter gets the new one
#   ROLLBACK TO SAVEPOINT keeps the lock of a FOR UPDATE behind the savepoint: error 1205;
#   but not if the transaction had touched no table before
#
# usage: findings/mariadb-locks.sh, some 20 s; needs Go and Debian's mariadb-server. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
	chown mysql "$work"
	as=(setpriv --reuid=mysql --regid=mysql --init-groups)
fi
port=$((20000 + RANDOM % 20000))
cd "$work"
"${as[@]}" mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --datadir="$work/data" >install.log
printf 'CREATE DATABASE finding;\nDELETE FROM mysql.global_priv WHERE user = "";\nFLUSH PRIVILEGES;\nCREATE USER finding IDENTIFIED BY "secret";\nGRANT ALL ON *.* TO finding;\n' >init.sql
"${as[@]}" mariadbd --no-defaults --datadir="$work/data" --bind-address=127.0.0.1 --port="$port" --socket="$work/socket" --init-file="$work/init.sql" >server.log 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
mkdir go && cd go
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
)

var (
	failed bool
	ctx, _ = context.WithTimeout(context.Background(), 2*time.Minute)
)

func check(ok bool, format string, args ...any) {
	if !ok {
		failed = true
		fmt.Print("CHANGED: ")
	}
	fmt.Printf(format+"\n", args...)
}

type session struct{ *sql.Conn }

func (s session) do(queries ...string) {
	for _, query := range queries {
		if _, err := s.ExecContext(ctx, query); err != nil {
			panic(fmt.Sprint(query, ": ", err))
		}
	}
}

func (s session) get(query string) (value sql.NullInt64) {
	if err := s.QueryRowContext(ctx, query).Scan(&value); err != nil {
		panic(fmt.Sprint(query, ": ", err))
	}
	return value
}

// idle waits until no other session runs a statement that is like this.
func (s session) idle(like string) {
	for s.get("SELECT count(*) FROM information_schema.processlist WHERE info LIKE '"+like+"' AND id <> connection_id()").Int64 > 0 {
		time.Sleep(20 * time.Millisecond)
	}
}

func main() {
	db, err := sql.Open("mysql", os.Args[1])
	for err = db.PingContext(ctx); err != nil && ctx.Err() == nil; err = db.PingContext(ctx) {
		time.Sleep(100 * time.Millisecond)
	}
	open := func() session {
		conn, err := db.Conn(ctx)
		if err != nil {
			panic(err)
		}
		return session{conn}
	}
	a, b, c := open(), open(), open()
	var version string
	a.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	fmt.Println("MariaDB", version)

	a.do("CREATE TABLE t (id int PRIMARY KEY, value int) ENGINE=InnoDB", "INSERT INTO t VALUES (1, 0), (2, 0)")
	a.do("BEGIN", "SELECT * FROM t WHERE id = 1 FOR UPDATE")
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	_, err = c.ExecContext(short, "UPDATE t SET value = 1 WHERE id = 1")
	cancel()
	a.do("COMMIT")
	b.idle("UPDATE%")
	value := b.get("SELECT value FROM t WHERE id = 1").Int64
	check(errors.Is(err, context.DeadlineExceeded) && value == 1, "an UPDATE whose ctx ended while it waited is carried out afterwards: %v, value %d", err, value)

	c = open()
	a.do("BEGIN", "DELETE FROM t WHERE id = 1")
	short, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
	_, err = c.ExecContext(short, "INSERT INTO t VALUES (1, 2)")
	cancel()
	a.do("COMMIT")
	b.idle("INSERT%")
	value = b.get("SELECT count(*) FROM t WHERE id = 1 AND value = 2").Int64
	check(errors.Is(err, context.DeadlineExceeded) && value == 1, "and so is an INSERT: %v, %d row", err, value)

	silent := 0
	c = open()
	id := c.get("SELECT CONNECTION_ID()").Int64
	for n := 0; n < 20_000 && silent == 0; n++ {
		c.do("REPLACE INTO t VALUES (3, 0)")
		killed := make(chan error)
		go func() {
			for begin := time.Now(); time.Since(begin) < time.Duration(n%300)*time.Microsecond; {
			}
			_, err := b.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", id))
			killed <- err
		}()
		result, err := c.ExecContext(ctx, "DELETE FROM t WHERE id = 3")
		<-killed
		c.ExecContext(ctx, "DO 1") // the KILL may have come after the DELETE
		if err == nil {
			rows, _ := result.RowsAffected()
			if rows == 0 && b.get("SELECT count(*) FROM t WHERE id = 3").Int64 == 1 {
				silent++
			}
		}
	}
	check(silent == 1, "a DELETE that KILL QUERY ends early may answer that it succeeded, with 0 rows: the row is there")

	a.get("SELECT GET_LOCK('queue', 0)")
	c = open()
	short, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
	err = c.QueryRowContext(short, "SELECT GET_LOCK('queue', 60)").Scan(new(int))
	cancel()
	b.idle("SELECT GET_LOCK%")
	a.get("SELECT RELEASE_LOCK('queue')")
	used := b.get("SELECT IS_USED_LOCK('queue')")
	check(err != nil && !used.Valid, "a GET_LOCK whose ctx ended while it waited is not: it leaves the queue")

	a.get("SELECT GET_LOCK('a', 0)")
	upper, blank := b.get("SELECT GET_LOCK('A', 0)").Int64, b.get("SELECT GET_LOCK('a ', 0)").Int64
	check(upper == 1 && blank == 1, "GET_LOCK('a'), and another session gets 'A' and 'a ': %d and %d", upper, blank)
	a.do("CREATE TABLE names (name varchar(64) PRIMARY KEY) CHARACTER SET utf8mb4", "INSERT INTO names VALUES ('a')")
	var duplicate *mysql.MySQLError
	for _, name := range []string{"A", "a "} {
		_, err = a.ExecContext(ctx, "INSERT INTO names VALUES (?)", name)
		check(errors.As(err, &duplicate) && duplicate.Number == 1062, "a text column has 'a', and %q is one row with it: %v", name, err)
	}
	none := b.get("SELECT GET_LOCK('b', -1)")
	check(!none.Valid, "GET_LOCK('b', -1) answers NULL: %v", !none.Valid)

	a.do("BEGIN", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (2, 7)")
	got := make(chan sql.NullInt64)
	go func() { got <- b.get("SELECT value FROM t WHERE id = 2 FOR UPDATE") }()
	time.Sleep(500 * time.Millisecond)
	a.do("COMMIT")
	seen := <-got
	check(seen.Int64 == 7, "a row that is deleted and inserted again in one transaction: the waiter gets %d", seen.Int64)

	savepoint := func(first string) error {
		a.do("BEGIN", first, "SAVEPOINT s", "SELECT * FROM t WHERE id = 1 FOR UPDATE", "ROLLBACK TO SAVEPOINT s")
		defer a.do("COMMIT")
		_, err := b.ExecContext(ctx, "SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT")
		return err
	}
	kept, freed := savepoint("SELECT * FROM t WHERE id = 2 FOR UPDATE"), savepoint("SELECT 1")
	var my *mysql.MySQLError
	check(errors.As(kept, &my) && my.Number == 1205, "ROLLBACK TO SAVEPOINT keeps the lock of a FOR UPDATE behind the savepoint: %v", kept)
	check(freed == nil, "but not if the transaction had touched no table before: %v", freed)
	if failed {
		os.Exit(1)
	}
}
GO
go get github.com/go-sql-driver/mysql@v1.10.1 >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go run . "finding:secret@tcp(127.0.0.1:$port)/finding"
