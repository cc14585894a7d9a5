// Package timeout is step 5: the complete lock.
//
// The idea (article D's wait time and heartbeat, thought through to the end;
// what articles A, B, C and E leave out): the queue of step 3 and the owners
// of step 4, and an answer to everything that may happen in between. A caller
// gives up when its ctx ends, whatever the server does. Who holds the lock
// has a Lease, which tells when the lock is lost and carries a fencing token
// for the resource that it protects. Sessions that expire and connections
// that break are the lock's business, not the caller's.
//
// How it is read: lock.go has what callers use and lease.go what they get;
// queue.go is the life of one node, from its create to its delete; scout.go
// finds out when its turn has come; node.go has the requests and what becomes
// of them when no answer comes; participants.go shows the queue.
//
// Cost: an acquisition without contention sends create, children, get and
// delete: 4 requests. A contender behind another one of the same Mutex sends
// create, get and delete: 3, for who lets go tells it in memory. One behind a
// contender of another process watches the two before it, and lists when the
// farther one has gone: 7, or 6 once it has met others. N contenders in a
// session of their own each that arrive one by one and each lock once send
// 7N-5 requests (4 if N is 1), and each is sent up to 3 events: of its own
// node's end, and of the two before it.
//
// What holding it costs: one read per third of the session timeout, should
// nobody else of the Mutex ask anything.
//
// What it relies on, and what is still wrong:
//
//   - No lock service can stop a holder that does not look at Lost. Where that
//     matters, let the resource check the fencing token.
//   - The session timeout must be what WithSessionTimeout says, or less than
//     what the server has agreed to: the client does not tell. Clocks must
//     not run slower than the server's.
//   - The delete of a node is bound to its name, not to its session. A client
//     that keeps it back until it has another session, while the parent was
//     removed, made anew and has counted as far, deletes another's node.
//     ZooKeeper has no delete for "this node of mine". The same goes for a
//     node that somebody deletes by hand while the client is just coming back
//     to its session.
//   - A node whose create was not answered is known again by its data. If
//     somebody else writes to it in the moment before it is looked for, as
//     Curator's Revoker may, it stays in the queue until the session ends.
//   - ZooKeeper 3.8 gives out 2³¹ numbers per parent; then Lock fails with
//     zk.ErrNodeExists until the parent has been deleted.
package timeout
