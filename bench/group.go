package main

import (
	"cmp"
	"slices"
	"time"
)

// A runGroup is all rounds of one lock with one number of goroutines. Curator's
// cold round is a group of its own.
type runGroup struct {
	lock string
	n    int
	cold bool
	runs []result
}

// group puts results that belong together into groups, those with the fewest
// goroutines first.
func group(results []result) []runGroup {
	var groups []runGroup
	for _, r := range results {
		cold := r.Status == statusWarmUp
		i := slices.IndexFunc(groups, func(g runGroup) bool {
			return g.lock == r.Lock && g.n == r.Goroutines && g.cold == cold
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, runGroup{r.Lock, r.Goroutines, cold, nil})
		}
		groups[i].runs = append(groups[i].runs, r)
	}
	slices.SortStableFunc(groups, func(a, b runGroup) int { return cmp.Compare(a.n, b.n) })
	return groups
}

func (g runGroup) contestant() contestant { return g.runs[0].contestant }

func (g runGroup) name() string {
	if g.cold {
		return g.lock + " cold"
	}
	return g.lock
}

// ok says whether all rounds went well: otherwise the figures mean nothing.
func (g runGroup) ok() bool { return g.problem().Error == "" }

// problem returns the first run that did not go well.
func (g runGroup) problem() result {
	for _, r := range g.runs {
		if r.Error != "" {
			return r
		}
	}
	return result{}
}

// article is the time in article A, 0 if there is none.
func (g runGroup) article() time.Duration {
	if g.cold {
		return 0
	}
	return g.contestant().article[g.n]
}

func (g runGroup) median(f func(result) float64) float64 {
	values := make([]float64, len(g.runs))
	for i, r := range g.runs {
		values[i] = f(r)
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}

func (g runGroup) elapsed() time.Duration {
	return g.wait(func(r result) time.Duration { return r.Elapsed })
}

// wait is the median of a time.
func (g runGroup) wait(f func(result) time.Duration) time.Duration {
	return time.Duration(g.median(func(r result) float64 { return float64(f(r)) }))
}

func (g runGroup) least(f func(result) time.Duration) time.Duration {
	return f(slices.MinFunc(g.runs, func(a, b result) int { return cmp.Compare(f(a), f(b)) }))
}

func (g runGroup) most(f func(result) time.Duration) time.Duration {
	return f(slices.MaxFunc(g.runs, func(a, b result) int { return cmp.Compare(f(a), f(b)) }))
}

// each is the median of a figure, divided by the count.
func (g runGroup) each(f func(result) float64) float64 {
	return g.median(func(r result) float64 { return f(r) / float64(max(r.Count, 1)) })
}

// perAcquisition prints each; a dash where nothing was counted.
func (g runGroup) perAcquisition(f func(result) float64) string {
	if g.cold {
		return "-"
	}
	return figure1(g.each(f))
}

// naiveTime is what the naive lock took, 0 if it did not run well.
func naiveTime(groups []runGroup, n int) time.Duration {
	for _, g := range groups {
		if g.lock == "naive" && g.n == n && g.ok() {
			return g.elapsed()
		}
	}
	return 0
}
