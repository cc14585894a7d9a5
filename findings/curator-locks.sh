#!/usr/bin/env bash
# Which locks of Curator, and ZooKeeper's own WriteLock, exclude each other on one path.
#
# One would guess: a mutex and the write lock of one library exclude each other; ZooKeeper's WriteLock and Curator's
# mutex wait for each other, or neither does.
#
# Seen with Curator 5.4.0 and ZooKeeper 3.8.0 (Debian 12):
#   mutex holds, write lock comes: acquired
#   write lock holds, mutex comes: acquired
#   mutex holds, semaphore mutex comes: acquired
#   mutex holds, WriteLock comes: waits
#   WriteLock holds, mutex comes: acquired
#   a LeaderSelector leads, and its node's data is overwritten, as by a request to a mutex: getLeader is "__REVOKE__"
#
# usage: findings/curator-locks.sh, some 10 s; needs Debian's zookeeper, libcurator-recipes-java and default-jdk-headless. It fails
# if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$work/data" "$port" >"$work/zoo.cfg"
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cat >"$work/Finding.java" <<'JAVA'
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.recipes.lock.WriteLock;

public class Finding {
    static boolean failed;

    static void check(String what, String got, String want) {
        failed |= !got.equals(want);
        System.out.println((got.equals(want) ? "" : "CHANGED: ") + what + ": " + got);
    }

    static String comes(InterProcessLock lock) throws Exception {
        return lock.acquire(2, TimeUnit.SECONDS) ? "acquired" : "waits";
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        var mutex = new InterProcessMutex(client, "/a");
        mutex.acquire();
        check("mutex holds, write lock comes", comes(new InterProcessReadWriteLock(client, "/a").writeLock()), "acquired");
        check("mutex holds, semaphore mutex comes", comes(new InterProcessSemaphoreMutex(client, "/a")), "acquired");

        new InterProcessReadWriteLock(client, "/b").writeLock().acquire();
        check("write lock holds, mutex comes", comes(new InterProcessMutex(client, "/b")), "acquired");

        new InterProcessMutex(client, "/c").acquire();
        var second = new WriteLock(client.getZookeeperClient().getZooKeeper(), "/c", null);
        check("mutex holds, WriteLock comes", second.lock() ? "acquired" : "waits", "waits");

        var first = new WriteLock(client.getZookeeperClient().getZooKeeper(), "/d", null);
        first.lock();
        check("WriteLock holds, mutex comes", comes(new InterProcessMutex(client, "/d")), "acquired");

        var leads = new CountDownLatch(1);
        var selector = new LeaderSelector(client, "/e", new LeaderSelectorListenerAdapter() {
            public void takeLeadership(CuratorFramework client) throws InterruptedException {
                leads.countDown();
                Thread.sleep(60_000);
            }
        });
        selector.setId("web-7:8080");
        selector.start();
        leads.await();
        List<String> nodes = client.getChildren().forPath("/e");
        client.setData().forPath("/e/" + nodes.get(0), "__REVOKE__".getBytes());
        check("a LeaderSelector leads, and its node's data is overwritten: getLeader", selector.getLeader().getId(), "__REVOKE__");
        check("it has leadership", "" + selector.hasLeadership(), "true");
        Runtime.getRuntime().halt(failed ? 1 : 0);
    }
}
JAVA
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" curator-recipes curator-framework curator-client zookeeper zookeeper-jute zookeeper-recipes-lock guava slf4j-api slf4j-nop)
timeout 120 java -cp "$path" "$work/Finding.java" "127.0.0.1:$port"
