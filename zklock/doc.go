// Package zklock is a distributed lock on ZooKeeper, for programs in production. It is for processes that share a
// ZooKeeper, and for work that at most one of them may do at a time.
//
//	conn, err := zkconn.Connect(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"}, 10*time.Second)
//	orders, err := zklock.New(conn, "/locks/orders") // one per process and path
//	err = orders.Do(ctx, nil, func(ctx context.Context, l *zklock.Lease) error {
//		// ctx ends when the lock is lost. The store refuses a token that is lower
//		// than one that it has seen.
//		return store.Write(ctx, l.Token(), order)
//	})
//	err = orders.Shutdown(ctx) // at the end of the program, and then
//	conn.Close()
//
// A waiter gives up when its ctx ends, whatever the server does. A holder has a [Lease], which reports when the lock
// is lost and has a fencing token. While a caller waits, the lock deals with expired sessions and broken connections.
//
// A Mutex has one node in the queue at the server for all its goroutines. They queue in memory, and hand the lock on
// to each other without a request: for at most 16 holds and 50 ms before other processes get their turn
// ([WithHandOver]). A process that is nearly alone may keep its node ([WithCaching]).
//
// Cost in requests: a contender that is alone sends 2, 3 the first time, 4 on a fresh path. Behind one
// contender of another process it sends 5, behind more 6 to 8. One that waits or holds for a twelfth of
// the session timeout or longer also proves, by 1 request at least, that its session lives. The next
// holder has the lock one round trip after a release. N goroutines of a Mutex send at most 0.2 N requests.
//
// # What is not here
//
// A read/write lock and a semaphore: a token that grows with each holder does not fence holders of the same time. A
// Mutex waits for readers and writers of Curator and kazoo, which do not wait for it, and not for semaphores.
//
// # What it relies on, and what is still wrong
//
//   - No lock service can stop a holder that does not look at Lost. Where that matters, let the resource check the
//     fencing token. For the same reason there is no lock-delay, a pause after a lost session as Consul has it: every
//     contender of every library would have to keep it.
//   - The session timeout must not be longer than what the server has agreed
//     to; see WithSessionTimeout. Clocks must not run slower than the server's.
//   - Lost closes in time if the servers' minSessionTimeout is two ticks or more,
//     which is the default. Behind an observer master it must be four ticks.
//   - The first proof comes at most about 0.3 of the session timeout after the Lock. Until then Lost
//     also relies on the client's pings, so the process must not have been suspended just before.
//   - A round trip to the server must take less than a twelfth of the session timeout, or Lock returns ErrTooSlow. The
//     time that a request waits behind others of the same client does not count.
//   - Lost closes late if somebody deletes the node or ends the session by hand: not before the
//     client's server has applied that, and other servers may have done so earlier.
//   - A contender that was alone watches its node only after an eighth of the session timeout. Until
//     then it learns nothing of a node that is deleted by hand, a session that a server ends before its
//     time, a client that is closed without Unlock and Shutdown, or a request to release the lock.
//   - Servers that lose their data, or come back with old ones, let the next holder in at once, while an earlier lease
//     is valid for up to a session timeout more, and their tokens begin again at low numbers. No lock can prevent
//     that: wait one session timeout before anything starts again, and set back the tokens that resources have stored.
//   - A waiter whose node is deleted by hand while its client is reconnecting may get
//     the lock for up to a third of the session timeout.
//   - The data of the parent is kept if it was there when a Mutex first used the
//     path. Data that is written to an empty parent later is removed. A crowd leaves a mark there.
//   - A parent that is never empty for a minute has numbers for 2³¹-1 nodes. Then Lock fails with
//     zk.ErrNodeExists, because ZooKeeper 3.8 gives out some numbers again and again. Holders keep the
//     lock. An operator has to delete the parent, which succeeds only when it is empty.
//   - Curator's mutex and zk.Lock may share the path; docs/sharing-a-path.md has others. A kazoo Lock
//     waits for zklock's nodes only with extra_lock_patterns=["-lock-"]. It makes sure of the
//     parent once: make that by hand, as an ordinary node, which zklock leaves alone.
package zklock

// The states of an entry, which is a node of the Mutex in the queue, and what leads from one to
// the next. A Mutex has at most one entry that is queued, held or idle: Mutex.current.
//
//	          the first                the last Unlock
//	queued ───────────────→ held ────────────────────────────→ idle
//	  │                      │  ←────────────────────────────    │
//	  │                      │    the next owner of the Mutex    │
//	  │ an error, or         │                                   │ nobody is next, or
//	  │ nobody waits         │ the lock is lost                  │ others have their turn
//	  ↓                      ↓                                   ↓
//	leaving ←────────────────┴───────────────────────────────────┘
//	  │    the server refuses the delete
//	  ├────────────────────────────────────→ stuck
//	  ↓ the node has gone                      │
//	gone ←─────────────────────────────────────┘
