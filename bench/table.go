package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// printTable prints one line for each lock and number of goroutines.
func printTable(w io.Writer, results []result) {
	type key struct {
		lock string
		n    int
	}
	runs := make(map[key][]result)
	var keys []key
	for _, r := range results {
		k := key{r.Lock, r.Goroutines}
		if runs[k] == nil {
			keys = append(keys, k)
		}
		runs[k] = append(runs[k], r)
	}
	slices.SortStableFunc(keys, func(a, b key) int { return cmp.Compare(a.n, b.n) })

	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "lock\tN\tcount\telapsed\tvs naive\trequests\tevents\tarticle\tvs naive\t")
	fmt.Fprintln(tw, "\t\t\t\t\tper acq.\tper acq.\tA\t\t")
	for i, k := range keys {
		if i > 0 && keys[i-1].n != k.n {
			fmt.Fprintln(tw, "\t\t\t\t\t\t\t\t\t")
		}
		rs, naive := runs[k], runs[key{"naive", k.n}]
		c := rs[0].contestant
		perAcquisition := func(f func(result) int64) string {
			return strconv.FormatFloat(median(rs, func(r result) float64 { return float64(f(r)) / float64(max(r.Count, 1)) }), 'f', 1, 64)
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n",
			k.lock, k.n, count(rs), milliseconds(elapsed(rs)), ratio(elapsed(naive), elapsed(rs)),
			perAcquisition(func(r result) int64 { return r.Requests }),
			perAcquisition(func(r result) int64 { return r.WatchEvents }),
			milliseconds(c.article[k.n]), ratio(contestants[0].article[k.n], c.article[k.n]))
	}
	tw.Flush()
}

// count is the common count of all runs, or each of them where they differ.
func count(rs []result) string {
	text := strconv.Itoa(rs[0].Count)
	for _, r := range rs[1:] {
		if r.Count != rs[0].Count {
			text += "/" + strconv.Itoa(r.Count)
		}
	}
	if rs[len(rs)-1].Error != "" {
		text = "FAILED " + text
	}
	return text
}

func median(rs []result, f func(result) float64) float64 {
	values := make([]float64, len(rs))
	for i, r := range rs {
		values[i] = f(r)
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}

// elapsed is the median time, 0 if there is no run.
func elapsed(rs []result) time.Duration {
	if len(rs) == 0 {
		return 0
	}
	return time.Duration(median(rs, func(r result) float64 { return float64(r.Elapsed) }))
}

// milliseconds prints a time, or a dash where there is none.
func milliseconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	ms := float64(d) / float64(time.Millisecond)
	if ms < 100 {
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
}

// ratio says how many times as fast as the reference something is.
func ratio(reference, d time.Duration) string {
	if reference == 0 || d == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(reference)/float64(d), 'f', 1, 64) + "x"
}
