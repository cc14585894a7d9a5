// Package zkserver is a ZooKeeper server inside the process: in memory,
// without a disk or a second machine, for tests, lessons and benchmarks.
//
// It serves ZooKeeper's wire protocol to any client, over loopback TCP
// ([Server.Listen]) or over net.Pipe ([Server.Dial]); over pipes everything
// runs in virtual time inside a testing/synctest bubble. A test starts one
// in a line:
//
//	srv := zkserver.Run(t)
//	conn, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial))
//
// It can be looked into (Node, Children, Sessions, Watches) and told to
// misbehave by exact condition (Expire, Cut, Hold, HoldReply, LoseRequest,
// LoseReply, Fail).
//
// # How it differs from a real server
//
// Checked against Apache ZooKeeper 3.8.0, standalone:
//
//   - Nothing is written to disk, so a write costs microseconds where a real
//     server waits for its disk. All is gone when the server closes.
//   - One server, no ensemble: every read is as fresh as every write, and
//     sync has nothing to wait for.
//   - Answered with -6 and a closed connection, though a real server knows
//     them: SASL, reconfig, createSession, deleteContainer, top-level check,
//     multiRead, addWatch and setWatches2 (persistent watches).
//   - No TTL nodes (a real server refuses them, too, unless told otherwise),
//     no quotas, no read-only mode, no limit of connections per address.
//   - ACL schemes: world, auth, digest, ip (in canonical form). No super
//     user, no x509.
//   - Four-letter words: ruok and srvr; the others are answered as not on
//     the whitelist.
//   - A node's children are listed in no particular order, by both, but not
//     in the same one.
//   - createTTL has no place in a multi.
//   - The server touches a session when it reads a packet of it. A packet
//     that is held back by a test does not touch it.
package zkserver
