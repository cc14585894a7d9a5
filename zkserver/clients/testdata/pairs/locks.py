"""kazoo's locks for pairs_test.go, where the commands are described."""

import os
import subprocess
import sys
import threading

import kazoo
from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock, ReadLock, Semaphore, WriteLock



class Recipe:
    """The lock of ZooKeeper's C recipes, in a process of its own: recipe.c."""

    def __init__(self, path, servers, timeout):
        self.process = subprocess.Popen([sys.argv[2], servers, timeout, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.expect(b"connected\n")

    def expect(self, line):
        if self.process.stdout.readline() != line:
            raise RuntimeError("the recipe fails")

    def ask(self, verb):
        self.process.stdin.write(verb)
        self.process.stdin.flush()
        self.expect(b"done\n")

    def acquire(self):
        self.ask(b"lock\n")

    def release(self):
        self.ask(b"unlock\n")

    def __enter__(self):
        self.acquire()

    def __exit__(self, *args):
        self.release()


KINDS = {
    "kazoo-lock": Lock, "kazoo-read": ReadLock, "kazoo-write": WriteLock, "kazoo-semaphore": Semaphore,
    "kazoo-lock-extra": lambda *args: Lock(*args, extra_lock_patterns=["-lock-"]),
}
clients, locks = {}, {}


def do(verb, me, *args):
    if verb == "open":
        clients[me] = KazooClient(hosts=args[2], timeout=int(args[3]))
        clients[me].start(timeout=300)
        if args[0] == "zookeeper-c":
            locks[me] = Recipe(*args[1:])
        else:
            locks[me] = KINDS[args[0]](clients[me], args[1], me)
    elif verb == "lock":
        locks[me].acquire()
    elif verb == "unlock":
        locks[me].release()
    elif verb == "count":
        for _ in range(int(args[1])):
            with locks[me]:
                data, stat = clients[me].get(args[0])
                clients[me].set(args[0], b"%d" % (int(data) + 1), stat.version)
    elif verb == "close":
        if isinstance(locks[me], Recipe):
            locks[me].ask(b"close\n")
        clients[me].stop()
        clients[me].close()


def run(verb, me, *args):
    try:
        do(verb, me, *args)
        done = "done"
    except BaseException as e:
        done = "failed " + type(e).__name__
    os.write(1, f"{me} {verb} {done}\n".encode())


print("kazoo", kazoo.__version__, flush=True)
for line in sys.stdin:
    threading.Thread(target=run, args=line.split(), daemon=True).start()
os._exit(0)
