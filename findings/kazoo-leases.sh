#!/usr/bin/env bash
# Whom kazoo's leases keep out, and for how long, and what Election.cancel ends.
#
# One would guess: a NonBlockingLease has one holder; it lasts as long as was asked for; a holder of a
# MultiNonBlockingLease has one of its leases; Election.cancel ends what is under way, and nothing else.
#
# Seen with kazoo 2.8.0 and ZooKeeper 3.8.0 (Debian 12):
#   two clients on one machine, no identifier: both have the lease, which is to last for an hour
#   a lease of 0.5 s, taken early in a second: another identifier has it at once, too
#   two leases, one ends, the holder of the other renews: it has both, and a third client gets none
#   the leader cancels the election that it leads: its next run() returns at once, and never calls the function
# An identifier is the host's name, if none is given. The end of a lease is stored in whole seconds, rounded down, so a
# lease is up to a second shorter than what was asked for. To renew, MultiNonBlockingLease takes the first lease that it
# can have.
#
# usage: findings/kazoo-leases.sh, some 15 s; needs Debian's zookeeper and python3-kazoo. It fails if any of that
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
import datetime
import json
import sys
import time

import kazoo
from kazoo.client import KazooClient

failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + what + f": {got}")


def client():
    c = KazooClient(hosts=sys.argv[1], timeout=10)
    c.start(timeout=60)
    return c


def seconds(n):
    return datetime.timedelta(seconds=n)


one, two, three = client(), client(), client()
print("kazoo", kazoo.__version__)
leases = [c.NonBlockingLease("/nightly", seconds(3600)) for c in (one, two)]
check("two clients on one machine, the second one after the first", [bool(lease) for lease in leases], [True, True])
end = json.loads(one.get("/nightly/lease_holder")[0])["end"]
left = datetime.datetime.strptime(end, "%Y-%m-%dT%H:%M:%S") - datetime.datetime.utcnow()
check("there is half an hour left", left > seconds(1800), True)
other = two.NonBlockingLease("/nightly", seconds(3600), identifier="another")
check("another identifier", bool(other), False)

time.sleep(1.02 - time.time() % 1)  # early in a second
first = one.NonBlockingLease("/short", seconds(0.5), identifier="one")
second = two.NonBlockingLease("/short", seconds(0.5), identifier="two")
check("a lease of 0.5 s, and another client at once", [bool(first), bool(second)], [True, True])


def multi(c, identifier, lasts):
    return bool(c.MultiNonBlockingLease(2, "/pair", seconds(lasts), identifier=identifier))


check("two leases, three clients", [multi(one, "one", 3), multi(two, "two", 60), multi(three, "three", 60)],
      [True, True, False])
time.sleep(3)
renewed = multi(two, "two", 60)
holders = [json.loads(one.get(f"/pair/{i}/lease_holder")[0])["holder"] for i in range(2)]
check("the first one's ends, the second client renews, the holders", (renewed, holders), (True, ["two", "two"]))
check("the third client", multi(three, "three", 60), False)

election, led = one.Election("/leader"), []


def lead(n):
    led.append(n)
    if n == 1:
        election.cancel()


for n in (1, 2, 3):
    election.run(lead, n)
check("the first of three runs cancels, those that led", led, [1, 3])
sys.exit(failed)
PY
timeout 60 /usr/bin/python3 "$work/finding.py" "127.0.0.1:$port"
