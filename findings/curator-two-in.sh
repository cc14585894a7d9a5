#!/usr/bin/env bash
# When two clients have what Curator gives to one: the downgrade of a read-write lock, a leader whose node is deleted,
# and a persistent node that two clients want.
#
# One would guess: a writer that downgrades, as the documentation of InterProcessReadWriteLock allows, keeps writers
# out; a leader whose node goes stops leading, or at least says so; of two clients with one PersistentNode the second
# waits, or is told; a sequential node that is made again has a new number.
#
# Seen with Curator 5.4.0 and ZooKeeper 3.8.0 (Debian 12):
#   the writer takes the read lock too, and releases the write lock; no writer waits: the next writer waits
#   the same, and another writer has waited since before: it is in at once, while the first reads
#   LeaderLatch and LeaderSelector, the leader's node is deleted: both clients lead, and nobody is interrupted;
#     getLeader() of the first leader names the second
#   PersistentNode, a second client with the same path: waitForInitialCreate is true for both, and its data replace
#     those of the first; when it closes, the node is made again, with the data of the first
#   PersistentNode, EPHEMERAL_SEQUENTIAL, its session expires: the node is made again with its old number
# The reader's node is made behind those of the writers that wait, and a writer waits only for nodes before its own: that
# is CURATOR-621, which a later version mends. A leader does not watch its own node. A persistent node remembers its
# path: after an expiry it is again before all that came after it, and a queue of such nodes lets it in first.
#
# usage: findings/curator-two-in.sh, some 30 s; needs Debian's zookeeper, libcurator-recipes-java and
# default-jdk-headless. It fails if any of that changes.
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
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

public class Finding {
    static boolean failed;

    static void check(String what, Object got, Object want) {
        failed |= !got.equals(want);
        System.out.println((got.equals(want) ? "" : "CHANGED: ") + what + ": " + got);
    }

    static void until(Callable<Boolean> done) throws Exception {
        for (int i = 0; !done.call(); i++) {
            if (i == 1000) {
                throw new IllegalStateException("waited for 10 s");
            }
            Thread.sleep(10);
        }
    }

