#!/usr/bin/env bash
# What one interface for locks means on three stores: tooz on ZooKeeper, PostgreSQL and MariaDB.
#
# One would guess: two names are two locks; acquire(blocking=2) returns False after 2 s, as its documentation says, blocking=1
# after 1 s and blocking=0 at once; two databases of one server are two sets of names; the waiter that came first is let in first.
#
# Seen with tooz 3.1.0, kazoo 2.8.0, psycopg2 2.9.5, PyMySQL 1.0.2, ZooKeeper 3.8.0, PostgreSQL 15.18 and MariaDB 10.11.19 (Debian 12):
#   order-232 is held, its holder takes order-403: PostgreSQL: False; the others: True. A name has one of 65,536 keys there
#   blocking=2 while another holds: ZooKeeper: LockTimeout; the others: RetryError
#   blocking=1, the holder releases after 3 s: ZooKeeper: LockTimeout; the others: True after 3 s
#   blocking=0, the same: ZooKeeper: LockTimeout; PostgreSQL: True after 3 s; MariaDB: False
#   the same name in another database of the server: PostgreSQL: True; MariaDB: False
#   a waiter with a limit, then one without: ZooKeeper: in this order; PostgreSQL: the second is let in first
# A limit of 1 or 0 equals True or False in Python.
#
# usage: findings/tooz-locks.sh, some 50 s; needs Debian's python3-tooz, python3-kazoo, python3-psycopg2, python3-pymysql,
# zookeeper, postgresql and mariadb-server. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
servers=()
trap 'kill "${servers[@]}" || true; wait; rm -rf "$work"' EXIT
cd "$work"
mkdir postgres mariadb
postgres=() mariadb=()
if [ "$(id -u)" = 0 ]; then # the servers of both refuse to run as root
	chmod 755 .
	chown postgres postgres
	chown mysql mariadb
	postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
	mariadb=(setpriv --reuid=mysql --regid=mysql --init-groups)
fi
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$work/data" "$port" >zoo.cfg
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain zoo.cfg >zookeeper.log 2>&1 &
servers+=($!)
bin=$(echo /usr/lib/postgresql/*/bin)
"${postgres[@]}" "$bin/initdb" -D postgres/data -U finding -A trust >initdb.log
"${postgres[@]}" "$bin/postgres" -D postgres/data -h 127.0.0.1 -p "$((port + 1))" -k '' >postgres.log 2>&1 &
servers+=($!)
"${mariadb[@]}" mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --datadir="$work/mariadb/data" >install.log
printf '%s;\n' 'CREATE DATABASE one' 'CREATE DATABASE two' 'DELETE FROM mysql.global_priv WHERE user = ""' 'FLUSH PRIVILEGES' \
	'CREATE USER finding IDENTIFIED BY "secret"' 'GRANT ALL ON *.* TO finding' >init.sql
"${mariadb[@]}" mariadbd --no-defaults --datadir="$work/mariadb/data" --bind-address=127.0.0.1 --port="$((port + 2))" \
	--socket="$work/mariadb/socket" --init-file="$work/init.sql" >mariadb.log 2>&1 &
servers+=($!)
cat >finding.py <<'PY'
import sys
import threading
import time

from tooz import coordination

port = int(sys.argv[1])
failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + what + ": " + got)


def coordinator(url, member):
    end = time.monotonic() + 60
    while True:  # the server starts
        try:
            c = coordination.get_coordinator(url, member)
            c.start()
            return c
        except coordination.ToozConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def tries(lock, blocking):
    """What acquire does, and whether it has taken more than 2.5 s."""
    begin = time.monotonic()
    try:
        got = str(lock.acquire(blocking=blocking))
    except Exception as e:
        got = type(e).__name__
    return got + (" after 3 s" if time.monotonic() - begin > 2.5 else "")


for store, one, two, want in (
    ("ZooKeeper", f"kazoo://127.0.0.1:{port}", None,
     {"names": "True", 2: "LockTimeout", 1: "LockTimeout", 0: "LockTimeout", "order": "with a limit, without"}),
    ("PostgreSQL", f"postgresql://finding@127.0.0.1:{port + 1}/postgres", "template1",
     {"names": "False", 2: "RetryError", 1: "True after 3 s", 0: "True after 3 s", "database": "True", "order": "without, with a limit"}),
    ("MariaDB", f"mysql://finding:secret@127.0.0.1:{port + 2}/one", "two",
     {"names": "True", 2: "RetryError", 1: "True after 3 s", 0: "False", "database": "False"}),
):
    a, b, c = (coordinator(one, member) for member in (b"a", b"b", b"c"))
    held, lock, apart = a.get_lock(b"order-232"), b.get_lock(b"order-232"), a.get_lock(b"order-403")
    held.acquire()
    check(store + ", order-232 is held, its holder takes order-403", tries(apart, False), want["names"])
    apart.release()
    check(store + ", it is held, blocking=2", tries(lock, 2), want[2])
    if two:
        other = coordinator(one[:one.rindex("/") + 1] + two, b"other").get_lock(b"order-232")
        check(store + ", it is held, the other database comes", tries(other, False), want["database"])
        other.release()
    for blocking in (1, 0):
        timer = threading.Timer(3, held.release)
        timer.start()
        check(store + f", it is released after 3 s, blocking={blocking}", tries(lock, blocking), want[blocking])
        timer.join()
        lock.release()
        held.acquire()

    if "order" in want:  # those of MariaDB ask once a second, and the first that finds it free is in
        order = []

        def wait(name, lock, blocking):
            lock.acquire(blocking=blocking)
            order.append(name)
            lock.release()

        threads = [threading.Thread(target=wait, args=("with a limit", lock, 30)),
                   threading.Thread(target=wait, args=("without", c.get_lock(b"order-232"), True))]
        for t in threads:
            t.start()
            time.sleep(0.5)
        held.release()
        for t in threads:
            t.join()
        check(store + ", the waiters", ", ".join(order), want["order"])
    else:
        held.release()
sys.exit(failed)
PY
timeout 100 /usr/bin/python3 finding.py "$port"
