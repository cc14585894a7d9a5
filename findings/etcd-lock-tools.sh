#!/usr/bin/env bash
# What the lock of etcd's command line, the lock service of its server, and the lock of a Python client do.
#
# One would guess: etcdctl lock ends its command, or at least fails, when the lock is lost; SIGTERM ends it; under two
# locks the command is told the second one's key; a lock of the service that was asked for without a lease is refused,
# or lasts until its unlock; unlock of what is not held is an error; a lock that another holds is waited for.
#
# Seen with etcd and etcdctl 3.4.23, python3-etcd3 0.12.0 and python3-tenacity 8.2.1 (Debian 12):
#   etcdctl lock, the key is deleted: the command goes on, another is in, and the exit status is 0
#   etcdctl lock, stopped for longer than its TTL: the same
#   etcdctl lock, killed: the command goes on, and another is in after the TTL
#   etcdctl lock, SIGTERM: it waits until the command has ended, and the exit status is 0
#   etcdctl lock outer etcdctl lock inner COMMAND: ETCD_LOCK_KEY and ETCD_LOCK_REV are those of the outer lock
#   a command that ends with 3: the exit status is 1
#   /v3/lock/lock without a lease: granted, for 60 s that nothing renews
#   /v3/lock/unlock: deletes the key that it is given, lock or not; a key that is not there: the same answer
#   python3-etcd3, another holds: acquire(timeout=2) raises TypeError at once: that tenacity passes other arguments
# ETCD_LOCK_REV is what a resource could compare to refuse late writes; under two locks the inner one's is not told.
#
# usage: findings/etcd-lock-tools.sh, some 30 s; needs curl and Debian's etcd-server, etcd-client and python3-etcd3. It
# fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
url=http://127.0.0.1:$port
cd "$work"
etcd --data-dir data --listen-client-urls "$url" --advertise-client-urls "$url" \
	--listen-peer-urls "http://127.0.0.1:$((port + 1))" >etcd.log 2>&1 &
server=$!
trap 'kill $server; wait || true; rm -rf "$work"' EXIT
export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=127.0.0.1:$port
status=0
check() { # what, got, want
	changed=
	if [ "$2" != "$3" ]; then
		changed='CHANGED: '
		status=1
	fi
	echo "$changed$1: $2"
}
curl -sf --retry 60 --retry-delay 1 --retry-connrefused "$url/health" >/dev/null

# holds NAME: etcdctl lock runs a command of 6 s, which writes into NAME when it begins and when it ends.
holds() {
	etcdctl lock --ttl=2 "$1" -- sh -c "echo begins >$1; sleep 6; echo ends >$1" 2>/dev/null &
	tool=$!
	timeout 20 sh -c "until [ -s $1 ]; do sleep 0.1; done"
}
# follows NAME: a second etcdctl lock comes, and says how far the first command is when it is in.
follows() {
	timeout 20 etcdctl lock "$1" -- cat "$1"
}
ends() {
	code=0
	wait "$tool" || code=$?
}
holds deleted
etcdctl del --prefix deleted/ >/dev/null
check 'etcdctl lock, the key is deleted, another is in while the first command' "$(follows deleted)" begins
ends
check 'etcdctl lock, exit status' "$code" 0
holds stopped
kill -STOP "$tool"
check 'etcdctl lock, stopped, another is in while the first command' "$(follows stopped)" begins
kill -CONT "$tool"
ends
check 'etcdctl lock, exit status' "$code" 0
holds killed
disown "$tool"
kill -KILL "$tool"
check 'etcdctl lock, killed, another is in while the first command' "$(follows killed)" begins
holds terminated
kill -TERM "$tool"
check 'etcdctl lock, SIGTERM, another is in when the first command' "$(follows terminated)" ends
ends
check 'etcdctl lock, exit status' "$code" 0
# shellcheck disable=SC2016 # the command under the locks expands it
told=$(etcdctl lock outer -- etcdctl lock inner -- \
	sh -c 'echo ${ETCD_LOCK_KEY%%/*}, $ETCD_LOCK_REV; etcdctl get --prefix outer/ -w fields')
revision=$(sed -n 's/^"CreateRevision" : //p' <<<"$told")
check 'two locks, the command is told the key and the revision of' "$(head -1 <<<"$told")" "outer, $revision"
code=0
etcdctl lock fails -- sh -c 'exit 3' 2>/dev/null || code=$?
check 'etcdctl lock, the command ends with 3, exit status' "$code" 1

ask() { curl -s "$url/v3/lock/$1" -d "{\"$2\":\"$(printf %s "$3" | base64 -w0)\"}"; }
ask lock name service >/dev/null
key=$(etcdctl get --prefix service/ --keys-only | head -1)
sleep 3
left=$(etcdctl lease timetolive "${key#service/}" |
	sed -E 's/.*(TTL.*), remaining\(5[0-8]s\)/\1, and less is left after 3 s/')
check 'lock without a lease' "$left" 'TTL(60s), and less is left after 3 s'
check 'unlock of that key' "$(ask unlock key "$key" | grep -o header)" header
check 'locks that are left' "$(etcdctl get --prefix service/ --keys-only)" ''
etcdctl put config value >/dev/null
check 'unlock of a key that is not a lock' "$(ask unlock key config | grep -o -e header -e error)" header
check 'its value afterwards' "$(etcdctl get config)" ''
check 'unlock of a key that is not there' "$(ask unlock key nothing | grep -o -e header -e error)" header

cat >finding.py <<'PY'
import sys
import time

import etcd3

holder, other = (etcd3.client(port=int(sys.argv[1])).lock("python", ttl=30) for _ in range(2))
assert holder.acquire()
begin = time.monotonic()
try:
    got = str(other.acquire(timeout=2))
except TypeError:
    got = "TypeError"
print(got, "at once" if time.monotonic() - begin < 1.5 else "later")
PY
got=$(timeout 30 /usr/bin/python3 finding.py "$port")
check 'python3-etcd3, another holds, acquire(timeout=2)' "$got" 'TypeError at once'
exit $status
