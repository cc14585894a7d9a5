package report

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
)

// ArticleNaive are article A's times of the naive lock, with which it compares.
var ArticleNaive = map[int]time.Duration{100: 1625 * time.Millisecond, 1000: 125062 * time.Millisecond}

var EverydayText = i18n.Text("One goroutine alone, which locks 50 times, " +
	"and 50 goroutines with a session each,\nas 50 processes would have:")

// The first words below the tables.
var (
	TableLegend = i18n.Text("requests and watch events: per acquisition, counted on the wire, without pings.\n")
	TimesLegend = i18n.Text("overtaken: how many others asked for the lock later and held it earlier, on\n" +
		"average and at most; about 0 in a queue, (N-1)/4 on average in a lottery.\n")
)

// The values of aside. The first table has the loads of article A, in which all contend at once; the second one has
// loads of every day, which the article does not have.
const firstTable, secondTable = false, true

// ofTable returns the results of one of the two tables.
func ofTable(results []Run, aside bool) []Run {
	return slices.DeleteFunc(slices.Clone(results), func(r Run) bool { return r.Aside != aside })
}

// mainTable returns one of the two tables, which has a line for each lock and number of goroutines.
func mainTable(results []Run, aside bool, l i18n.Language) table {
	results = ofTable(results, aside)
	groups := group(results)
	naive, best := timesToCompare(groups)
	var t table
	var columns []func(Group) string
	column := func(title i18n.Text, text func(Group) string) {
		t.Header, columns = append(t.Header, title.In(l)), append(columns, text)
	}
	some := func(is func(Run) bool) bool { return slices.ContainsFunc(results, is) }

	column("lock", Group.name)
	column(i18n.Same("N"), func(g Group) string { return strconv.Itoa(g.n) })
	column("count", func(g Group) string {
		if g.about().Unsafe.String() != "" {
			return noLockText.In(l)
		}
		return strconv.Itoa(g.runs[0].Count)
	})
	if some(func(r Run) bool { return r.Processes > 1 }) {
		column("total", func(g Group) string { return strconv.Itoa(g.runs[0].Total) })
	}
	column("elapsed", func(g Group) string { return milliseconds(g.elapsed()) })
	column("vs naive", func(g Group) string { return ratio(naive[g.n], g.elapsed()) })
	if some(func(r Run) bool { return r.About.System != "" }) { // not all are on ZooKeeper
		column("attempts/acq", func(g Group) string { return g.perAcquisition(func(r Run) int64 { return r.Attempts }) })
	}
	column("requests/acq", func(g Group) string { return g.perAcquisition(func(r Run) int64 { return r.Requests }) })
	column("events/acq", func(g Group) string {
		if g.about().System != "" {
			return "-"
		}
		return g.perAcquisition(func(r Run) int64 { return r.WatchEvents })
	})
	measured := len(columns) // the article's columns come behind these
	if !aside && slices.ContainsFunc(groups, func(g Group) bool { return g.article() > 0 }) {
		column("article A", func(g Group) string { return milliseconds(g.article()) })
		column("A vs naive", func(g Group) string { return ratio(ArticleNaive[g.n], g.article()) })
	}
	t.extra = len(columns) - measured

	for i, g := range groups {
		if i > 0 && groups[i-1].n != g.n {
			t.add(plain)
		}
		row := slices.Repeat([]string{"-"}, len(columns))
		for k, text := range columns {
			isKnown := k < longCell || k >= measured // also of a run that failed: the lock, N and the article's times
			if isKnown || g.ok() {
				row[k] = text(g)
			}
		}
		switch {
		case g.ok() && g.about().Unsafe.String() == "" && g.elapsed() == best[g.n] && len(groups) > 1:
			t.add(green, row...)
		case g.ok():
			t.add(plain, row...)
		case g.problem().Status == StatusFailed || g.problem().Status == "":
			row[longCell] = failedText.In(l)
			t.add(red, row...)
		default: // one long cell takes the place of what would have been measured
			t.add(yellow, slices.Concat(row[:longCell], []string{g.problem().why(l)}, row[measured:])...)
		}
	}
	return t
}

