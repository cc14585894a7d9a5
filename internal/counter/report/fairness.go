package report

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Turn is how one contender fared.
type Turn struct {
	Arrived time.Duration // when it asked for the lock, since the clock was started
	Got     time.Duration // when it had it
	Place   int           // how many had held the lock before it
}

// waitTimes returns the wait of each contender, the shortest first.
func waitTimes(turns []Turn) (waits []time.Duration) {
	for _, t := range turns {
		waits = append(waits, t.Got-t.Arrived)
	}
	slices.Sort(waits)
	return waits
}

// quantile returns the shortest wait that at least the share q of all waits do not exceed; waits are sorted.
func quantile(waits []time.Duration, q float64) time.Duration {
	if len(waits) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(waits))))
	return waits[min(max(rank, 1), len(waits))-1]
}

// overtakings returns our figures for fairness. A contender is overtaken by each other one that asked for
// the lock later and held it earlier. The mean over all contenders is 0 where all are served in the order
// in which they come, (N-1)/4 in a lottery, and (N-1)/2 where the last to come is served first.
//
// The mean of a queue is not quite 0: contenders that ask at the same instant may reach the server in another order.
func overtakings(turns []Turn) (mean float64, most int) {
	if len(turns) == 0 {
		return 0, 0
	}
	byArrival := slices.Clone(turns)
	slices.SortStableFunc(byArrival, func(a, b Turn) int { return cmp.Compare(a.Arrived, b.Arrived) })

	var places []int // of the contenders that arrived later, sorted
	sum := 0
	for _, t := range slices.Backward(byArrival) {
		overtaken, _ := slices.BinarySearch(places, t.Place) // the number of lower places, which were served earlier
		places = slices.Insert(places, overtaken, t.Place)
		sum += overtaken
		most = max(most, overtaken)
	}
	return float64(sum) / float64(len(turns)), most
}
