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
		ID: "Z1", Step: zklockFolder, Cure: lateStock(byGuard).protectedBy(complete),
		Title: "a check of the holder's node lets a late write pass",
		World: player.World{Lock: lateStock(byNode).protectedBy(complete), Shared: true},
		Kinds: []player.Kind{player.LostAddition},
		Substitute: "The lock is zklock, and A and B are goroutines of one process. " +
			"Each holder reads a number from /stock, and writes it back with one added, in a transaction that checks " +
			"that the holder's node exists. A has a goroutine write, and unlocks without waiting for it.",
	},
	{
		ID: "Z2", Step: zklockFolder, Cure: lateStock(byGuard).protectedBy(complete),
		Title: "the version of a node that was made again is the same",
		World: player.World{Lock: lateStock(byVersion).protectedBy(complete)},
		Kinds: []player.Kind{player.LostAddition}, Search: atRandom,
		Substitute: "The lock is zklock, in two processes. Each holder makes the node /guard, writes its token there, " +
			"and deletes the node before it unlocks. It reads a number from /stock, and writes it back with one added, in a " +
			"transaction that checks the version of /guard. A has a goroutine write, and unlocks without waiting for it.",
	},
}

// lateStock returns a stock whose holders guard their writes. A has a goroutine write, and does not wait for it.
func lateStock(guard func(l *zklock.Lease) listings.Guarded) *stock { return &stock{guard: guard} }

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