// timesToCompare returns, by the number of goroutines, the time of the naive lock and the best time of a lock.
func timesToCompare(groups []Group) (naive, best map[int]time.Duration) {
	naive, best = make(map[int]time.Duration), make(map[int]time.Duration)
	for _, g := range groups {
		if !g.ok() {
			continue
		}
		if g.lock == "naive" {
			naive[g.n] = g.elapsed()
		}
		if g.about().Unsafe.String() == "" && (best[g.n] == 0 || g.elapsed() < best[g.n]) {
			best[g.n] = g.elapsed()
		}
	}
	return naive, best
}

// PrintTable prints what the benchmark shows. The width is that of a terminal, in columns; 0 means no limit.
func PrintTable(w io.Writer, results []Run, width int, l i18n.Language) {
	t := mainTable(results, firstTable, l)
	narrowed := t.print(w, width)
	if t := mainTable(results, secondTable, l); len(t.Rows) > 0 {
		fmt.Fprintf(w, "\n%s\n\n", EverydayText.In(l))
		t.print(w, width)
	}
	if slices.ContainsFunc(results, func(r Run) bool { return r.About.System != "" }) {
		fmt.Fprint(w, i18n.Text("\nattempts: how many times a contender asked for the lock, per acquisition; on\n"+
			"ZooKeeper, the nodes that it asked for. requests of locks that are not on\nZooKeeper: statements, commands or "+
			"calls that the client sent.\n").In(l))
	}
	fmt.Fprint(w, "\n"+TableLegend.In(l))
	switch {
	case t.extra == 0: // the article has no times for these N
	case narrowed:
		fmt.Fprint(w, i18n.Textf("article A's times need more than %d columns: use a wider terminal, or -report.\n", width).In(l))
	default:
		fmt.Fprint(w, i18n.Text("article A: the times in the blog post whose benchmark this is, on another\n"+
			"machine and network (docs/benchmark.md); compare the ratios.\n").In(l))
	}
	for _, text := range noLocks(results) {
		fmt.Fprint(w, i18n.Textf("no lock: %s.\n", text).In(l))
	}
}

var noLockText, failedText = i18n.Text("no lock"), i18n.Text("FAILED")

// Outcome is the time of a run, or why it has none.
func (r Run) Outcome(l i18n.Language) string {
	switch {
	case r.Status == StatusFailed:
		return failedText.In(l)
	case r.Error != "":
		return r.why(l)
	}
	return milliseconds(r.Elapsed)
}

// noLocks says what the yardsticks that are not locks do in place of excluding.
func noLocks(results []Run) []i18n.Text {
	return Distinct(results, func(r Run) i18n.Text { return r.About.Unsafe })
}

// groupsOfBoth yields the groups of both tables whose rounds went well, and adds an empty line to t between the two.
func groupsOfBoth(t *table, results []Run) iter.Seq[Group] {
	groups := group(ofTable(results, firstTable))
	return func(yield func(Group) bool) {
		for i, g := range slices.Concat(groups, group(ofTable(results, secondTable))) {
			if i > 0 && i == len(groups) {
				t.add(plain)
			}
			if g.ok() && !yield(g) {
				return
			}
		}
	}
}

// timesTable shows how much the rounds differ, and how the contenders fared.
func timesTable(results []Run, l i18n.Language) table {
	t := table{Header: strings.Split(i18n.Text("lock|N|rounds|min|median|max|wait p50|p99|wait max|overtaken|most").In(l), "|")}
	for g := range groupsOfBoth(&t, results) {
		t.add(plain, g.name(), strconv.Itoa(g.n), strconv.Itoa(len(g.runs)),
			bareMilliseconds(g.fastest()), bareMilliseconds(g.elapsed()), bareMilliseconds(g.slowest()),
			bareMilliseconds(g.medianTime(func(r Run) time.Duration { return r.WaitP50 })),
			bareMilliseconds(g.medianTime(func(r Run) time.Duration { return r.WaitP99 })),
			bareMilliseconds(g.medianTime(func(r Run) time.Duration { return r.WaitMax })),
			figure(g.median(func(r Run) float64 { return r.Overtaken })),
			figure(g.median(func(r Run) float64 { return float64(r.OvertakenMax) })))
	}
	return t
}

