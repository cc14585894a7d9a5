#!/usr/bin/env bash
# What the counters of kazoo and Curator read and write on one path.
#
# One would guess: kazoo's Counter with support_curator shares a path with each of Curator's counters; a counter that
# finds a value in another's format says so, and leaves it; a counter has one value, for each of its readers.
#
# Seen with kazoo 2.8.0, Curator 5.4.0 and ZooKeeper 3.8.0 (Debian 12); "text" is kazoo's Counter as it is by default,
# and "4 bytes" is the one with support_curator:
#   4 bytes meets DistributedAtomicLong: struct.error; SharedCount and DistributedAtomicInteger share a value with it
#   4 bytes meets 1234 of text: 825373492, and one more is 825373493
#   SharedCount and DistributedAtomicInteger meet 1234 of text: 825373492; with 5 of text they throw
#   DistributedAtomicLong meets 12345678 of text: 3544952156018063160, and one more is text's 12345679
#   DistributedAtomicInteger adds 1 to the 5 of a DistributedAtomicLong: it says 1, succeeded, and cuts the node to 4
#     bytes, which the other then calls corrupted
#   two Counters of one path, default=5 and default=100: they read 5 and 100, until one of them adds 1
#   Integer.MAX_VALUE and one more: 4 bytes: struct.error; DistributedAtomicInteger: succeeded, -2147483648
# Nothing in a node says what its bytes are: what has the right length is taken for a number. SharedCount and
# DistributedAtomicInteger use 4 bytes and DistributedAtomicLong 8; kazoo writes digits. A Counter that was never
# changed is an empty node, which each reader takes for its own default.
#
# usage: findings/counters.sh, some 30 s; needs Debian's zookeeper, libcurator-recipes-java, default-jdk-headless and
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
cat >"$work/Finding.java" <<'JAVA'
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.RetryNTimes;

public class Finding {
    static boolean failed;
    static CuratorFramework client;

    static void check(String what, Callable<?> call, String want) {
        String got;
        try {
            got = "" + call.call();
        } catch (Exception e) {
            got = e.getClass().getSimpleName();
        }
        failed |= !got.equals(want);
        System.out.println((got.equals(want) ? "" : "CHANGED: ") + "Curator, " + what + ": " + got);
    }

    static DistributedAtomicLong ofLong(String path) {
        return new DistributedAtomicLong(client, path, new RetryNTimes(3, 10));
    }

    static DistributedAtomicInteger ofInteger(String path) {
        return new DistributedAtomicInteger(client, path, new RetryNTimes(3, 10));
    }

    static String value(AtomicValue<?> value) {
        return value.succeeded() ? "" + value.postValue() : "not succeeded";
    }

    static int shared(String path) throws Exception {
        try (var count = new SharedCount(client, path, 0)) {
            count.start();
            return count.getCount();
        }
    }

    static String bytes(String path) throws Exception {
        return Arrays.toString(client.getData().forPath(path));
    }

    public static void main(String[] args) throws Exception {
        client = CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        if (args[1].equals("first")) {
            check("SharedCount of text's 1234", () -> shared("/1234"), "825373492");
            check("DistributedAtomicInteger of text's 1234", () -> value(ofInteger("/1234").get()), "825373492");
            check("SharedCount of text's 5", () -> shared("/5"), "BufferUnderflowException");
            check("DistributedAtomicInteger of text's 5", () -> value(ofInteger("/5").get()), "RuntimeException");
            check("DistributedAtomicLong of text's 12345678", () -> value(ofLong("/12345678").get()),
                "3544952156018063160");
            check("and one more", () -> value(ofLong("/12345678").increment()), "3544952156018063161");
            check("DistributedAtomicLong, 5", () -> value(ofLong("/long").add(5L)), "5");
            check("DistributedAtomicLong, 5", () -> value(ofLong("/cut").add(5L)), "5");
            check("DistributedAtomicInteger adds 1 to it", () -> value(ofInteger("/cut").increment()), "1");
            check("the bytes", () -> bytes("/cut"), "[0, 0, 0, 1]");
            check("DistributedAtomicLong reads it", () -> value(ofLong("/cut").get()), "RuntimeException");
            check("DistributedAtomicInteger, 5", () -> value(ofInteger("/integer").add(5)), "5");
            check("DistributedAtomicInteger, the most", () -> value(ofInteger("/most").add(Integer.MAX_VALUE)),
                "2147483647");
        } else {
            check("SharedCount after 4 bytes' 6", () -> shared("/integer"), "6");
            check("DistributedAtomicInteger after 4 bytes' 6", () -> value(ofInteger("/integer").get()), "6");
            check("DistributedAtomicInteger, the most, and one more", () -> value(ofInteger("/most").increment()),
                "-2147483648");
        }
        Runtime.getRuntime().halt(failed ? 1 : 0);
    }
}
JAVA
cat >"$work/finding.py" <<'PY'
import sys

from kazoo.client import KazooClient

failed = False


def check(what, call, want):
    global failed
    try:
        got = call()
    except Exception as e:
        got = f"{type(e).__module__}.{type(e).__name__}"
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + f"kazoo, {what}: {got}")


client = KazooClient(hosts=sys.argv[1], timeout=10)
client.start(timeout=60)


def bytes4(path):
    return client.Counter(path, support_curator=True)


if sys.argv[2] == "first":
    for number in 5, 1234, 12345678:
        check(f"text, {number}", lambda: (client.Counter(f"/{number}") + number).value, number)
    five, hundred = client.Counter("/default", default=5), client.Counter("/default", default=100)
    check("text, default=5, default=100", lambda: (five.value, hundred.value), (5, 100))
    check("the bytes", lambda: client.get("/default")[0], b"")
    check("the second adds 1", lambda: ((hundred + 1).value, five.value), (101, 101))
else:
    check("text, one more, by DistributedAtomicLong", lambda: client.Counter("/12345678").value, 12345679)
    check("4 bytes of DistributedAtomicLong's 5", lambda: bytes4("/long").value, "struct.error")
    check("text of DistributedAtomicLong's 5", lambda: client.Counter("/long").value, "builtins.ValueError")
    check("4 bytes of DistributedAtomicInteger's 5, and one more", lambda: (bytes4("/integer") + 1).value, 6)
    check("4 bytes of text's 1234, and one more", lambda: (bytes4("/1234") + 1).value, 825373493)
    check("4 bytes, the most, and one more", lambda: (bytes4("/most") + 1).value, "struct.error")
sys.exit(failed)
PY
status=0
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" curator-recipes curator-framework curator-client zookeeper zookeeper-jute \
	guava slf4j-api slf4j-nop)
for turn in first second; do
	timeout $((110 - SECONDS)) /usr/bin/python3 "$work/finding.py" "127.0.0.1:$port" $turn || status=1
	timeout $((110 - SECONDS)) java -cp "$path" "$work/Finding.java" "127.0.0.1:$port" $turn || status=1
done
exit $status
