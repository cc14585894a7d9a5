package report

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// served returns turns of contenders that arrived in the order of the arguments, and were served at these places.
func served(places ...int) (turns []Turn) {
	for i, p := range places {
		turns = append(turns, Turn{Arrived: time.Duration(i), Place: p})
	}
	return turns
}

func TestAContenderThatCameLaterAndWasServedEarlierOvertook(t *testing.T) {
	for _, tc := range []struct {
		turns []Turn
		mean  float64 // how many others have overtaken a contender, on average
		most  int     // and at most
	}{
		{turns: nil},
		{turns: served(0)},
		{turns: served(0, 1, 2, 3, 4)},
		{turns: served(4, 3, 2, 1, 0), mean: 2, most: 4},                // a stack: the mean is (N-1)/2
		{turns: served(4, 0, 1, 2, 3), mean: 0.8, most: 4},              // one starves
		{turns: served(1, 0, 3, 2), mean: 0.5, most: 1},                 // neighbours swap
		{turns: served(1, 2, 3, 0), mean: 0.75, most: 1},                // one jumps the queue
		{turns: served(10, 0, 20), mean: 1.0 / 3, most: 1},              // places need not be dense
		{turns: []Turn{{Arrived: 9, Place: 1}, {Arrived: 5, Place: 0}}}, // any order of the slice
	} {
		mean, most := overtakings(tc.turns)
		require.InDelta(t, tc.mean, mean, 1e-9, "%v", tc.turns)
		require.Equal(t, tc.most, most, "%v", tc.turns)
	}
}

// If the order is random, a contender is overtaken by a quarter of the others on average.
func TestALotteryOvertakesAQuarter(t *testing.T) {
	const n = 2000
	mean, _ := overtakings(served(rand.New(rand.NewPCG(1, 2)).Perm(n)...))
	require.InEpsilon(t, (n-1)/4.0, mean, 0.05)
}

func TestQuantilesOfWaits(t *testing.T) {
	var turns []Turn
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(200) {
		arrived := time.Duration(i) * time.Second
		turns = append(turns, Turn{Arrived: arrived, Got: arrived + time.Duration(i+1)*time.Millisecond})
	}
	waits := waitTimes(turns) // 1 ms … 200 ms
	for q, milliseconds := range map[float64]time.Duration{0: 1, 0.5: 100, 0.99: 198, 0.991: 199, 1: 200} {
		require.Equal(t, milliseconds*time.Millisecond, quantile(waits, q), "%v", q)
	}
	require.Equal(t, time.Second, quantile([]time.Duration{time.Second}, 0.5))
	require.Zero(t, quantile(nil, 0.5))
}
