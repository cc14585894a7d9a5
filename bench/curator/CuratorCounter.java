import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/**
 * The counter benchmark with Curator's InterProcessMutex. It says "ready" and
 * its versions; then each line "servers path threads clients times" on its
 * standard input is a run, in which each thread locks so many times. It says "began" when its clock starts, "at" and the count from
 * time to time, "done" with the elapsed time and the count, then "turn" for each
 * acquisition, and "end". "failed" says what went wrong. The end of the input ends it.
 */
public class CuratorCounter {
    public static void main(String[] args) throws IOException {
        System.out.println("ready Curator " + curatorVersion() + ", Java " + System.getProperty("java.version"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] word = line.split(" ");
            // In a thread of its own: the end of the input must be noticed.
            new Thread(() -> {
                try {
                    run(word[0], word[1], Integer.parseInt(word[2]), Integer.parseInt(word[3]), Integer.parseInt(word[4]));
                } catch (Throwable t) {
                    fail(t);
                }
            }).start();
        }
        Runtime.getRuntime().halt(0);
    }

    private static int num; // guarded by the lock under test, and by nothing else

    private static void run(String servers, String path, int threads, int sessions, int times) throws Exception {
        CuratorFramework[] clients = new CuratorFramework[sessions];
        for (int i = 0; i < sessions; i++) {
            // Nothing is tried again: what goes wrong is to be seen. And no
            // requests but the lock's: they are counted.
            clients[i] = CuratorFrameworkFactory.builder()
                    .connectString(servers)
                    .sessionTimeoutMs(30_000)
                    .connectionTimeoutMs(15_000)
                    .retryPolicy(new RetryNTimes(0, 0))
                    .ensembleTracker(false)
                    .build();
            clients[i].start();
        }
        for (CuratorFramework client : clients) {
            client.blockUntilConnected();
        }
        num = 0;
        AtomicInteger inside = new AtomicInteger();
        CountDownLatch start = new CountDownLatch(1), end = new CountDownLatch(threads);
        long[] began = new long[1], arrived = new long[threads * times], got = new long[threads * times];
        int[] place = new int[threads * times];
        for (int i = 0; i < threads; i++) {
            int first = i * times;
            InterProcessMutex lock = new InterProcessMutex(clients[i % sessions], path);
            new Thread(null, () -> {
                try {
                    start.await();
                    for (int k = first; k < first + times; k++) {
                        arrived[k] = System.nanoTime() - began[0];
                        lock.acquire();
                        got[k] = System.nanoTime() - began[0];
                        if (inside.incrementAndGet() != 1) {
                            throw new IllegalStateException("two threads held the lock at once");
                        }
                        place[k] = num;
                        num++;
                        inside.decrementAndGet();
                        lock.release();
                    }
                    end.countDown();
                } catch (Throwable t) {
                    fail(t);
                }
            }, "contender " + i, 256 << 10).start(); // bytes of stack: there may be thousands
        }
        Thread progress = new Thread(() -> {
            try {
                while (true) {
                    Thread.sleep(200);
                    System.out.println("at " + num);
                }
            } catch (InterruptedException e) {
                // the run is over
            }
        });
        System.gc();
        System.out.println("began");
        began[0] = System.nanoTime();
        progress.start();
        start.countDown();
        end.await();
        long elapsed = System.nanoTime() - began[0];
        progress.interrupt();
        progress.join();
        System.out.println("done " + elapsed + " " + num);
        Thread[] closing = new Thread[sessions]; // each close takes a while
        for (int i = 0; i < sessions; i++) {
            closing[i] = new Thread(clients[i]::close);
            closing[i].start();
        }
        for (Thread t : closing) {
            t.join();
        }
        StringBuilder turns = new StringBuilder();
        for (int i = 0; i < threads * times; i++) {
            turns.append("turn ").append(arrived[i]).append(' ').append(got[i]).append(' ').append(place[i]).append('\n');
        }
        System.out.println(turns + "end");
    }

    private static synchronized void fail(Throwable t) {
        System.out.println("failed " + t.toString().replace('\n', ' '));
    }

    private static String curatorVersion() throws IOException {
        Properties p = new Properties();
        try (InputStream in = InterProcessMutex.class.getResourceAsStream(
                "/META-INF/maven/org.apache.curator/curator-recipes/pom.properties")) {
            if (in != null) {
                p.load(in);
            }
        }
        return p.getProperty("version", "of unknown version");
    }
}
