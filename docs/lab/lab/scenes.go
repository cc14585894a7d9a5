package lab

import (
	"time"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
)

// Scenes are ten scenes that must have the same film everywhere: in go test,
// in node and in a browser.
func Scenes() []locks.Scene {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	change := func(at time.Duration, who string, do explore.Fault) []film.Change {
		return []film.Change{{At: at, Who: who, Do: do}}
	}
	return []locks.Scene{
		{Lock: "naive", Contenders: 6, Seed: 1},
		{Lock: "herd", Contenders: 6, Seed: 2, Changes: change(ms(100), "B", explore.Cut)},
		{Lock: "predecessor", Contenders: 6, Seed: 3, Changes: change(ms(20), "A", explore.LoseReply)},
		{Lock: "predecessor", Contenders: 20, Seed: 4, Changes: change(ms(200), "B", explore.Stop)},
		{Lock: "reentrant", Contenders: 4, Seed: 5, LatencyMs: 50, Changes: change(ms(300), "A", explore.Expire)},
		{Lock: "zklock", Contenders: 6, Seed: 6},
		{Lock: "zklock", Contenders: 3, Seed: 7, Changes: change(ms(20), "A", explore.LoseReply)},
		{Lock: "timeout", Contenders: 3, Seed: 8, Changes: append(change(ms(150), "A", explore.Expire), change(ms(200), "B", explore.EndContext)...)},
		{Lock: "naive", Contenders: 20, Shared: true, Seed: 9},
		{Lock: "herd", Contenders: 20, Seed: 3, Measured: true},
	}
}
