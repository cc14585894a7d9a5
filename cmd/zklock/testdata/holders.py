"""Makes a node of each of kazoo's locks, and keeps them until its input ends."""

import os
import sys
import threading

from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1], timeout=30)
client.start(timeout=300)
for lock in client.Lock("/q", "a lock of kazoo's"), client.ReadLock("/q", "a reader of kazoo's"):
    threading.Thread(target=lock.acquire, daemon=True).start()
sys.stdin.read()
os._exit(0)
