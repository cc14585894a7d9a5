#!/usr/bin/env bash
# What ends a persistent watch of a ZooKeeper client.
#
# One would guess: a persistent watch reports each change until it is removed, whatever the same client reads; two
# persistent watches on one path are two.
#
# Seen with ZooKeeper 3.8.0 and Curator 5.4.0 (Debian 12):
#   a persistent watch, then exists with a one-shot watch on its path, 3 changes: 1 event
#   a recursive watch, then getChildren with a one-shot watch on its path, 2 children: 2 created, and a NodeChildrenChanged
#   a recursive watch, then a persistent one on its path, a child is created and changed: the recursive one gets NodeChildrenChanged alone
#   a CuratorCache, then checkExists with a watcher on its root, 3 changes and a new child: it keeps the first change for good
# The server keeps one mode for each path and connection. The persistent watch that has become a one-shot one ends with no error.
#
# usage: findings/persistent-watches.sh, some 15 s; needs Debian's zookeeper, libcurator-recipes-java and default-jdk-headless. It
# fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$work/data" "$port" >"$work/zoo.cfg"
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cat >"$work/Finding.java" <<'JAVA'
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

public class Finding {
    static boolean failed;

    static void check(String what, Object got, String want) {
        failed |= !got.toString().equals(want);
        System.out.println((got.toString().equals(want) ? "" : "CHANGED: ") + what + ": " + got);
    }

    static class Events implements Watcher {
        final List<String> seen = new CopyOnWriteArrayList<>();

        public void process(WatchedEvent e) {
            if (e.getPath() != null) {
                seen.add(e.getType() + " " + e.getPath());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(100, 100));
        CuratorFramework writer = CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(100, 100));
        client.start();
        writer.start();
        client.blockUntilConnected();
        ZooKeeper zk = client.getZookeeperClient().getZooKeeper();
        for (String path : List.of("/one", "/tree", "/both", "/cache")) {
            writer.create().forPath(path);
        }

        var one = new Events();
        zk.addWatch("/one", one, AddWatchMode.PERSISTENT);
        writer.setData().forPath("/one");
        writer.setData().forPath("/one");
        zk.exists("/one", false); // the events of what was written come before this answer
        Thread.sleep(200);
        check("a persistent watch alone, 2 changes, events", one.seen.size(), "2");
        zk.exists("/one", new Events());
        for (int i = 0; i < 3; i++) {
            writer.setData().forPath("/one");
        }
        zk.exists("/one", false);
        Thread.sleep(200);
        check("then exists with a watch, 3 changes, events", one.seen.size() - 2, "1");

        var tree = new Events();
        zk.addWatch("/tree", tree, AddWatchMode.PERSISTENT_RECURSIVE);
        zk.getChildren("/tree", new Events());
        writer.create().forPath("/tree/a");
        writer.create().forPath("/tree/b");
        zk.exists("/tree", false);
        Thread.sleep(200);
        check("a recursive watch, then getChildren with a watch", tree.seen,
            "[NodeCreated /tree/a, NodeChildrenChanged /tree, NodeCreated /tree/b]");

        var recursive = new Events();
        zk.addWatch("/both", recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        zk.addWatch("/both", new Events(), AddWatchMode.PERSISTENT);
        writer.create().forPath("/both/a");
        writer.setData().forPath("/both/a");
        zk.exists("/both", false);
        Thread.sleep(200);
        check("a recursive watch, then a persistent one", recursive.seen, "[NodeChildrenChanged /both]");

        var cache = CuratorCache.build(client, "/cache");
        var filled = new CountDownLatch(1);
        cache.listenable().addListener(CuratorCacheListener.builder().forInitialized(filled::countDown).build());
        cache.start();
        filled.await();
        client.checkExists().usingWatcher(new Events()).forPath("/cache");
        for (String data : List.of("1", "2", "3")) {
            writer.setData().forPath("/cache", data.getBytes());
            Thread.sleep(200); // the cache reads after each event
        }
        writer.create().forPath("/cache/a");
        Thread.sleep(2000);
        check("a cache whose root was looked at: its data", new String(cache.get("/cache").get().getData()), "1");
        check("it has the new child", cache.get("/cache/a").isPresent(), "false");
        Runtime.getRuntime().halt(failed ? 1 : 0);
    }
}
JAVA
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" curator-recipes curator-framework curator-client zookeeper zookeeper-jute zookeeper-recipes-lock guava slf4j-api slf4j-nop)
timeout 120 java -cp "$path" "$work/Finding.java" "127.0.0.1:$port"
