#!/usr/bin/env bash
# What PostgreSQL's advisory locks do beside a waiter, a prepared transaction, a standby and a caught exception.
#
# One would guess: a shared lock is to be had while only shared ones are held; a lock of a transaction goes with its
# connection, or with the server; a standby, which is read-only, grants none, or asks the primary; a lock of a
# transaction lasts until that ends.
#
# Seen with PostgreSQL 15.18 (Debian 12):
#   one session holds shared, another waits for exclusive: pg_try_advisory_lock_shared of a third: false
#   the same of the session that holds it: true
#   pg_advisory_xact_lock, PREPARE TRANSACTION, and the session ends: the lock is held, by no process (pid is NULL)
#   the server is killed, and starts again: it is held on; ROLLBACK PREPARED of any session frees it
#   a session of the primary holds a lock: a session of a hot standby has the same one at once
#   the standby is promoted: its session holds on
#   PL/pgSQL catches an exception in whose block both were taken: pg_advisory_xact_lock is free, and pg_advisory_lock is
#     held
# The shared lock is refused since it would pass the waiter in the queue. A prepared transaction keeps its locks on
# disk. A standby has a table of locks of its own: programs that may be connected to either do not exclude each other.
#
# usage: findings/postgres-advisory.sh, some 20 s; needs Debian's postgresql. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
	chown postgres "$work"
	as=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
bin=$(echo /usr/lib/postgresql/*/bin)
cd "$work"
server() { # server DATA stop|start …
	"${as[@]}" "$bin/pg_ctl" -s -w -D "$1" -l "$work/$1.log" "${@:2}" >>"$work/pg_ctl.log"
}
# It waits for the sessions, whose server has gone, before it deletes what they write to.
trap 'for data in standby primary; do
		[ ! -e $data/postmaster.pid ] || server $data stop -m immediate
	done
	wait || true
	cd /
	rm -rf "$work"' EXIT
failed=0
check() { # check WHAT GOT WANT
	local changed=
	[ "$2" = "$3" ] || { changed="CHANGED: " failed=1; }
	echo "$changed$1: $2"
}
ask() { # ask PORT SQL… is a session of its own, and prints the last line
	local port=$1 sql=()
	shift
	for s; do sql+=(-c "$s"); done
	timeout 30 psql -XAtq -h "$work" -p "$port" -U finding postgres "${sql[@]}" 2>&1 | tail -n 1
}
session() { # session PORT SQL… stays, in the background
	local port=$1 sql=()
	shift
	for s; do sql+=(-c "$s"); done
	timeout 60 psql -XAtq -h "$work" -p "$port" -U finding postgres "${sql[@]}" -c 'SELECT pg_sleep(60)' \
		>>sessions.log 2>&1 &
}
until_locks() { # until_locks PORT CONDITION waits for a row of pg_locks
	for _ in {1..100}; do
		[ "$(ask "$1" "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND $2")" != t ] || return 0
		sleep 0.1
	done
	echo "no lock after 10 s: $2"
	exit 1
}

"${as[@]}" "$bin/initdb" -D primary -U finding -A trust >initdb.log
cat >>primary/postgresql.conf <<CONF
listen_addresses = ''
unix_socket_directories = '$work'
port = 1
max_prepared_transactions = 5
CONF
server primary start

# The first session has shared(1), and asks again once the second waits for exclusive(1).
session 1 "SELECT pg_advisory_lock_shared(1)" "DO \$\$ BEGIN
	WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) LOOP
		PERFORM pg_sleep(0.1);
	END LOOP;
END \$\$" "SELECT pg_advisory_lock(CASE WHEN pg_try_advisory_lock_shared(1) THEN 101 ELSE 100 END)"
until_locks 1 "objid = 1 AND granted"
session 1 "SELECT pg_advisory_lock(1)"
until_locks 1 "objid >= 100"
check "shared is held, exclusive is waited for: shared of a third" \
	"$(ask 1 "SELECT pg_try_advisory_lock_shared(1)")" f
check "and of the holder" "$(ask 1 "SELECT objid = 101 FROM pg_locks WHERE objid >= 100 AND locktype = 'advisory'")" t

ask 1 "BEGIN" "SELECT pg_advisory_xact_lock(2)" "PREPARE TRANSACTION 'kept'" >/dev/null
try="SELECT pg_try_advisory_lock(2)"
check "prepared, the session has ended: another has it" "$(ask 1 "$try")" f
check "its holder is NULL" "$(ask 1 "SELECT pid IS NULL FROM pg_locks WHERE locktype = 'advisory' AND objid = 2")" t
server primary stop -m immediate
server primary start
check "prepared, after a crash: another has it" "$(ask 1 "$try")" f
ask 1 "ROLLBACK PREPARED 'kept'" >/dev/null
check "rolled back: another has it" "$(ask 1 "$try")" t

check "a caught exception, what is held" "$(ask 1 "BEGIN" "DO \$\$ BEGIN
	PERFORM pg_advisory_xact_lock(3);
	PERFORM pg_advisory_lock(4);
	RAISE EXCEPTION 'caught';
EXCEPTION WHEN OTHERS THEN
	NULL;
END \$\$" "SELECT array_agg(objid) FROM pg_locks WHERE locktype = 'advisory' AND granted")" "{4}"

"${as[@]}" "$bin/pg_basebackup" -h "$work" -p 1 -U finding -D standby -R -c fast
sed -i 's/^port = 1$/port = 2/' standby/postgresql.conf
server standby start
session 1 "SELECT pg_advisory_lock(5)"
until_locks 1 "objid = 5 AND granted"
session 2 "SELECT pg_advisory_lock(5)"
until_locks 2 "objid = 5 AND granted"
check "primary and standby, both have it; the standby is read-only" "$(ask 2 "SELECT pg_is_in_recovery()")" t
check "another session of the standby has it" "$(ask 2 "SELECT pg_try_advisory_lock(5)")" f
server standby promote
check "promoted, read-only" "$(ask 2 "SELECT pg_is_in_recovery()")" f
check "another session has it" "$(ask 2 "SELECT pg_try_advisory_lock(5)")" f
exit $failed
