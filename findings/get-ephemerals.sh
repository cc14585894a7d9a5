#!/usr/bin/env bash
# Which nodes ZooKeeper's getEphemerals names.
#
# One would guess: the client's own ephemeral nodes at the path and below it, as paths that this client may use.
#
# Seen with ZooKeeper 3.8.0 (Debian 12):
#   nodes /app/a and /app2/b, getEphemerals("/app"): both: the prefix is one of letters, not of a path
#   a client whose root is /app, node /in, getEphemerals("/") and getEphemerals(): /app/in, a path that it cannot read back
# The answer to a lost create may be looked for so. Under a root of the client's own it is not found by its name.
#
# usage: findings/get-ephemerals.sh, some 5 s; needs Debian's zookeeper and default-jdk-headless. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$work/data" "$port" >"$work/zoo.cfg"
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cat >"$work/Finding.java" <<'JAVA'
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

public class Finding {
    static boolean failed;

    static void check(String what, Object got, String want) {
        failed |= !got.toString().equals(want);
        System.out.println((got.toString().equals(want) ? "" : "CHANGED: ") + what + ": " + got);
    }

    static ZooKeeper connect(String servers) throws Exception {
        var connected = new CountDownLatch(1);
        var zk = new ZooKeeper(servers, 30_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        connected.await();
        return zk;
    }

    public static void main(String[] args) throws Exception {
        ZooKeeper zk = connect(args[0]);
        zk.create("/app", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        zk.create("/app2", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        zk.create("/app/a", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        zk.create("/app2/b", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        check("getEphemerals(\"/app\")", new TreeSet<>(zk.getEphemerals("/app")), "[/app/a, /app2/b]");

        ZooKeeper rooted = connect(args[0] + "/app");
        rooted.create("/in", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        check("root /app, getEphemerals(\"/\")", rooted.getEphemerals("/"), "[/app/in]");
        String named = rooted.getEphemerals().get(0);
        check("root /app, getEphemerals()", named, "/app/in");
        check("the same client reads that path and finds a node", rooted.exists(named, false) != null, "false");
        Runtime.getRuntime().halt(failed ? 1 : 0);
    }
}
JAVA
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" zookeeper zookeeper-jute slf4j-api slf4j-nop)
timeout 120 java -cp "$path" "$work/Finding.java" "127.0.0.1:$port"
