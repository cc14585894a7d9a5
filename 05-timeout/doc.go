// Package timeout is step 5: the complete lock.
//
// The idea (article D's wait time and heartbeat, thought through to the end;
// what articles A, B, C and E leave out): the queue of step 3, the owners of
// step 4, and an answer to everything that may happen in between. A caller
// gives up when its ctx ends, whatever the server does. The holder has a
// Lease, which tells when the lock is lost and carries a fencing token for the
// resource that it protects. Sessions that expire and connections that break
// are the lock's business, not the caller's.
//
// How to read it: lock.go has what callers use, and lease.go what they get;
// queue.go is the life of one node, with step 3's loop in stay; scout.go finds
// out when its turn has come; node.go makes the node, finds it again and
// deletes it, and record.go has its name and data; session.go makes requests
// that get a definite answer, and proves that the session lives;
// participants.go shows the queue.
//
// Cost: an acquisition sends 4 requests without contention; 3 behind another
// contender of the same Mutex, because the releasing holder tells it in memory;
// 7 behind a contender of another process, or 6 once it has met others. N
// contenders in a session of their own each, that arrive one by one, send 7N-5
// requests (4 if N is 1), and each is sent up to 3 events. A Mutex that holds
// the lock or waits for longer than an eighth of the session timeout sends one
// request more, then two per third of it, and one for each lock that it holds.
// README.md says which requests these are.
//
// What it relies on, and what is still wrong:
//
//   - No lock service can stop a holder that does not look at Lost. Where that
//     matters, let the resource check the fencing token. For the same reason
//     there is no lock-delay, a pause after a lost session as Consul has it:
//     every contender of every library would have to keep it.
//   - The session timeout must not be longer than what the server has agreed
//     to; see WithSessionTimeout. Clocks must not run slower than the server's.
//   - Lost closes in time if the servers' minSessionTimeout is two ticks or
//     more, which is the default. Until the first proof, about 0.3 of the session
//     timeout after the create, it also relies on the client's pings:
//     on a process that was not suspended just before.
//   - A round trip to the server must take less than a twelfth of the
//     session timeout, or Lock returns an error that says so.
//   - The delete of a node is bound to its name, not to its session. A client
//     that keeps it back until it has another session deletes another's node if
//     the parent was made anew in between and has reached the same number.
//     ZooKeeper has no delete for "this node of mine". The same goes for a
//     node that somebody deletes by hand while the client is just coming back
//     to its session.
//   - A node whose create was not answered is identified by its data. If
//     another client writes to it in the moment before it is looked for, as
//     Curator's Revoker may, it stays in the queue until the session ends.
//   - ZooKeeper 3.8 gives out 2³¹ numbers per parent; then Lock fails with
//     zk.ErrNodeExists until the parent has been deleted.
//   - Curator, zk.Lock and kazoo may share the path. A kazoo Lock must be told
//     to wait for these names: extra_lock_patterns=["lock-"]. The pattern
//     "-lock-" does not match them. Call Wait before you close the client.
package timeout
