#!/usr/bin/env bash
# What a Go client of SQLite answers when its ctx ends while it waits for another writer.
#
# One would guess: an error that wraps context.DeadlineExceeded, or SQLITE_INTERRUPT.
#
# Seen with ncruces/go-sqlite3 0.30.4 (SQLite 3.51):
#   ctx ends after 0.3 s, busy_timeout is 1 min: BUSY true, INTERRUPT false, DeadlineExceeded false
#
# usage: findings/sqlite-busy.sh, some 10 s; needs Go alone. It fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
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

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"
)

func main() {
	db, err := sql.Open("sqlite3", "file:t.db?_txlock=immediate&_pragma=busy_timeout(60000)")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	var version string
	db.QueryRow("SELECT sqlite_version()").Scan(&version)
	holder, err := db.Begin()
	if err != nil {
		panic(err)
	}
	defer holder.Rollback()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(ctx, "CREATE TABLE t (id INTEGER)")
	busy, interrupt, ended := errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.INTERRUPT), errors.Is(err, context.DeadlineExceeded)
	fmt.Printf("SQLite %s: ctx ends after 0.3 s, busy_timeout is 1 min: BUSY %v, INTERRUPT %v, DeadlineExceeded %v\n", version, busy, interrupt, ended)
	if !busy || interrupt || ended {
		fmt.Println("CHANGED:", err)
		os.Exit(1)
	}
}
GO
go get github.com/ncruces/go-sqlite3@v0.30.4 >get.log 2>&1 || { cat get.log; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log; exit 1; }
go run .
