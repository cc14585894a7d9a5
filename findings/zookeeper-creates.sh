#!/usr/bin/env bash
# Which creates ZooKeeper refuses that few expect, and which it lets pass: sequential ones beside an ordinary node that
# has a number, and those over a hard quota.
#
# One would guess: a sequential create takes the next number that is free; a quota of 3 is room for 3 children, and no
# more, however they are asked for.
#
# Seen with ZooKeeper 3.8.0 and Curator 5.4.0 (Debian 12):
#   n-0000000000 to n-0000000002 are there, and an ordinary create of n-0000000004: each sequential create of n- is
#     refused from then on: NodeExists
#   a sequential create of another prefix, m-0000000004; n- again: n-0000000005
#   a PersistentNode, EPHEMERAL_SEQUENTIAL, has n-0000000002, and its parent is made again: another client creates
#     n-0000000001, and then NodeExists each time
#   setquota -N 3, enforceQuota=true: 2 children, and the third is refused
#   a multi of 10 creates: all pass; the quota's own count is 11 of 3
#   50 creates, sent before the first reply: more than 2 pass, for example 5 or 22
# The number is that of the children that the parent has had, of whatever kind. A create that is refused does not count,
# so the next one has the same number. The quota counts the node itself, and a create is compared with what has been
# carried out by then, not with what is before it on the way, or in the same multi.
#
# usage: findings/zookeeper-creates.sh, some 20 s; needs Debian's zookeeper, libcurator-recipes-java and
# default-jdk-headless. It fails if any of that changes.
set -euo pipefail
work=$(mktemp -d)
port=$((20000 + RANDOM % 12000)) # below those of outgoing connections
settings='clientPortAddress=127.0.0.1\nadmin.enableServer=false\nenforceQuota=true'
printf "tickTime=2000\ndataDir=%s\nclientPort=%s\n$settings\n" \
	"$work/data" "$port" >"$work/zoo.cfg"
java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar \
	org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg" >"$work/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$work"' EXIT
cat >"$work/Finding.java" <<'JAVA'
import static org.apache.zookeeper.ZooDefs.Ids.OPEN_ACL_UNSAFE;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.StatsTrack;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.cli.SetQuotaCommand;

public class Finding {
    static boolean failed;
    static ZooKeeper zk;

    static void check(String what, Object got, boolean good) {
        failed |= !good;
        System.out.println((good ? "" : "CHANGED: ") + what + ": " + got);
    }

    static void check(String what, Callable<?> call, String want) {
        String got;
        try {
            got = "" + call.call();
        } catch (Exception e) {
            got = e.getClass().getSimpleName();
        }
        check(what, got, got.equals(want));
    }

    static String create(String path, CreateMode mode) throws Exception {
        String made = zk.create(path, new byte[0], OPEN_ACL_UNSAFE, mode);
        return made.substring(made.lastIndexOf('/') + 1);
    }

    static void sequential(String what, String path, String want) {
        check(what, () -> create(path, CreateMode.EPHEMERAL_SEQUENTIAL), want);
    }

    static void numbers() throws Exception {
        create("/queue", CreateMode.PERSISTENT);
        for (int i = 0; i < 3; i++) {
            sequential("sequential", "/queue/n-", "n-000000000" + i);
        }
        check("ordinary", () -> create("/queue/n-0000000004", CreateMode.EPHEMERAL), "n-0000000004");
        for (int i = 0; i < 3; i++) {
            sequential("sequential", "/queue/n-", "NodeExistsException");
        }
        sequential("another prefix", "/queue/m-", "m-0000000004");
        for (int i = 5; i < 8; i++) {
            sequential("sequential", "/queue/n-", "n-000000000" + i);
        }
    }

    static void persistentNode(CuratorFramework client) throws Exception {
        for (int i = 0; i < 2; i++) {
            client.create().creatingParentsIfNeeded().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/group/n-");
        }
        var node = new PersistentNode(client, CreateMode.EPHEMERAL_SEQUENTIAL, false, "/group/n-", new byte[0]);
        node.start();
        node.waitForInitialCreate(10, TimeUnit.SECONDS);
        check("PersistentNode", node.getActualPath(), node.getActualPath().equals("/group/n-0000000002"));
        zk.multi(List.of(Op.delete("/group/n-0000000000", -1), Op.delete("/group/n-0000000001", -1),
            Op.delete("/group/n-0000000002", -1), Op.delete("/group", -1)));
        for (int i = 0; zk.exists(node.getActualPath(), false) == null && i < 1000; i++) {
            Thread.sleep(10);
        }
        check("its parent is made again", () -> zk.getChildren("/group", false), "[n-0000000002]");
        sequential("sequential", "/group/n-", "n-0000000001");
        for (int i = 0; i < 3; i++) {
            sequential("sequential", "/group/n-", "NodeExistsException");
        }
    }

    static String limited(String path) throws Exception {
        create(path, CreateMode.PERSISTENT);
        var three = new StatsTrack();
        three.setCountHardLimit(3);
        SetQuotaCommand.createQuota(zk, path, three);
        return path;
    }

    static void quota() throws Exception {
        limited("/single");
        sequential("quota of 3", "/single/n-", "n-0000000000");
        sequential("quota of 3", "/single/n-", "n-0000000001");
        sequential("quota of 3", "/single/n-", "QuotaExceededException");

        limited("/multi");
        var op = Op.create("/multi/n-", new byte[0], OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL);
        check("multi", () -> zk.multi(Collections.nCopies(10, op)).size(), "10");
        byte[] stats = zk.getData("/zookeeper/quota/multi/zookeeper_stats", false, null);
        check("the quota's count", () -> new StatsTrack(stats).getCount(), "11");
        sequential("one more", "/multi/n-", "QuotaExceededException");

        int most = 0;
        for (int i = 0; i < 5 && most <= 2; i++) {
            most = atOnce(limited("/at-once-" + i));
        }
        check("50 before the first reply, passed", most, most > 2);
    }

    static int atOnce(String path) throws Exception {
        var replies = new CountDownLatch(50);
        var passed = new AtomicInteger();
        for (int i = 0; i < 50; i++) {
            zk.create(path + "/n-", new byte[0], OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL,
                (rc, p, ctx, name) -> {
                    passed.addAndGet(rc == 0 ? 1 : 0);
                    replies.countDown();
                }, null);
        }
        replies.await();
        return passed.get();
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(100, 100));
        client.start();
        client.blockUntilConnected();
        zk = client.getZookeeperClient().getZooKeeper();
        numbers();
        persistentNode(client);
        quota();
        Runtime.getRuntime().halt(failed ? 1 : 0);
    }
}
JAVA
jars=/usr/share/java
path=$(printf "$jars/%s.jar:" curator-recipes curator-framework curator-client zookeeper zookeeper-jute \
	guava commons-cli slf4j-api slf4j-nop)
timeout 90 java -cp "$path" "$work/Finding.java" "127.0.0.1:$port"
