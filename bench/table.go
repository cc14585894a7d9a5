package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
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

	rows := [][]string{{"lock", "N", "count", "elapsed", "vs naive", "requests/acq", "events/acq", "article A", "vs naive"}}
	joined := slices.ContainsFunc(results, func(r result) bool { return r.Processes > 1 })
	if joined {
		rows[0] = slices.Insert(rows[0], 3, "total")
	}
	for i, k := range keys {
		if i > 0 && keys[i-1].n != k.n {
			rows = append(rows, nil)
		}
		article := runs[k][0].contestant.article[k.n]
		row := []string{k.lock, strconv.Itoa(k.n), "FAILED", "-", "-", "-", "-"}
		if rs := succeeded(runs[k]); len(rs) == len(runs[k]) {
			count := strconv.Itoa(rs[0].Count)
			if rs[0].contestant.unsafe {
				count = "no lock"
			}
			row = []string{
				k.lock, strconv.Itoa(k.n), count,
				milliseconds(elapsed(rs)), ratio(elapsed(succeeded(runs[key{"naive", k.n}])), elapsed(rs)),
				perAcquisition(rs, func(r result) int64 { return r.Requests }),
				perAcquisition(rs, func(r result) int64 { return r.WatchEvents }),
			}
		}
		if joined {
			total := "-"
			if row[2] != "FAILED" {
				total = strconv.Itoa(runs[k][0].Total)
			}
			row = slices.Insert(row, 3, total)
		}
		rows = append(rows, append(row, milliseconds(article), ratio(articleNaive[k.n], article)))
	}
	printColumns(w, rows)
	fmt.Fprint(w, "\nrequests and watch events are counted on the wire, per acquisition; pings are left out.\n"+
		"article A: its author's times, on another machine and network; compare the ratios.\n")
}

// printColumns aligns the first column to the left and the others to the
// right. A nil row is an empty line.
func printColumns(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(w, "%-*s", widths[i], cell)
			} else {
				fmt.Fprintf(w, "  %*s", widths[i], cell)
			}
		}
		fmt.Fprintln(w)
	}
}

// perAcquisition is the median of a figure, divided by the count.
func perAcquisition(rs []result, figure func(result) int64) string {
	m := median(rs, func(r result) float64 { return float64(figure(r)) / float64(max(r.Count, 1)) })
	return strconv.FormatFloat(m, 'f', 1, 64)
}

// succeeded leaves out the runs that failed: their figures mean nothing.
func succeeded(rs []result) []result {
	return slices.DeleteFunc(slices.Clone(rs), func(r result) bool { return r.Error != "" })
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
