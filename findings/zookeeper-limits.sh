#!/usr/bin/env bash
# How long a lock on ZooKeeper waits that was given a limit: kazoo's Lock, Curator's InterProcessMultiLock and
# InterProcessSemaphoreV2.
#
# One would guess: a limit is the longest time that the call takes; two leases that are free are given to one of two
# clients that want both.
#
# Seen with kazoo 2.8.0, Curator 5.4.0 and ZooKeeper 3.8.0 (Debian 12):
#   kazoo: acquire(timeout=2) behind two that give up after 1.7 and 3.4 s, and a holder that stays: LockTimeout after
#     5.4 s
#   Curator: acquire(2 s) of two locks that are released after 1.5 and 3 s: true after 3 s
#   Curator: two clients ask for both of two leases, with a limit of 4 s, and another returns both after 1 s: the first
#     gets none, after 4 s; the second both, but not before the first has given up
# kazoo's limit starts again when the node before its own goes. That of the multi lock is for each of its locks. The two
# clients have taken a lease each, and wait for each other until the limit of one ends, though nobody else has a lease.
#
# usage: findings/zookeeper-limits.sh, some 25 s; needs Debian's zookeeper, libcurator-recipes-java,
# default-jdk-headless and python3-kazoo. It fails if any of that changes.
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

import kazoo
from kazoo.client import KazooClient

failed = False


def client():
    c = KazooClient(hosts=sys.argv[1], timeout=10)
    c.start(timeout=60)
    return c


holder, waiter, *others = (client() for _ in range(4))
holder.Lock("/lock").acquire()


def gives_up(c, after):
    try:
        c.Lock("/lock").acquire(timeout=after)
    except kazoo.exceptions.LockTimeout:
        pass


for nodes, (c, after) in enumerate(zip(others, (3.4, 1.7)), 2):
    threading.Thread(target=gives_up, args=(c, after), daemon=True).start()
    while len(holder.get_children("/lock")) < nodes:
        time.sleep(0.01)
begin = time.monotonic()
try:
    got = str(waiter.Lock("/lock").acquire(timeout=2))
except kazoo.exceptions.LockTimeout:
    got = "LockTimeout"
took = time.monotonic() - begin
good = got == "LockTimeout" and 4.5 < took < 7
print(("" if good else "CHANGED: ") + f"kazoo, acquire(timeout=2) behind two that give up: {got} after {took:.1f} s")
sys.exit(not good)
PY
cat >"$work/Finding.java" <<'JAVA'
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.retry.RetryNTimes;

public class Finding {
    record Outcome(String got, double after) {}

    static boolean failed;

    static void check(String what, Outcome o, String want, double least, double most) {
        boolean good = o.got.equals(want) && o.after > least && o.after < most;
        failed |= !good;
        System.out.printf("%sCurator, %s: %s after %.1f s%n", good ? "" : "CHANGED: ", what, o.got, o.after);
    }

    static Outcome time(Callable<?> call) throws Exception {
        long begin = System.nanoTime();
        String got = "" + call.call();
        return new Outcome(got, (System.nanoTime() - begin) / 1e9);
    }

    static CuratorFramework connect(String servers) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(servers, new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    static Outcome both(CuratorFramework client) throws Exception {
        return time(() -> {
            var leases = new InterProcessSemaphoreV2(client, "/semaphore", 2).acquire(2, 4, TimeUnit.SECONDS);
            return leases == null ? "none" : "" + leases.size();
        });
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework holder = connect(args[0]);
        CuratorFramework one = connect(args[0]);
        CuratorFramework two = connect(args[0]);
        var pool = Executors.newCachedThreadPool();

        var held = new CountDownLatch(2);
        for (var lock : List.of("/first", "/second")) {
            pool.submit(() -> {
                var mutex = new InterProcessMutex(holder, lock);
                mutex.acquire();
                held.countDown();
                held.await();
                Thread.sleep(lock.equals("/first") ? 1500 : 3000);
                mutex.release();
                return null;
            });
        }
        held.await();
        var multi = new InterProcessMultiLock(one, List.of("/first", "/second"));
        check("acquire(2 s) of two locks", time(() -> multi.acquire(2, TimeUnit.SECONDS)), "true", 2.3, 4);

        var semaphore = new InterProcessSemaphoreV2(holder, "/semaphore", 2);
        var leases = semaphore.acquire(2);
        var first = pool.submit(() -> both(one));
        Thread.sleep(500);
        var second = pool.submit(() -> both(two));
        Thread.sleep(500);
        semaphore.returnAll(leases);
        check("both of two leases, 4 s, the first client", first.get(), "none", 3.9, 6);
        check("and the second client", second.get(), "2", 3, 4.1);
        Runtime.getRuntime().halt(failed ? 1 : 0);
    }
}
JAVA
status=0
timeout 60 /usr/bin/python3 "$work/finding.py" "127.0.0.1:$port" || status=1
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" curator-recipes curator-framework curator-client zookeeper zookeeper-jute \
	guava slf4j-api slf4j-nop)
timeout 60 java -cp "$path" "$work/Finding.java" "127.0.0.1:$port" || status=1
exit $status
