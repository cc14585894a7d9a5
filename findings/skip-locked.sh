#!/usr/bin/env bash
# What SKIP LOCKED skips, and for whom a claim makes others wait: a table of jobs in PostgreSQL and MariaDB.
#
# One would guess: SELECT … LIMIT 1 FOR UPDATE SKIP LOCKED locks the job that it hands out, so that of three jobs two
# workers have two, and nobody waits for anybody; a job that nobody has claimed is handed out; both servers do the same.
#
# Seen with PostgreSQL 15.18, psycopg2 2.9.5, MariaDB 10.11.19 and PyMySQL 1.0.2 (Debian 12), each at its default level,
# three jobs with an id (the key), a state and a priority, and a first worker whose transaction is open:
#   ORDER BY priority, without an index on it: PostgreSQL: the second has job 2; MariaDB: none, and an INSERT of another
#     job waits
#   the same in MariaDB at READ COMMITTED: none, and the INSERT passes
#   no job is to be had, and the first has found none: INSERT: PostgreSQL: passes; MariaDB: waits
#   two have found none, and both INSERT: PostgreSQL: pass; MariaDB: one has error 1213, a deadlock
#   an index on state; each has a job, and sets its state by its id: PostgreSQL: pass; MariaDB: the second waits
#   no worker yet, but a row of a log that refers to job 1 is inserted: both: the worker has job 2
#   the same with FOR NO KEY UPDATE: PostgreSQL: job 1
#   a JOIN with a table of queues, where all jobs are in one queue: both: the second has none
# To sort, MariaDB reads all jobs, and locks what it reads; at REPEATABLE READ also the gaps between them, up to the end
# of the table if it finds too few. A new state is a new entry in the index, in the gap that the first worker has
# locked. So "no job" is not "the queue is empty", and a worker that looks in vain keeps new jobs out until its
# transaction ends. A foreign key takes a lock on the job that it names, and a join one on each row that it reads.
#
# usage: findings/skip-locked.sh, some 40 s; needs Debian's postgresql, mariadb-server, python3-psycopg2 and
# python3-pymysql. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
servers=()
trap 'kill "${servers[@]}" || true; wait; rm -rf "$work"' EXIT
cd "$work"
mkdir postgres mariadb
postgres=() mariadb=()
if [ "$(id -u)" = 0 ]; then # the servers refuse to run as root
	chmod 755 .
	chown postgres postgres
	chown mysql mariadb
	postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
	mariadb=(setpriv --reuid=mysql --regid=mysql --init-groups)
