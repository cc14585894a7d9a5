// Package zkserver is a ZooKeeper server inside the process: in memory,
// without a disk or a second machine, for tests, lessons and benchmarks.
//
// It serves ZooKeeper's wire protocol to any client. A test starts a server in one
// line, and connects to it with the client of its choice:
//
//	srv := zkserver.Run(t)
//	conn, _, err := zk.Connect([]string{srv.Addr()}, 10*time.Second)
//
// [Server.Addr] is on loopback TCP. [Server.Dial] is a pipe in memory: with it server and clients
// run in virtual time inside a testing/synctest bubble, so that a session expires in no time. The
// host must be an IP address then, or the client looks it up before it dials:
//
//	conn, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial))
//
// A test can look into the server: [Server.Tree], [Server.Node], [Server.Children], [Server.Sessions],
// [Server.Ephemerals], [Server.Watches]. It can do what happens to a server and its clients:
// [Server.Expire], [Server.Cut], [Server.CutAll], [Server.Stop], [Server.Start], [Server.StartEmpty]. And
// it can have an exact request go wrong: [Server.Hold], [Server.HoldReply], [Server.LoseRequest],
// [Server.LoseReply], [Server.Fail], each with a condition such as
//
//	lost := srv.LoseReply(zkserver.On(zkserver.OpCreate, "/locks/*"))
//	…
//	<-lost.Hit() // the node has been made, and its client does not know
//
// The package imports the standard library and one package of this module, which itself imports the
// standard library alone; go-zookeeper is used by the tests alone.
//
// # How it differs from a real server
//
// Checked against Apache ZooKeeper 3.8.0, standalone:
//
//   - Nothing is written to disk, so a write costs microseconds where a real server waits for its disk. All nodes are
//     gone when the server closes.
//   - One server, no ensemble: every read is as fresh as every write, and sync has nothing to wait for.
//   - Not served, and answered with -6 and a closed connection: check, createSession, deleteContainer, multiRead,
//     reconfig, sasl.
//   - A check has its place in a multi. Outside of a multi, a real server answers a check only if it fails; one
//     that succeeds uses up a zxid and gets no reply.
//   - A setWatches or setWatches2 with a null list does nothing and is answered with -5, by both; the real server first
//     carries out the lists before it.
//   - The numbers of sequential nodes end at 2³¹-1, on both. After that, creates that are under way together get
//     negative numbers, and other creates get 2³¹-1 again. On a real server, which waits for its disk, more creates are
//     together.
//   - No quotas, no read-only mode, no TLS, no limit of connections per address. TTL nodes are refused, as by a real
//     server, without [WithTTL].
//   - ACL schemes: world, auth, digest, ip (in canonical form). No super user, no x509.
//   - Four-letter words have the lines of a real server, but their values are zero or empty where this server has
//     nothing to tell; mntr has no lines per namespace. Never on the whitelist: crst, dirs, dump, gtmk, hash, lead,
//     srst, stmk, wchc, wchp, wchs.
//   - The names in a list of children are in an arbitrary order on a real server, and in a random one here.
//   - When a session ends, a real server deletes its ephemeral nodes in an arbitrary order, and this one by path.
//   - A createTTL without a time to live makes a persistent node; it stops a real server.
//   - The server touches a session when it reads a packet of it. A packet that is held back by a test does not touch
//     it.
package zkserver
