#!/usr/bin/env bash
# What a double barrier counts: kazoo's DoubleBarrier and Curator's DistributedDoubleBarrier.
#
# One would guess: a member that has given up is not counted; when all members of a round have ended, the next round
# starts from nothing; the barriers of two libraries do not know each other.
#
# Seen with kazoo 2.8.0, Curator 5.4.0 and ZooKeeper 3.8.0 (Debian 12):
#   Curator, two members: the first one's enter(1 s) answers false; then the second one's answers true, alone
#   Curator, the members of a round of two end without leave(): in the next round the first is in, alone
#   kazoo, the same: the first is in, alone
#   kazoo, with three: the second is in, and the first waits on
#   kazoo and Curator on one path: they enter together, and leave together
# The node of the member that gave up stays until its session ends. The node "ready" of a round is an ordinary one, and
# only leave() deletes it: it lets Curator's members pass, and kazoo counts it as a member. Give each round a path of
# its own.
#
# usage: findings/barriers.sh, some 30 s; needs Debian's zookeeper, libcurator-recipes-java, default-jdk-headless and
# python3-kazoo. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' \
	"$work/data" "$port" >"$work/zoo.cfg"
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar \
	org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cat >"$work/Member.java" <<'JAVA'
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.retry.RetryNTimes;

/** A member enters, prints what enter says, and waits for a line. Without one it ends; after one it leaves first. */
public class Member {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        var barrier = new DistributedDoubleBarrier(client, args[1], Integer.parseInt(args[2]));
        System.out.println(barrier.enter(Integer.parseInt(args[3]), TimeUnit.SECONDS));
        if (System.in.read() >= 0) {
            System.out.println(barrier.leave(10, TimeUnit.SECONDS));
        }
        client.close();
        Runtime.getRuntime().halt(0);
    }
}
JAVA
cat >"$work/finding.py" <<'PY'
import subprocess
import sys
import threading

from kazoo.client import KazooClient

failed = False
servers, path = sys.argv[1:]


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + what + ": " + got)


def connect():
    client = KazooClient(hosts=servers, timeout=10)
    client.start(timeout=60)
    return client


class Kazoo:
    def __init__(self, barrier, count):
        self.client = connect()
        self.barrier = self.client.DoubleBarrier(barrier, count)
        self.thread = threading.Thread(target=self.barrier.enter, daemon=True)
        self.thread.start()

    def entered(self, patience=2):
        self.thread.join(patience)
        return "waits" if self.thread.is_alive() else "in"

    def end(self):
        self.client.stop()


class Curator:
    def __init__(self, barrier, count, limit):
        self.process = subprocess.Popen(["java", "-cp", path, "Member", servers, barrier, str(count), str(limit)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def said(self):
        return self.process.stdout.readline().strip()

    def leave(self):
        self.process.stdin.write("\n")
        self.end()

    def end(self):
        self.process.stdin.close()


quits = Curator("/quits", 2, 1)
first = quits.said()
alone = Curator("/quits", 2, 5)
check("Curator, enter(1 s) of the first of two, then enter(5 s) of the second", first + ", " + alone.said(),
      "false, true")
quits.end()
alone.end()

watch = connect()
members = [Curator("/curator", 2, 10) for _ in range(2)]
for member in members:
    assert member.said() == "true"
for member in members:
    member.end()
    member.process.wait()
check("Curator, a round of two has ended without leave, nodes", str(watch.get_children("/curator")), "['ready']")
alone = Curator("/curator", 2, 5)
check("Curator, the next round, enter(5 s) of the first of two", alone.said(), "true")
alone.end()

for count, want in (2, "in"), (3, "waits, in"):
    barrier = f"/kazoo{count}"
    members = [Kazoo(barrier, count) for _ in range(count)]
    for member in members:
        assert member.entered(10) == "in"
    for member in members:
        member.end()
    came = []
    for _ in range(count - 1):
        came.append(Kazoo(barrier, count))
        came[-1].entered()
    check(f"kazoo, the round after one of {count} without leave, all but one come",
          ", ".join(c.entered() for c in came), want)

one = Kazoo("/both", 2)
check("kazoo and Curator on one path, the first of two", one.entered(), "waits")
other = Curator("/both", 2, 10)
check("the second comes", other.said() + ", " + one.entered(), "true, in")
leaves = threading.Thread(target=one.barrier.leave, daemon=True)
leaves.start()
leaves.join(2)
check("kazoo's member leaves", "waits" if leaves.is_alive() else "out", "waits")
other.leave()
leaves.join(10)
check("Curator's leaves, too", other.said() + ", " + ("waits" if leaves.is_alive() else "out"), "true, out")
sys.exit(failed)
PY
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" curator-recipes curator-framework curator-client zookeeper zookeeper-jute \
	guava slf4j-api slf4j-nop)
javac -cp "$path" -d "$work" "$work/Member.java"
timeout 120 /usr/bin/python3 "$work/finding.py" "127.0.0.1:$port" "$path$work"
