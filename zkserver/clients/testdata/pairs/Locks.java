import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** Curator's locks, and ZooKeeper's own, for pairs_test.go, where the commands are described. */
public class Locks {
    interface Step {
        void run() throws Exception;
    }

    /** A contender, with a session and a thread of its own: locks of Curator's belong to a thread. */
    record Contender(ZooKeeper client, Step lock, Step unlock, Step close, ExecutorService thread) {}

    static final Map<String, Contender> contenders = new ConcurrentHashMap<>();

    static Contender ofCurator(String kind, String path, String servers, int session) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(servers, session, 15_000, new RetryNTimes(0, 0));
        client.start();
        client.blockUntilConnected();
        InterProcessLock lock =
                switch (kind) {
                    case "curator-mutex" -> new InterProcessMutex(client, path);
                    case "curator-semaphore-mutex" -> new InterProcessSemaphoreMutex(client, path);
                    case "curator-read" -> new InterProcessReadWriteLock(client, path).readLock();
                    case "curator-write" -> new InterProcessReadWriteLock(client, path).writeLock();
                    default -> throw new IllegalArgumentException(kind);
                };
        return new Contender(client.getZookeeperClient().getZooKeeper(), lock::acquire, lock::release, client::close,
                Executors.newSingleThreadExecutor());
    }

    static Contender ofZooKeeper(String path, String servers, int session) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        Semaphore acquired = new Semaphore(0);
        ZooKeeper client = new ZooKeeper(servers, session, event -> connected.countDown());
        connected.await();
        WriteLock lock = new WriteLock(client, path, null, new LockListener() {
            public void lockAcquired() {
                acquired.release();
            }

            public void lockReleased() {}
        });
        Step wait = () -> {
            lock.lock(); // returns before the lock is acquired
            acquired.acquire();
        };
        return new Contender(client, wait, lock::unlock, client::close, Executors.newSingleThreadExecutor());
    }

    static void count(Contender c, String counter, int turns) throws Exception {
        Stat stat = new Stat();
        for (int i = 0; i < turns; i++) {
            c.lock.run();
            try {
                String n = new String(c.client.getData(counter, false, stat));
                c.client.setData(counter, ("" + (Integer.parseInt(n) + 1)).getBytes(), stat.getVersion());
            } finally {
                c.unlock.run();
            }
        }
    }

    static void run(String verb, String me, Step step) {
        String done = "done";
        try {
            step.run();
        } catch (Throwable t) {
            done = "failed " + t.getClass().getSimpleName();
        }
        System.out.print(me + " " + verb + " " + done + "\n");
        System.out.flush();
    }

    static String version(Class<?> of, String artifact) throws Exception {
        Properties p = new Properties();
        p.load(of.getResourceAsStream("/META-INF/maven/" + artifact + "/pom.properties"));
        return p.getProperty("version");
    }

    public static void main(String[] args) throws Exception {
        System.out.println("Curator " + version(InterProcessMutex.class, "org.apache.curator/curator-recipes")
                + ", ZooKeeper's WriteLock " + version(WriteLock.class, "org.apache.zookeeper/zookeeper-recipes-lock"));
        for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
            String[] word = in.nextLine().split(" ");
            String verb = word[0], me = word[1];
            if (verb.equals("open")) {
                int session = 1000 * Integer.parseInt(word[5]);
                new Thread(() -> run(verb, me, () -> contenders.put(me, word[2].equals("zookeeper")
                        ? ofZooKeeper(word[3], word[4], session) : ofCurator(word[2], word[3], word[4], session)))).start();
                continue;
            }
            Contender c = contenders.get(me);
            Step step = switch (verb) {
                case "lock" -> c.lock;
                case "unlock" -> c.unlock;
                case "count" -> () -> count(c, word[2], Integer.parseInt(word[3]));
                default -> c.close;
            };
            if (verb.equals("close")) {
                new Thread(() -> run(verb, me, step)).start();
            } else {
                c.thread.execute(() -> run(verb, me, step));
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
