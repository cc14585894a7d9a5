import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.retry.RetryNTimes;

/** Makes a node of each of Curator's recipes, and keeps them until its input ends. */
public class Holders {
    interface Acquire {
        void run() throws Exception;
    }

    static void aside(Acquire acquire) {
        Thread thread = new Thread(() -> {
            try {
                acquire.run();
            } catch (Exception e) {
                e.printStackTrace();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryNTimes(0, 0));
        client.start();
        client.blockUntilConnected();
        aside(() -> new InterProcessMutex(client, "/q").acquire());
        aside(() -> new InterProcessReadWriteLock(client, "/q").readLock().acquire());
        aside(() -> new InterProcessReadWriteLock(client, "/q").writeLock().acquire());
        aside(() -> new InterProcessSemaphoreV2(client, "/semaphore", 2).acquire());
        aside(() -> new LeaderLatch(client, "/q").start());
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }
}
