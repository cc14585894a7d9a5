#!/usr/bin/env bash
# Whom kazoo's locks wait for, and what they do when the parent of their nodes is a container.
#
# One would guess: a Lock and a ReadLock on one path exclude each other, as a Lock and a WriteLock do; a Lock makes its parent
# again if that has gone; a Semaphore takes a node that is there, whatever its data.
#
# Seen with kazoo 2.8.0 and ZooKeeper 3.8.0 (Debian 12):
#   ReadLock holds, Lock comes: acquired
#   Lock holds, ReadLock comes: waits
#   the container has gone, the Lock was used before: NoNodeError, and NoNodeError the next time
#   the container has gone, the Lock is new: acquired
#   Semaphore on a node without data: AttributeError
#
# usage: findings/kazoo-locks.sh, some 10 s; needs Debian's zookeeper and python3-kazoo. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$work/data" "$port" >"$work/zoo.cfg"
java -Dznode.container.checkIntervalMs=500 -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar \
	org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cat >"$work/finding.py" <<'PY'
import sys
import time

import kazoo
from kazoo.client import KazooClient

failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + what + ": " + got)


def client():
    c = KazooClient(hosts=sys.argv[1], timeout=10)
    c.start(timeout=60)
    return c


def tries(lock):
    try:
        return "acquired" if lock.acquire(timeout=1) else "not acquired"
    except kazoo.exceptions.LockTimeout:
        return "waits"
    except Exception as e:
        return type(e).__name__


one, two = client(), client()
print("kazoo", kazoo.__version__)
reader = one.ReadLock("/a")
reader.acquire()
lock = two.Lock("/a")
check("ReadLock holds, Lock comes", tries(lock), "acquired")
reader.release()
check("Lock holds, ReadLock comes", tries(one.ReadLock("/a")), "waits")
lock.release()

lock = two.Lock("/container")
tries(lock)
lock.release()
for _ in range(600):
    if not one.exists("/container"):
        break
    time.sleep(0.05)
check("the container has gone, the Lock was used before", tries(lock) + ", and " + tries(lock) + " the next time",
      "NoNodeError, and NoNodeError the next time")
check("the container has gone, the Lock is new", tries(two.Lock("/container")), "acquired")
check("Semaphore on a node without data", tries(two.Semaphore("/empty")), "AttributeError")
sys.exit(failed)
PY
for path in /container /empty; do
	for _ in {1..60}; do
		timeout 20 /usr/share/zookeeper/bin/zkCli.sh -server "127.0.0.1:$port" create -c "$path" 2>&1 | grep -q -e Created -e exists && break
		sleep 1
	done
done
timeout 120 /usr/bin/python3 "$work/finding.py" "127.0.0.1:$port"
