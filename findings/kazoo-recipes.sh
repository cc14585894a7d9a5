#!/usr/bin/env bash
# What kazoo's transactions, queues, parties and partitioners do that few expect.
#
# One would guess: a transaction that fails raises; the next entry of a queue is the one that comes first by now;
# members of one name are one member; a member whose session has expired does not say that it takes part; two
# partitioners have all of the set between them.
#
# Seen with kazoo 2.8.0 and ZooKeeper 3.8.0 (Debian 12):
#   with client.transaction() as t: t.check(lock, version), t.set_data(...): the version is another: nothing is raised,
#     and nothing written
#   the same with commit(): it returns [BadVersionError, RuntimeInconsistency], and raises nothing
#   Queue, get() of the first of three entries, then put(..., priority=1): it comes after the two others
#   LockingQueue, the same: it is the next
#   Party, two clients with one identifier: it has two members of one name; one leaves: the name is still there
#   Party, the session expires: participating is True, and nobody is in it
#   SetPartitioner, two clients of one process, no identifier: one has half of the set, the other never any
# A late write is kept out by such a check, but only a program that looks at the results knows: the end of a "with"
# drops them. A Queue keeps the names that it has read until it has handed out the last. The partitioner's identifier is
# the host's name and the process's number, if none is given: both want the same half.
#
# usage: findings/kazoo-recipes.sh, some 20 s; needs Debian's zookeeper and python3-kazoo. It fails if any of that
# changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' \
	"$work/data" "$port" >"$work/zoo.cfg"
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar \
	org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cat >"$work/finding.py" <<'PY'
import sys
import threading
import time

from kazoo.client import KazooClient

failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + f"{what}: {got}")


def does(call, *args):
    try:
        return call(*args)
    except Exception as e:
        return type(e).__name__


def client(session=None):
    c = KazooClient(hosts=sys.argv[1], timeout=10, client_id=session)
    c.start(timeout=60)
    return c


one, two = client(), client()

one.create("/fence", b"old")


def late_write():
    with one.transaction() as t:
        t.check("/fence", 7)
        t.set_data("/fence", b"new")
    return "silent"


check("with transaction(), the check fails", does(late_write), "silent")
check("the data", one.get("/fence")[0], b"old")
t = one.transaction()
t.check("/fence", 7)
t.set_data("/fence", b"new")
results = does(t.commit)
check("commit() returns", [type(r).__name__ for r in results], ["BadVersionError", "RuntimeInconsistency"])

queue, locking = one.Queue("/queue"), one.LockingQueue("/locking")
for q, take in (queue, queue.get), (locking, lambda: (locking.get(5), locking.consume())[0]):
    for entry in b"first", b"second", b"third":
        q.put(entry)
    got = [take()]
    q.put(b"urgent", priority=1)
    got += [take() for _ in range(3)]
    order = [b"second", b"third", b"urgent"] if q is queue else [b"urgent", b"second", b"third"]
    check(type(q).__name__, got, [b"first"] + order)

mine, other = one.Party("/party", "me"), two.Party("/party", "me")
mine.join()
other.join()
check("Party, two of one name", list(mine), ["me", "me"])
other.leave()
check("one has left", list(other), ["me"])

# To end the session of a client from elsewhere is an expiry for it.
lost, back = threading.Event(), threading.Event()


def listen(state):
    if state == "LOST":
        lost.set()
    elif state == "CONNECTED" and lost.is_set():
        back.set()


one.add_listener(listen)
client(one.client_id).stop()
assert back.wait(30)
time.sleep(2)
check("expired, participating, and the members", (mine.participating, list(mine)), (True, []))

whole = {"a", "b", "c", "d"}
for path, names, want in ("/parts", (None, None), [0, 2]), ("/parts-of-names", ("one", "two"), [2, 2]):
    parts = [c.SetPartitioner(path, whole, identifier=n, time_boundary=0.5) for c, n in zip((one, two), names)]
    end = time.monotonic() + (8 if want == [0, 2] else 20)
    while time.monotonic() < end and not all(p.acquired for p in parts):
        for p in parts:
            if p.allocating:
                p.wait_for_acquire(1)
            elif p.release:
                p.release_set()
    check(f"SetPartitioner, identifiers {names}, the sizes", sorted(len(list(p)) for p in parts), want)
    for p in parts:
        p.finish()
sys.exit(failed)
PY
timeout 100 /usr/bin/python3 "$work/finding.py" "127.0.0.1:$port"
