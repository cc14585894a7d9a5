import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.data.Stat;

/**
 * One process of the counter test, with a lock of Curator's that its threads
 * share. What it says and waits for is described in clients_test.go.
 */
public class Counter {
    public static void main(String[] args) {
        try {
            count(args);
        } catch (Throwable t) {
            t.printStackTrace();
            Runtime.getRuntime().halt(1); // whatever thread still runs
        }
    }

    private static void count(String[] args) throws Exception {
        String address = args[0], kind = args[1], path = args[2], counter = args[3];
        int threads = Integer.parseInt(args[4]), turns = Integer.parseInt(args[5]);

        Thread input = new Thread(Counter::watchInput);
        input.setDaemon(true);
        input.start();

        // Nothing is tried again: what goes wrong is to be seen.
        CuratorFramework client = CuratorFrameworkFactory.newClient(address, new RetryNTimes(0, 0));
        client.start();
        client.blockUntilConnected();
        InterProcessLock lock =
                switch (kind) {
                    case "mutex" -> new InterProcessMutex(client, path);
                    case "write" -> new InterProcessReadWriteLock(client, path).writeLock();
                    case "read" -> new InterProcessReadWriteLock(client, path).readLock();
                    default -> throw new IllegalArgumentException(kind);
                };
        System.out.println("ready");
        started.await();

        ExecutorService pool = Executors.newFixedThreadPool(threads);
        Callable<Void> work = () -> {
            take(turns, client, lock, kind, counter);
            return null;
        };
        for (Future<Void> thread : pool.invokeAll(Collections.nCopies(threads, work))) {
            thread.get(); // throws what it has thrown
        }
        pool.shutdown();
        finished = true;
        System.out.println("done"); // still connected: what is left behind is to be seen
        input.join();
        client.close();
    }

    private static void take(int turns, CuratorFramework client, InterProcessLock lock, String kind, String counter)
            throws Exception {
        Stat before = new Stat();
        for (int i = 0; i < turns; i++) {
            lock.acquire();
            try {
                byte[] data = client.getData().storingStatIn(before).forPath(counter);
                if (kind.equals("read")) {
                    // Any request would do to let time pass; the test holds this one.
                    Stat after = client.checkExists().forPath(counter);
                    if (after.getVersion() != before.getVersion()) {
                        throw new IllegalStateException("the counter changes while a read lock is held");
                    }
                } else {
                    int n = Integer.parseInt(new String(data, StandardCharsets.UTF_8)) + 1;
                    client.setData()
                            .withVersion(before.getVersion())
                            .forPath(counter, Integer.toString(n).getBytes(StandardCharsets.UTF_8));
                }
            } finally {
                lock.release();
            }
        }
    }

    private static final CountDownLatch started = new CountDownLatch(1);
    private static volatile boolean finished; // all turns are over

    /** The end of the input says that the test is over, or that it has died. */
    private static void watchInput() {
        try {
            for (int c = System.in.read(); c >= 0; c = System.in.read()) {
                if (c == '\n') {
                    started.countDown();
                }
            }
        } catch (IOException e) {
            // as good as the end
        }
        if (!finished) {
            Runtime.getRuntime().halt(1);
        }
    }
}
