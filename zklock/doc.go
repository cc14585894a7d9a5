// Package timeout is step 5: the complete lock.
//
// The idea (article D's wait time and heartbeat, thought through to the end;
// what articles A, B, C and E leave out): the queue of step 3, the owners of
// step 4, and an answer to everything that may happen in between. A caller
// gives up when its ctx ends, whatever the server does. The holder has a
// Lease, which tells when the lock is lost and carries a fencing token for the
// resource that it protects. Sessions that expire and connections that break
// are the lock's business, not the caller's. README.md says in which order to
// read the files.
//
// Cost: an acquisition sends 4 requests without contention, 3 behind another
// contender of the same Mutex, and 5 to 7 behind one of another process.
// README.md says which, and what is sent while a lock is held for long.
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
//     session timeout, or Lock returns an error that says so. How long a
//     request waits behind others of the same Mutex does not count.
//   - The delete of a node is bound to its name, not to its session. If the
//     parent was made anew and has reached the same number, a delete that the
//     client keeps back until it has another session takes another's node. So
//     may one of a node that somebody deletes by hand while the client is just
//     coming back to its session.
//   - A node whose create was not answered is identified by its data. If
//     another client writes to it in the moment before it is looked for, as
//     Curator's Revoker may, it stays in the queue until the session ends.
//   - ZooKeeper 3.8 gives out 2³¹ numbers per parent; then Lock fails with
//     zk.ErrNodeExists until the parent has been deleted.
//   - Curator, zk.Lock and kazoo may share the path. A kazoo Lock must be told
//     to wait for these names: extra_lock_patterns=["lock-"]. The pattern
//     "-lock-" does not match them. Call Wait before you close the client.
package zklock