    static CuratorFramework connect(String servers) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(servers, 10_000, 10_000, new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    static int nodes(CuratorFramework client, String path) throws Exception {
        return client.getChildren().forPath(path).size();
    }

    static void deleteNodeOf(String id, CuratorFramework client, String path) throws Exception {
        for (String child : client.getChildren().forPath(path)) {
            if (new String(client.getData().forPath(path + "/" + child)).equals(id)) {
                client.delete().forPath(path + "/" + child);
            }
        }
    }

    static void downgrade(CuratorFramework one, CuratorFramework two, boolean queued) throws Exception {
        String path = "/rw-" + queued;
        var mine = new InterProcessReadWriteLock(one, path);
        mine.writeLock().acquire();
        var in = new CountDownLatch(1);
        var writer = new Thread(() -> {
            try {
                new InterProcessReadWriteLock(two, path).writeLock().acquire();
                in.countDown();
            } catch (Exception e) {
                e.printStackTrace();
            }
        });
        if (queued) {
            writer.start();
            until(() -> nodes(one, path) == 2);
        }
        mine.readLock().acquire();
        mine.writeLock().release();
        if (!queued) {
            writer.start();
        }
        check("downgrade, a writer waits before: " + queued + "; it is in", in.await(2, TimeUnit.SECONDS), queued);
        check("and the first has the read lock", mine.readLock().isAcquiredInThisProcess(), true);
    }

    static void latch(CuratorFramework one, CuratorFramework two) throws Exception {
        var first = new LeaderLatch(one, "/latch", "first");
        first.start();
        first.await();
        var second = new LeaderLatch(two, "/latch", "second");
        second.start();
        until(() -> nodes(one, "/latch") == 2);
        deleteNodeOf("first", one, "/latch");
        check("LeaderLatch, the second leads", second.await(10, TimeUnit.SECONDS), true);
        Thread.sleep(1000);
        check("the first leads", first.hasLeadership(), true);
        check("the leader that the first names", first.getLeader().getId(), "second");
    }

    static void selector(CuratorFramework one, CuratorFramework two) throws Exception {
        var leaders = new AtomicInteger();
        var interrupted = new AtomicInteger();
        var leads = new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                leaders.incrementAndGet();
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    interrupted.incrementAndGet();
                    throw e;
                } finally {
                    leaders.decrementAndGet();
                }
            }
        };
        var first = new LeaderSelector(one, "/selector", leads);
        first.setId("first");
        first.start();
        until(() -> leaders.get() == 1);
        var second = new LeaderSelector(two, "/selector", leads);
        second.setId("second");
        second.start();
        until(() -> nodes(one, "/selector") == 2);
        deleteNodeOf("first", one, "/selector");
        until(second::hasLeadership);
        Thread.sleep(1000);
        check("LeaderSelector, those that lead", leaders.get(), 2);
        check("those that are interrupted", interrupted.get(), 0);
        check("the leader that the first names", first.getLeader().getId(), "second");
    }

    static void persistentNode(CuratorFramework one, CuratorFramework two) throws Exception {
        Callable<String> data = () -> new String(one.getData().forPath("/node"));
        var first = new PersistentNode(one, CreateMode.EPHEMERAL, false, "/node", "first".getBytes());
        first.start();
        check("PersistentNode, created", first.waitForInitialCreate(10, TimeUnit.SECONDS), true);
        var second = new PersistentNode(two, CreateMode.EPHEMERAL, false, "/node", "second".getBytes());
        second.start();
        check("the second, created", second.waitForInitialCreate(10, TimeUnit.SECONDS), true);
        check("the data", data.call(), "second");
        long owner = one.checkExists().forPath("/node").getEphemeralOwner();
        check("the owner is the first", owner == one.getZookeeperClient().getZooKeeper().getSessionId(), true);
        second.close();
        until(() -> one.checkExists().forPath("/node") != null && data.call().equals("first"));
        check("the second has closed, the data", data.call(), "first");
    }

    static void sequential(CuratorFramework one, CuratorFramework two, String servers) throws Exception {
        two.create().forPath("/queue");
        var mode = CreateMode.EPHEMERAL_SEQUENTIAL;
        var mine = new PersistentNode(one, mode, false, "/queue/n-", new byte[0]);
        mine.start();
        mine.waitForInitialCreate(10, TimeUnit.SECONDS);
        String before = mine.getActualPath();
        String other = two.create().withMode(mode).forPath("/queue/n-");
        long session = two.checkExists().forPath(before).getEphemeralOwner();

        // To end the session of a client from elsewhere is an expiry for it.
        var connected = new CountDownLatch(1);
        ZooKeeper old = one.getZookeeperClient().getZooKeeper();
        var elsewhere = new ZooKeeper(servers, 10_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        }, old.getSessionId(), old.getSessionPasswd());
        connected.await();
        elsewhere.close();
        until(() -> {
            var now = two.checkExists().forPath(mine.getActualPath());
            return now != null && now.getEphemeralOwner() != session;
        });
        check("sequential, expired, its node", mine.getActualPath(), before);
        check("that is before the other's", before.compareTo(other) < 0 && nodes(two, "/queue") == 2, true);
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework one = connect(args[0]);
        CuratorFramework two = connect(args[0]);
        downgrade(one, two, false);
        downgrade(one, two, true);
        latch(one, two);
        selector(one, two);
        persistentNode(one, two);
        sequential(one, two, args[0]);
        Runtime.getRuntime().halt(failed ? 1 : 0);
    }
}
JAVA
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" curator-recipes curator-framework curator-client zookeeper zookeeper-jute \
	guava slf4j-api slf4j-nop)
timeout 90 java -cp "$path" "$work/Finding.java" "127.0.0.1:$port"
