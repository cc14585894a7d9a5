package scenes

import (
	"context"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/zklock"
)

// Z is not an article. These are two ways that are often proposed to guard writes to ZooKeeper; neither is enough.
var articleZ = []Bug{
	{
		ID: "Z1", Step: zklockFolder, Cure: late(byGuard).under(complete),
		Title: Text{En: "a check of the holder's node lets a late write pass", Zh: "检查持有者的节点，放过了迟到的写入"},
		World: player.World{Lock: late(byNode).under(complete), Shared: true},
		Kinds: []player.Kind{player.LostAddition}, Goal: lostAddition,
		Substitute: Text{
			En: "The lock is zklock, and A and B are goroutines of one process. Each holder reads a number from /stock, and writes it back with one added, in a transaction that checks that the holder's node exists. A has a goroutine write, and unlocks without waiting for it.",
			Zh: "锁是 zklock，A 和 B 是同一个进程的 goroutine。每个持有者从 /stock 读一个数，加一后写回，写入的事务检查持有者的节点存在。A 把写入交给一个 goroutine，不等它就释放锁。",
		},
	},
	{
		ID: "Z2", Step: zklockFolder, Cure: late(byGuard).under(complete),
		Title: Text{En: "the version of a node that was made again is the same", Zh: "节点重建之后，版本号还是同一个"},
		World: player.World{Lock: late(byVersion).under(complete)},
		Kinds: []player.Kind{player.LostAddition}, Search: atRandom, Goal: lostAddition,
		Substitute: Text{
			En: "The lock is zklock, in two processes. Each holder makes the node /guard, writes its token there, and deletes the node before it unlocks. It reads a number from /stock, and writes it back with one added, in a transaction that checks the version of /guard. A has a goroutine write, and unlocks without waiting for it.",
			Zh: "锁是 zklock，A 和 B 在两个进程里。每个持有者创建节点 /guard，写入自己的 fencing token（隔离令牌），释放锁之前再删掉它。持有期间从 /stock 读一个数，加一后写回，写入的事务检查 /guard 的版本号。A 把写入交给一个 goroutine，不等它就释放锁。",
		},
	},
}

// late returns a stock whose holders guard their writes. A has a goroutine write, and unlocks without waiting for it.
func late(guard func(l *zklock.Lease) listings.Guarded) *stock { return &stock{guard: guard} }

func byNode(*zklock.Lease) listings.Guarded    { return new(listings.ByNode) }
func byVersion(*zklock.Lease) listings.Guarded { return new(listings.ByVersion) }
func byGuard(l *zklock.Lease) listings.Guarded { return &zklocksGuard{lease: l} }

// A zklocksGuard guards writes with the Guard of a zklock.Lease.
type zklocksGuard struct {
	lease *zklock.Lease
	guard *zklock.Guard
}

func (g *zklocksGuard) Begin(*zk.Conn, string, int64) (err error) {
	g.guard, err = g.lease.Guard(context.Background(), "/guard")
	return err
}

func (g *zklocksGuard) Set(path string, data []byte) error {
	_, err := g.guard.Set(context.Background(), path, data, -1)
	return err
}

func (g *zklocksGuard) End() {}