// PrintTimes prints how much the rounds differ, and how the contenders fared.
func PrintTimes(w io.Writer, results []Run, width int, l i18n.Language) {
	t := timesTable(results, l)
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprint(w, i18n.Text("\nTimes in ms: of the rounds, and of the waits for the lock (their medians).\n\n").In(l))
	t.print(w, width)
	fmt.Fprint(w, "\n"+TimesLegend.In(l))
}

// tableKinds are the kinds of request that have a column of their own.
var tableKinds = []string{"create", "children", "get", "delete"}

// wireTable has the requests and the steps' predictions.
func wireTable(results []Run, l i18n.Language) table {
	begin, end := i18n.Text("lock|N|requests|predicted").In(l), i18n.Text("other|wake-ups|bytes").In(l)
	t := table{Header: slices.Concat(strings.Split(begin, "|"), tableKinds, strings.Split(end, "|"))}
	for g := range groupsOfBoth(&t, results) {
		if g.runs[0].Kinds == nil {
			continue
		}
		row := []string{g.name(), strconv.Itoa(g.n), g.perAcquisition(func(r Run) int64 { return r.Requests }), "-"}
		if p := g.runs[0].Predicted; p > 0 {
			row[3] = oneDecimal(p / float64(g.n))
		}
		for _, kind := range tableKinds {
			row = append(row, g.perAcquisition(func(r Run) int64 { return r.Kinds[kind] }))
		}
		t.add(plain, append(row,
			g.perAcquisition(Run.OtherKinds),
			g.perAcquisition(func(r Run) int64 { return r.WakeUps }),
			noDecimal(g.perHold(func(r Run) int64 { return r.Bytes })))...)
	}
	return t
}

// formulas returns the formulas of the locks that took part, each with the names of its locks.
func formulas(results []Run) (list []i18n.Text) {
	for _, text := range Distinct(results, func(r Run) string { return r.About.Formula }) {
		others := func(r Run) bool { return r.About.Formula != text }
		locks := Distinct(slices.DeleteFunc(slices.Clone(results), others), func(r Run) string { return r.Lock })
		list = append(list, i18n.Textf("%s: %s", text, i18n.List(locks)))
	}
	return list
}

// PrintWire prints the requests, and the steps' predictions.
func PrintWire(w io.Writer, results []Run, width int, l i18n.Language) {
	t := wireTable(results, l)
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprint(w, i18n.Text("\nOn the wire, per acquisition:\n\n").In(l))
	t.print(w, width)
	fmt.Fprint(w, i18n.Text("\nwake-ups: watchers that the client library woke; one event wakes all that share\nits session.\n").In(l))
	if all := formulas(results); all != nil {
		fmt.Fprint(w, i18n.Textf("predicted, if all are in the queue before the first one unlocks:\n  %s\n", i18n.Join(all, "\n  ")).In(l))
	}
}

// OtherKinds counts the requests that have no column.
func (r Run) OtherKinds() int64 {
	n := r.Requests
	for _, kind := range tableKinds {
		n -= r.Kinds[kind]
	}
	return n
}

// milliseconds prints a time, or a dash for 0.
func milliseconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return bareMilliseconds(d) + " ms"
}

// bareMilliseconds is a time in milliseconds without its unit.
func bareMilliseconds(d time.Duration) string { return figure(float64(d) / float64(time.Millisecond)) }

// figure prints a number below 100 with one decimal, and others with none.
func figure(f float64) string {
	if f < 99.95 {
		return oneDecimal(f)
	}
	return noDecimal(f)
}

func oneDecimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
func noDecimal(f float64) string  { return strconv.FormatFloat(f, 'f', 0, 64) }

// ratio says how many times as fast as the reference d is.
func ratio(reference, d time.Duration) string {
	if reference == 0 || d == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(reference)/float64(d), 'f', 1, 64) + "x"
}
