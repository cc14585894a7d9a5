import java.io.IOException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.WatchedEvent;

/**
 * Holds a mutex, and through the same client runs the recipes of Curator that
 * rest on persistent watches: a CuratorCache and a recursive PersistentWatcher
 * on a tree, and a PersistentWatcher on one node. It prints a line for all
 * that it hears, and one each time that a recipe has set its watch. At the first line of its input it closes the recipes, at
 * the second it releases the mutex, and at the end of its input it exits.
 */
public class Watchers {
    public static void main(String[] args) {
        try {
            watch(args[0], args[1]);
        } catch (Throwable t) {
            t.printStackTrace();
            Runtime.getRuntime().halt(1); // whatever thread still runs
        }
    }

    private static void watch(String address, String root) throws Exception {
        // Nothing is tried again: what goes wrong is to be seen.
        CuratorFramework client = CuratorFrameworkFactory.newClient(address, 40_000, 15_000, new RetryNTimes(0, 0));
        client.getConnectionStateListenable().addListener((c, state) -> System.out.println("state " + state));
        client.start();
        client.blockUntilConnected();

        InterProcessMutex mutex = new InterProcessMutex(client, root + "/lock");
        mutex.acquire();

        CuratorCache cache = CuratorCache.build(client, root + "/tree");
        cache.listenable().addListener(new CuratorCacheListener() {
            @Override
            public void event(Type type, ChildData before, ChildData after) {
                System.out.println("cache " + type + " " + (after == null ? before : after).getPath());
            }

            @Override
            public void initialized() {
                System.out.println("armed cache");
            }
        });
        PersistentWatcher all = new PersistentWatcher(client, root + "/tree", true);
        all.getListenable().addListener(event -> print("recursive", event));
        all.getResetListenable().addListener(() -> System.out.println("armed recursive"));
        PersistentWatcher one = new PersistentWatcher(client, root + "/one", false);
        one.getListenable().addListener(event -> print("persistent", event));
        one.getResetListenable().addListener(() -> System.out.println("armed persistent"));
        cache.start();
        all.start();
        one.start();

        line();
        cache.close();
        all.close();
        one.close();
        System.out.println("closed");
        line();
        mutex.release();
        System.out.println("done");
        while (System.in.read() >= 0) {}
        client.close();
    }

    private static void print(String recipe, WatchedEvent event) {
        if (event.getPath() != null) { // else it tells of the connection
            System.out.println(recipe + " " + event.getType() + " " + event.getPath());
        }
    }

    private static void line() throws IOException {
        for (int b = System.in.read(); b != '\n'; b = System.in.read()) {
            if (b < 0) {
                throw new IOException("the test has ended");
            }
        }
    }
}
