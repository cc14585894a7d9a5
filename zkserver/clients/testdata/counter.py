"""One process of the counter test, with a lock of kazoo's. What it says and
waits for is described in clients_test.go."""

import os
import sys
import threading

from kazoo.client import KazooClient

address, kind, path, counter, turns = sys.argv[1:]
started = threading.Event()
finished = threading.Event()  # all turns are over
ended = threading.Event()  # the input has


def watch_input():
    # The end of the input says that the test is over, or that it has died.
    for _ in sys.stdin:
        started.set()
    if not finished.is_set():
        os._exit(1)
    ended.set()


threading.Thread(target=watch_input, daemon=True).start()

client = KazooClient(hosts=address, timeout=30)
client.start(timeout=300)  # by default it gives up after 15 s, which a busy machine may need
print("ready", flush=True)
started.wait()

lock = client.Lock(path) if kind == "lock" else client.Semaphore(path, max_leases=1)
for _ in range(int(turns)):
    with lock:
        data, stat = client.get(counter)
        client.set(counter, str(int(data) + 1).encode(), version=stat.version)

finished.set()
print("done", flush=True)  # still connected: what is left behind is to be seen
ended.wait()
client.stop()
client.close()
