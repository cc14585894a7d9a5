#!/usr/bin/env bash
# What PostgreSQL's locks do that few expect.
#
# One would guess: an error that ends a deadlock frees what its victim holds; the victim closed the circle; lock_timeout is
# the longest wait of a statement; a row that exists in every committed state is found; a lock on a row is kept until the
# transaction ends.
#
# Seen with PostgreSQL 15.18 (Debian 12) and pgx 5.12.0:
#   40P01 frees no session advisory lock: 1.5 s later the other session waits on
#   the victim of a circle that is closed 0.3 s after the first wait: the first; 1.5 s after it: the second
#   lock_timeout 2 s, two rows in one SELECT … FOR UPDATE: it ends after 3.5 s
#   a row that is deleted and inserted again in one transaction: the waiter finds no row
#   ROLLBACK TO SAVEPOINT frees the lock of a FOR UPDATE behind the savepoint
#
# usage: findings/postgres-locks.sh, some 30 s; needs Go and Debian's postgresql. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
	chown postgres "$work"
	as=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
bin=$(echo /usr/lib/postgresql/*/bin)
port=$((20000 + RANDOM % 20000))
cd "$work"
"${as[@]}" "$bin/initdb" -D data -U finding -A trust >initdb.log
"${as[@]}" "$bin/postgres" -D data -h 127.0.0.1 -p "$port" -k '' >server.log 2>&1 &
server=$!
trap 'kill -INT $server; wait $server || true; rm -rf "$work"' EXIT
mkdir go && cd go
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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

type session struct{ *pgx.Conn }

func open() session {
	for {
		conn, err := pgx.Connect(ctx, os.Args[1])
		if err == nil {
			return session{conn}
		}
		if ctx.Err() != nil {
			panic(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s session) do(query string) {
	if _, err := s.Exec(ctx, query); err != nil {
		panic(fmt.Sprint(query, ": ", err))
	}
}

func (s session) start(query string) <-chan error {
	ch := make(chan error, 1)
	go func() { _, err := s.Exec(ctx, query); ch <- err }()
	return ch
}

func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return fmt.Sprint(err)
}

// circle closes a circle of two session locks after a while, and says which session is the victim, and whether the other
// one still waits 1.5 s later.
func circle(a, b session, after time.Duration) (victim int, waits bool) {
	a.do("SELECT pg_advisory_lock(1)")
	b.do("SELECT pg_advisory_lock(2)")
	first := a.start("SELECT pg_advisory_lock(2)")
	time.Sleep(after)
	second := b.start("SELECT pg_advisory_lock(1)")
	var err error
	var other <-chan error
	select {
	case err = <-first:
		victim, other = 1, second
	case err = <-second:
		victim, other = 2, first
	}
	if code(err) != "40P01" {
		panic(err)
	}
	select {
	case <-other:
		panic("the other session has got the lock")
	case <-time.After(1500 * time.Millisecond):
		waits = true
	}
	map[int]session{1: a, 2: b}[victim].do("SELECT pg_advisory_unlock_all()")
	if err := <-other; err != nil {
		panic(err)
	}
	a.do("SELECT pg_advisory_unlock_all()")
	b.do("SELECT pg_advisory_unlock_all()")
	return victim, waits
}

func main() {
	a, b, c := open(), open(), open()
	var version string
	a.QueryRow(ctx, "SHOW server_version").Scan(&version)
	fmt.Println("PostgreSQL", version)
	early, waits := circle(a, b, 300*time.Millisecond)
	check(waits, "40P01 frees no session advisory lock: 1.5 s later the other session waits on: %v", waits)
	late, _ := circle(a, b, 1500*time.Millisecond)
	check(early == 1 && late == 2, "the victim of a circle that is closed 0.3 s after the first wait: session %d; 1.5 s after it: session %d", early, late)

	a.do("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
	a.do("BEGIN; SELECT * FROM t WHERE id = 1 FOR UPDATE")
	b.do("BEGIN; SELECT * FROM t WHERE id = 2 FOR UPDATE")
	c.do("SET lock_timeout = 2000")
	begin := time.Now()
	ended := c.start("SELECT * FROM t ORDER BY id FOR UPDATE")
	time.Sleep(1500 * time.Millisecond)
	a.do("COMMIT")
	err := <-ended
	took := time.Since(begin)
	b.do("COMMIT")
	check(code(err) == "55P03" && took > 3*time.Second, "lock_timeout 2 s, two rows in one SELECT … FOR UPDATE: %s after %.1f s", code(err), took.Seconds())
	c.do("SET lock_timeout = 0")

	a.do("BEGIN; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1)")
	rows := make(chan int64, 1)
	go func() { tag, _ := c.Exec(ctx, "SELECT * FROM t WHERE id = 1 FOR UPDATE"); rows <- tag.RowsAffected() }()
	time.Sleep(500 * time.Millisecond)
	a.do("COMMIT")
	n := <-rows
	check(n == 0, "a row that is deleted and inserted again in one transaction: the waiter finds %d rows", n)

	a.do("BEGIN; SAVEPOINT s; SELECT * FROM t WHERE id = 2 FOR UPDATE; ROLLBACK TO SAVEPOINT s")
	_, err = b.Exec(ctx, "SELECT * FROM t WHERE id = 2 FOR UPDATE NOWAIT")
	check(err == nil, "ROLLBACK TO SAVEPOINT frees the lock of a FOR UPDATE behind the savepoint: %v", err == nil)
	a.do("COMMIT")
	if failed {
		os.Exit(1)
	}
}
GO
go get github.com/jackc/pgx/v5@v5.12.0 >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go run . "postgres://finding@127.0.0.1:$port/postgres?sslmode=disable&default_query_exec_mode=simple_protocol"
