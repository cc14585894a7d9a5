#!/usr/bin/env bash
# What kazoo's and Curator's locks say when the session of their holder has expired, and another has the lock.
#
# One would guess: a lock that is lost says so; to ask for it again waits; its release is an error; a queue entry that
# another client has consumed is not handed out.
#
# Seen with kazoo 2.8.0, Curator 5.4.0 and ZooKeeper 3.8.0 (Debian 12), after the client has a new session:
#   kazoo, Lock, WriteLock and ReadLock: is_acquired is True; acquire(timeout=1) answers False, and does not raise
#     LockTimeout; release() answers True
#   kazoo, Semaphore: is_acquired is True
#   kazoo, LockingQueue, another client has consumed the entry: get() hands it out again and again; holds_lock() and
#     consume() raise NoNodeError
#   Curator, InterProcessMutex: isAcquiredInThisProcess is true; acquire(1 s) of the same thread answers true; no
#     release throws
#   Curator, InterProcessSemaphoreV2: close() of the lease throws nothing
#   Curator, LeaderLatch: hasLeadership is false
# The lock of the other client stays in each case. Only the latch looks at the session: for the others a program needs a
# listener of its own, for LOST, and a new lock after that.
#
# usage: findings/after-expiry.sh, some 30 s; needs Debian's zookeeper, libcurator-recipes-java, default-jdk-headless
# and python3-kazoo. It fails if any of that changes.
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

import kazoo
from kazoo.client import KazooClient

failed = False


def check(what, got, want):
    global failed
    failed = failed or got != want
    print(("" if got == want else "CHANGED: ") + "kazoo, " + what + f": {got}")


def client(session=None):
    c = KazooClient(hosts=sys.argv[1], timeout=10, client_id=session)
    c.start(timeout=60)
    return c


def expire(c):
    """Ends the session of a client from elsewhere, which it takes for an expiry, and waits for its next session."""
    lost, back = threading.Event(), threading.Event()

    def listen(state):
        if state == "LOST":
            lost.set()
        elif state == "CONNECTED" and lost.is_set():
            back.set()

    c.add_listener(listen)
    client(c.client_id).stop()
    assert back.wait(30)
    c.remove_listener(listen)


def does(call, *args, **kwargs):
    try:
        return call(*args, **kwargs)
    except Exception as e:
        return type(e).__name__


one, two = client(), client()
for kind, rival in ("Lock",) * 2, ("WriteLock",) * 2, ("ReadLock", "WriteLock"), ("Semaphore",) * 2:
    lost, held = getattr(one, kind)("/" + kind), getattr(two, rival)("/" + kind)
    lost.acquire()
    expire(one)
    check(kind + ", another acquires", held.acquire(timeout=10), True)
    check(kind + ", is_acquired", lost.is_acquired, True)
    if kind != "Semaphore":
        check(kind + ", acquire(timeout=1)", does(lost.acquire, timeout=1), False)
        check(kind + ", release()", does(lost.release), True)
    check(kind + ", the nodes that are left", len(one.get_children("/" + kind)), 1)

lost, other = one.LockingQueue("/queue"), two.LockingQueue("/queue")
lost.put(b"first")
lost.put(b"second")
lost.get(10)
expire(one)
check("LockingQueue, another gets and consumes", (other.get(10), other.consume()), (b"first", True))
check("LockingQueue, get()", does(lost.get, 10), b"first")
check("LockingQueue, holds_lock(), consume()", (does(lost.holds_lock), does(lost.consume)),
      ("NoNodeError", "NoNodeError"))
check("LockingQueue, get() again", does(lost.get, 10), b"first")
sys.exit(failed)
PY
cat >"$work/Finding.java" <<'JAVA'
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

public class Finding {
    interface Call {
        Object run() throws Exception;
    }

    static boolean failed;

    static void check(String what, Call call, String want) {
        String got;
        try {
            got = "" + call.run();
        } catch (Exception e) {
            got = e.getClass().getSimpleName();
        }
        failed |= !got.equals(want);
        System.out.println((got.equals(want) ? "" : "CHANGED: ") + "Curator, " + what + ": " + got);
    }

    static CuratorFramework connect(String servers) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(servers, 10_000, 10_000, new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    /** Ends the session of a client from elsewhere, which it takes for an expiry, and waits for its next session. */
    static void expire(CuratorFramework client, String servers) throws Exception {
        var back = new CountDownLatch(1);
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (state == ConnectionState.RECONNECTED) {
                back.countDown();
            }
        });
        ZooKeeper zk = client.getZookeeperClient().getZooKeeper();
        var connected = new CountDownLatch(1);
        var second = new ZooKeeper(servers, 10_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        }, zk.getSessionId(), zk.getSessionPasswd());
        connected.await();
        second.close();
        if (!back.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the client has no new session");
        }
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework one = connect(args[0]);
        CuratorFramework two = connect(args[0]);
        var mutex = new InterProcessMutex(one, "/mutex");
        mutex.acquire();
        var lease = new InterProcessSemaphoreV2(one, "/semaphore", 1).acquire();
        var latch = new LeaderLatch(one, "/latch");
        latch.start();
        latch.await();
        var next = new LeaderLatch(two, "/latch");
        next.start();
        expire(one, args[0]);
        var held = new InterProcessMutex(two, "/mutex");
        check("mutex, another acquires", () -> held.acquire(10, TimeUnit.SECONDS), "true");
        check("mutex, isAcquiredInThisProcess", mutex::isAcquiredInThisProcess, "true");
        check("mutex, acquire(1 s) of the same thread", () -> mutex.acquire(1, TimeUnit.SECONDS), "true");
        Call release = () -> {
            mutex.release();
            return "silent";
        };
        check("mutex, release", release, "silent");
        check("mutex, release of the first acquire", release, "silent");
        check("mutex, the nodes that are left", () -> two.getChildren().forPath("/mutex").size(), "1");

        var other = new InterProcessSemaphoreV2(two, "/semaphore", 1);
        check("semaphore, another acquires", () -> other.acquire(10, TimeUnit.SECONDS) != null, "true");
        check("semaphore, close", () -> {
            lease.close();
            return "silent";
        }, "silent");
        check("semaphore, the nodes that are left", () -> other.getParticipantNodes().size(), "1");
        check("latch, another leads", () -> next.await(10, TimeUnit.SECONDS), "true");
        check("latch, hasLeadership", latch::hasLeadership, "false");
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
