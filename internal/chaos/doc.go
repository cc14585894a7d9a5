// Package chaos plays the complete lock where things break. It has tests only.
//
// Three processes, each with 17 contenders on two paths, lock and unlock, and write to a fenced register. Meanwhile
// there are faults at random. Then no two leases may have been valid at once, tokens must have grown, the register must
// have counted each write once, each contender must get in again, and nothing may be left. If not, the history is kept.
//
// On a ZooKeeper without faults, clients are cut off, paused and expired, for shorter and longer than their sessions:
//
//	ZK=host:port go test ./internal/chaos -run Clients -v -chaos.for 20s
//
// On three servers in Docker, which are killed, paused, and cut from each other and from their clients, as root:
//
//	go test -tags docker ./internal/chaos -run 'TestChaos$' -v -timeout 30m -chaos.for 10m -chaos.seed 1
//	go test -tags docker ./internal/chaos -run 'TestCut$' -v -timeout 30m -cut.n 5
//
// With -chaos.caching 1s, or -cut.caching, the locks have nodes that stay after Unlock.
//
// On Debian's servers: pauses, restarts in turn, lost data, many locks. docs/production.md has the numbers:
//
//	ZKLOCK_TESTS=long go run ./internal/servers/with zookeeper -- go test ./internal/chaos -run OfProcesses -v
//
// What has been run, and what it found, is in docs/tests.md.
package chaos