fi
bin=$(echo /usr/lib/postgresql/*/bin)
"${postgres[@]}" "$bin/initdb" -D postgres/data -U finding -A trust >initdb.log
"${postgres[@]}" "$bin/postgres" -D postgres/data -h 127.0.0.1 -p "$port" -k '' >postgres.log 2>&1 &
servers+=($!)
"${mariadb[@]}" mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
	--datadir="$work/mariadb/data" >install.log
printf '%s;\n' 'CREATE DATABASE one' 'DELETE FROM mysql.global_priv WHERE user = ""' 'FLUSH PRIVILEGES' \
	'CREATE USER finding IDENTIFIED BY "secret"' 'GRANT ALL ON *.* TO finding' >init.sql
"${mariadb[@]}" mariadbd --no-defaults --datadir="$work/mariadb/data" --bind-address=127.0.0.1 \
	--port="$((port + 1))" --socket="$work/mariadb/socket" --init-file="$work/init.sql" >mariadb.log 2>&1 &
servers+=($!)
cat >finding.py <<'PY'
import sys
import threading
import time

import psycopg2
import pymysql

port = int(sys.argv[1])
failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + what + ": " + got)


def connect(server, level=None):
    end = time.monotonic() + 120
    while True:  # the server starts
        try:
            if server == "PostgreSQL":
                c = psycopg2.connect(host="127.0.0.1", port=port, user="finding", dbname="postgres")
            else:
                c = pymysql.connect(host="127.0.0.1", port=port + 1, user="finding", password="secret", database="one")
            break
        except (psycopg2.OperationalError, pymysql.OperationalError):
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
    ask(c, "SET lock_timeout = '2s'" if server == "PostgreSQL" else "SET innodb_lock_wait_timeout = 2")
    if level:
        ask(c, "SET SESSION TRANSACTION ISOLATION LEVEL " + level)
    c.commit()
    return c


def ask(c, statement):
    """The job that is handed out, or what becomes of a change."""
    cursor = c.cursor()
    try:
        cursor.execute(statement)
    except psycopg2.errors.LockNotAvailable:
        return "waits"
    except pymysql.OperationalError as e:
        if e.args[0] == 1205:  # the time is over
            return "waits"
        if e.args[0] == 1213:
            return "deadlock"
        raise
    if not cursor.description:
        return "passes"
    rows = cursor.fetchall()
    return f"job {rows[0][0]}" if rows else "none"


def claim(order):
    return f"SELECT id FROM jobs WHERE state = 'new' ORDER BY {order} LIMIT 1 FOR UPDATE SKIP LOCKED"


def insert(job):
    return f"INSERT INTO jobs VALUES ({job}, 'new', {job})"


def busy(job):
    return f"UPDATE jobs SET state = 'busy' WHERE id = {job}"


def both(one, two):
    """What becomes of two changes at a time."""
    got = []
    threads = [threading.Thread(target=lambda c=c, s=s: got.append(ask(c, s))) for c, s in (one, two)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return ", ".join(sorted(got))


for server in "PostgreSQL", "MariaDB":
    maria = server == "MariaDB"
    one, two, other = connections = [connect(server) for _ in range(3)]

    def jobs(*more, state="new"):
        """Three jobs; every transaction has ended."""
        for c in connections:
            c.rollback()
        for s in ("DROP TABLE IF EXISTS log", "DROP TABLE IF EXISTS queues", "DROP TABLE IF EXISTS jobs",
                  "CREATE TABLE jobs (id INT PRIMARY KEY, state VARCHAR(10), priority INT)",
                  *map(insert, (1, 2, 3)), f"UPDATE jobs SET state = '{state}'", *more):
            if ask(other, s) != "passes":
                raise RuntimeError(s)
            other.commit()

    jobs()
    check(server + ", ORDER BY priority, the first", ask(one, claim("priority")), "job 1")
    check(server + ", the second", ask(two, claim("priority")), "none" if maria else "job 2")
    check(server + ", INSERT", ask(other, insert(4)), "waits" if maria else "passes")
    if maria:
        jobs()
        committed = [connect(server, "READ COMMITTED") for _ in range(3)]
        what = server + ", READ COMMITTED, "
        check(what + "ORDER BY priority, the first", ask(committed[0], claim("priority")), "job 1")
        check(what + "the second", ask(committed[1], claim("priority")), "none")
        check(what + "INSERT", ask(committed[2], insert(4)), "passes")
        for c in committed:
            c.close()

    jobs(state="done")
    check(server + ", none is to be had, the first", ask(one, claim("id")), "none")
    check(server + ", INSERT", ask(other, insert(4)), "waits" if maria else "passes")
    other.rollback()
    check(server + ", the second", ask(two, claim("id")), "none")
    for c in one, two:
        ask(c, "SET lock_timeout = '60s'" if not maria else "SET innodb_lock_wait_timeout = 60")
    check(server + ", both INSERT", both((one, insert(4)), (two, insert(5))),
          "deadlock, passes" if maria else "passes, passes")
    for c in connections:
        c.close()
    one, two, other = connections = [connect(server) for _ in range(3)]

    jobs("CREATE INDEX states ON jobs (state)")
    check(server + ", an index on state, the first", ask(one, claim("id")), "job 1")
    check(server + ", the second", ask(two, claim("id")), "job 2")
    check(server + ", the first sets its state", ask(one, busy(1)), "passes")
    check(server + ", the second sets its state", ask(two, busy(2)), "waits" if maria else "passes")

    jobs("CREATE TABLE log (job INT, FOREIGN KEY (job) REFERENCES jobs (id))")
    check(server + ", a row that refers to job 1", ask(other, "INSERT INTO log VALUES (1)"), "passes")
    check(server + ", the first", ask(one, claim("id")), "job 2")
    if not maria:
        one.rollback()
        check(server + ", FOR NO KEY UPDATE", ask(one, claim("id").replace("UPDATE", "NO KEY UPDATE")), "job 1")

    jobs("CREATE TABLE queues (name VARCHAR(10) PRIMARY KEY, open INT)", "INSERT INTO queues VALUES ('new', 1)")
    join = ("SELECT id FROM jobs JOIN queues ON queues.name = jobs.state WHERE open = 1 "
            "ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
    check(server + ", a JOIN, the first", ask(one, join), "job 1")
    check(server + ", the second", ask(two, join), "none")
    for c in connections:
        c.close()
sys.exit(failed)
PY
timeout 400 /usr/bin/python3 finding.py "$port"
