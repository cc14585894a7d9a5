// The figures of README.md, docs/benchmark.md and docs/figures.md are written here, from runs of docs/figures/measure.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

const figures = "docs/figures/" // from the root
const withLegends, withoutLegends = true, false

// runsOf reads the runs of these files, named without their folder and extension.
func runsOf(t *testing.T, names ...string) (runs []report.Run) {
	for _, name := range names {
		for _, r := range readJSON[[]report.Run](t, "../"+figures+name+".json") {
			require.Contains(t, namesOf(onZooKeeper()), r.Lock, "%s is a run of a lock that the benchmark does not have", name)
			r.About = find(r.Lock).About()
			runs = append(runs, r)
		}
	}
	return runs
}

// commandOf is the command that made the runs, without its -json.
func commandOf(runs []report.Run) string {
	return regexp.MustCompile(` -json \S+`).ReplaceAllString(runs[0].Command, "")
}

// transcript is the command of a file's runs and what it has printed, with the legends below the tables or without.
func transcript(t *testing.T, legends bool, name string, lang i18n.Language) string {
	runs := runsOf(t, name)
	command := commandOf(runs)
	flags := strings.Fields(command)[3:] // behind go run ./bench
	cfg := testenv.Must(parseFlags(flags, new(bytes.Buffer)))(t, command)
	cfg.lang = lang

	var out bytes.Buffer
	servers := report.Distinct(runs, func(r report.Run) string {
		return i18n.Textf("ZooKeeper: %s", r.Server).In(lang)
	})
	fmt.Fprintf(&out, "$ %s\n%s\n%s", command, strings.Join(servers, "\n"), cfg.headline())
	add := func(printTable func(io.Writer, []report.Run, int, i18n.Language), legendBegins i18n.Text) {
		var table bytes.Buffer
		printTable(&table, runs, 0, lang)
		text := table.String()
		if legends == withoutLegends {
			text, _, _ = strings.Cut(text, "\n"+legendBegins.In(lang))
		}
		out.WriteString(text)
	}
	add(report.PrintTable, report.TableLegend)
	if cfg.rounds > 1 {
		add(report.PrintTimes, report.TimesLegend)
	}
	return "```console\n" + out.String() + "```"
}

// machine lists the machines, the clients and the servers of the runs in these files.
func machine(t *testing.T, names []string) string {
	runs := runsOf(t, names...)
	all := func(of func(report.Run) string) string { return strings.Join(report.Distinct(runs, of), "; ") }
	address := regexp.MustCompile(`^\S+: `)
	return strings.Join([]string{
		"- " + all(func(r report.Run) string { return fmt.Sprintf("%d cores of %s", r.CPUs, r.CPU) }),
		"- " + all(func(r report.Run) string { return r.OS + "; " + r.Go }),
		"- clients: " + all(func(r report.Run) string { return r.Client }),
		"- servers: " + all(func(r report.Run) string {
			if len(r.Members) == 0 {
				return ""
			}
			return address.ReplaceAllString(r.Members[0], "")
		}), "- measured on " + all(func(r report.Run) string { return r.Began.Format(time.DateOnly) }),
	}, "\n")
}

// These are the time of a run, and what one acquisition takes.
func milliseconds(r report.Run) float64 { return float64(r.Elapsed) / 1e6 }
func requests(r report.Run) float64     { return float64(r.Requests) / float64(r.Count) }
func megabytes(r report.Run) float64    { return float64(r.Bytes) / float64(r.Count) / 1e6 }

// peersTable compares zklock with zk.Lock and with the yardsticks least or floor, a row for each file.
func peersTable(t *testing.T, names ...string) string {
	rows := []string{
		"| flags | least or floor | zklock | zk.Lock | zk.Lock / zklock | requests/acq of zklock, zk.Lock |",
		"|---|---:|---:|---:|---:|---|",
	}
	orDash := func(format string, f float64) string {
		if f == 0 {
			return "-"
		}
		return fmt.Sprintf(format, f)
	}

	for _, name := range names {
		runs := runsOf(t, name)
		median := func(lock string, of func(report.Run) float64) float64 { return report.Median(runs, lock, of) }
		least := cmp.Or(median("least", milliseconds), median("floor", milliseconds))
		ours, theirs := median("zklock", milliseconds), median("zk.Lock", milliseconds)
		_, locks, _ := strings.Cut(commandOf(runs), "-locks ") // and the flags after it
		rows = append(rows, fmt.Sprintf("| `-locks %s` | %s | %s | %s | %s | %s, %s |", locks,
			orDash("%.1f ms", least), orDash("%.1f ms", ours), orDash("%.1f ms", theirs), orDash("%.2f", theirs/ours),
			orDash("%.1f", median("zklock", requests)), orDash("%.1f", median("zk.Lock", requests))))
	}
	return strings.Join(rows, "\n")
}

// inChinese translates what the program prints in English alone.
var inChinese = strings.NewReplacer(" cores of ", " 核 ", "- clients: ", "- 客户端：", "- servers: ", "- 服务器：",
	"embedded (in memory, no disk)", "内嵌（在内存里，不写磁盘）", "- measured on ", "- 测量日期：", "| flags |", "| 选项 |",
	"least or floor |", "least 或 floor |", "requests/acq of zklock, zk.Lock", "zklock、zk.Lock 的请求/次", "; ", "；")

// figuresPage is docs/figures.md, or its Chinese edition. Only calls and the stamps of translations, <!-- en: ... -->,
// have digits in its template.
func figuresPage(t *testing.T, lang i18n.Language) string {
	source := fileText(t, "../"+figures+lang.Page("page.md")+".tmpl")
	callsAndStamps := regexp.MustCompile(`\{\{.*?\}\}|<!-- en:.*?-->`)
	measured := func(text string) string {
		if lang == i18n.Chinese {
			text = inChinese.Replace(text)
		}
		return "<!-- figures -->\n" + text + "\n<!-- end of figures -->"
	}
	require.NotRegexp(t, `\d`, callsAndStamps.ReplaceAllString(source, ""), "a digit of a template, and of no run")

	// The call of machine comes first, so the files that the later calls name are looked for in the source.
	var names []string
	calls := strings.Join(callsAndStamps.FindAllString(source, -1), "")
	for _, m := range regexp.MustCompile(`"([\w-]+)"`).FindAllStringSubmatch(calls, -1) {
		names = append(names, m[1])
	}

	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"machine":    func() string { return measured(machine(t, names)) },
		"transcript": func(name string) string { return measured(transcript(t, withoutLegends, name, lang)) },
		"peers":      func(names ...string) string { return measured(peersTable(t, names...)) },
		"pauses":     func() string { return strings.TrimSpace(fileText(t, "../"+figures+"pauses.txt")) },
		"quadratic": func() string {
			naive := find("naive")
			requests := naive.Formula.Predict(1000) / naive.Formula.Predict(100)
			times := float64(naive.Article[1000]) / float64(naive.Article[100])
			return i18n.Textf("%d contenders in place of %d send %.0f times the requests. The article's time grew %.0f-fold.", 1000, 100, requests, times).In(lang)
		},
	}).Parse(source))
	var out bytes.Buffer
	require.NoError(t, page.Execute(&out, nil))
	return out.String()
}

// peersPassage is the table of the peers in docs/benchmark.md. Their entries have its texts.
func peersPassage(t *testing.T, lang i18n.Language) string {
	rows := []string{"", i18n.Text("| row | what it is |").In(lang), "|---|---|"}
	for _, c := range peers {
		require.NotEmpty(t, c.What.In(i18n.Chinese), "the entry of %s does not say what it is, in both languages", c.Name)
		rows = append(rows, "| "+c.Name+" | "+c.What.In(lang)+" |")
		if c.Name == "curator" { // it has a second row
			rows = append(rows, "| "+c.Name+" cold | "+coldRunText.In(lang)+" |")
		}
	}
	return strings.Join(rows, "\n") + "\n"
}

// formulasPassage is the table of the formulas there: a row for each formula, or reason to have none, with its locks.
func formulasPassage(t *testing.T, lang i18n.Language) string {
	names := make(map[string][]string)
	var order []string
	for _, c := range onZooKeeper() {
		f := c.Formula
		if f.Text == "" && f.From.String() == "" {
			continue
		}
		require.NotEmpty(t, f.From.In(i18n.Chinese), "the entry of %s does not say where its requests come from, in both languages", c.Name)
		formula := cmp.Or(f.Text, i18n.Text("no formula").In(lang)) + " | " + f.From.In(lang)
		if names[formula] == nil {
			order = append(order, formula)
		}
		names[formula] = append(names[formula], c.Name)
	}
	rows := []string{"", i18n.Text("| | requests per acquisition | where they come from |").In(lang), "|---|---:|---|"}
	for _, formula := range order {
		rows = append(rows, "| "+strings.Join(names[formula], ", ")+" | "+formula+" |")
	}
	return strings.Join(rows, "\n") + "\n"
}

func figuresCharts(t *testing.T) map[string]string {
	all := make(map[string]string)
	for prefix, names := range map[string][]string{
		"embedded": {"embedded", "readme", "embedded-1000"},
		"real":     {"real", "real-1000"},
	} {
		largest := 0 // the number of contenders whose waits are shown
		for _, r := range runsOf(t, names[0]) {
			largest = max(largest, r.Goroutines)
		}
		for _, chart := range report.Charts(runsOf(t, names...), i18n.English) {
			if chart.Wait == 0 || chart.Wait == largest {
				kind, _, _ := strings.Cut(chart.Name, "-")
				all[figures+prefix+"-"+kind+".svg"] = chart.SVG(report.AsFile)
			}
		}
	}
	return all
}

// holdsRatios holds README.md's passage on the bytes of the herd and the factor of zklock.
func holdsRatios(t *testing.T) {
	shared, apart := runsOf(t, "readme"), runsOf(t, "apart") // one session of all contenders, and one of each
	n := shared[0].Goroutines
	require.Equal(t, n, apart[0].Sessions)

	var lists i18n.Text
	if herd := report.Median(shared, "herd", megabytes); herd > 0 { // it has not been stopped
		lists = i18n.Textf(`In the herd each waiter reads a list of all waiters at each release: at N = %d that is %.2f MB per
acquisition, and %.2f MB with the naive lock. `, n, herd, report.Median(shared, "naive", megabytes))
	}
	elapsed := func(runs []report.Run, lock string) float64 { return report.Median(runs, lock, milliseconds) }
	factor := i18n.Textf(`The factor of zklock, %.1fx, is that of goroutines of
one process, which hand the lock on in memory. With a session each, as %d processes would have, zklock
takes %.0f ms and predecessor %.0f ms.`,
		elapsed(shared, "naive")/elapsed(shared, "zklock"), n, elapsed(apart, "zklock"), elapsed(apart, "predecessor"))

	passage := i18n.Both(lists.String()+factor.String()+"\n", lists.In(i18n.Chinese)+factor.In(i18n.Chinese)+"\n")
	site.HoldsBoth(t, "README.md", "ratios", passage)
}

func TestTheDocsSayWhatWasMeasured(t *testing.T) {
	both := func(text func(*testing.T, i18n.Language) string) i18n.Text {
		return i18n.Both(text(t, i18n.English), text(t, i18n.Chinese))
	}
	for file, svg := range figuresCharts(t) {
		site.Holds(t, file, "", svg)
	}
	site.HoldsBoth(t, "docs/figures.md", "", both(figuresPage))
	site.HoldsBoth(t, "docs/benchmark.md", "formulas", both(formulasPassage))
	site.HoldsBoth(t, "docs/benchmark.md", "peers", both(peersPassage))
	readme := both(func(t *testing.T, lang i18n.Language) string {
		return transcript(t, withLegends, "readme", lang) + "\n"
	})
	readme = i18n.Both(readme.String(), inChinese.Replace(readme.In(i18n.Chinese)))
	site.HoldsBoth(t, "README.md", "run", readme)
	holdsRatios(t)
}

// A digit of README.md or docs/benchmark.md is held if a passage of this file, a claim or a label has it. unheld
// returns a text that the page lacks, or a line of the page with a digit that no text has; "" if all digits are held.
func unheld(page string, texts []string) string {
	page = site.Strip(page) // without the passages that this file writes
	for _, text := range texts {
		if !strings.Contains(page, text) {
			return text
		}
		page = strings.ReplaceAll(page, text, "")
	}
	return regexp.MustCompile(`.*\d.*`).FindString(page)
}

// TestEachDigitIsHeld also changes each digit of the pages, and requires that unheld notices it.
func TestEachDigitIsHeld(t *testing.T) {
	readme, benchmark := claims(t)
	for file, texts := range map[string][]string{"../README.md": readme, "../docs/benchmark.md": benchmark} {
		page := site.Strip(fileText(t, file))
		texts = append(texts, labelsOf(t, file)...)
		require.Empty(t, unheld(page, texts), "%s: nothing holds a figure: its text belongs in claims or in testdata/labels.txt", file)
		for _, at := range regexp.MustCompile(`\d`).FindAllStringIndex(page, -1) {
			changed := []byte(page)
			changed[at[0]] = '0' + (changed[at[0]]-'0'+1)%10 // the next digit
			require.NotEmpty(t, unheld(string(changed), texts), "%s: byte %d", file, at[0])
		}
	}
}

// claims are texts of the two pages, made of the program's constants or of what tests measure.
func claims(t *testing.T) (readme, benchmark []string) {
	readme = []string{"Go " + firstMatch(t, "../go.mod", `\ngo (\d+\.\d+)`)[0] + " installed"}
	alone, many := counter.Everyday[0], counter.Everyday[1] // the loads of the second table
	const rtt, times = 20, 20                               // the values in the pages' examples
	benchmark = []string{
		fmt.Sprintf("has %d acquisitions in each row: one goroutine alone that locks %d times, and %d\ngoroutines with a session each",
			alone.Count(), alone.Times, many.Sessions),
		fmt.Sprintf("no contender gets the free lock for %.0f s", counter.Patience.Seconds()),
		fmt.Sprintf("exit status %d", exitFailure),
		"warm-up (round 0)", // of warmJVM
		fmt.Sprintf("`-rtt %dms`** delays each message by %d ms", rtt, rtt/2),
		fmt.Sprintf("`-rtt %dms` | makes each round trip to the server %d ms longer", rtt, rtt),
		fmt.Sprintf("`-closed %d` | each goroutine locks %d times; the count is then %d N", times, times, times),
		"about N/2 on average with\nthe naive lock and the herd, 1 with the predecessor", // peers_test.go
		// fairness_test.go
		"is 0 in a queue, (N-1)/4\non average in a lottery, and (N-1)/2 in a stack. A queue may show a little more than 0,",
	}

	// The rows {contenders, ratio of the herd, ratio of the naive lock} of TestTheTimesHaveTheRatiosOfTheMeasuredServer.
	const contenders, herd, naive = 1, 2, 3
	table := fileText(t, "../internal/explore/film/film_test.go")
	rows := regexp.MustCompile(`\{(\d+), ([\d.]+), ([\d.]+)\}`).FindAllStringSubmatch(table, 4)
	require.Len(t, rows, 4)
	column := func(of int) string {
		return fmt.Sprintf("%s, %s, %s and %s", rows[0][of], rows[1][of], rows[2][of], rows[3][of])
	}
	packet, server := film.Measured(0).Latency, film.Measured(0).Server
	micros := time.Duration.Microseconds
	return readme, append(benchmark,
		fmt.Sprintf("`film.Measured`: %d µs for a request,\n%d µs more if it writes, %d µs for an event, ",
			micros(server.Request), micros(server.Write), micros(server.Event)),
		fmt.Sprintf("%d ns for a byte, and %d µs from a client", server.Byte.Nanoseconds(), micros(packet)),
		fmt.Sprintf("There the herd took %s times as long as step 3 with %s contenders", column(herd), column(contenders)),
		"In the lab it is\nwithin 10 %",
		fmt.Sprintf("The naive lock took %s times as long", column(naive)),
		"in the lab it is within 30 %, and too\nfast with 20 contenders",
	)
}

// labelsOf returns the texts of a page whose digits measure nothing. The file says which those are.
func labelsOf(t *testing.T, page string) (texts []string) {
	_, section, ok := strings.Cut(fileText(t, "testdata/labels.txt"), "== "+page+"\n")
	require.True(t, ok, page)
	section, _, _ = strings.Cut(section, "\n== ")
	for line := range strings.SplitSeq(strings.TrimSpace(section), "\n") {
		if !strings.HasPrefix(line, "#") {
			texts = append(texts, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return texts
}

// The numbers of the steps' pages, and of zklock's, are those of the code and its tests.
func TestTheFormulasOfTheStepsAreThoseOfTheirTests(t *testing.T) {
	steps := testenv.Must(filepath.Glob("../0*"))(t)
	require.Len(t, steps, 5)
	asGo := strings.NewReplacer("N²", "n*n", "2N", "2*n", "5N", "5*n", "6N", "6*n", "N", "n", "−", "-")
	for _, dir := range steps {
		said := firstMatch(t, dir+"/README.md", `each lock once\s+send \*\*(.*?)\s+requests`)
		require.Equal(t, firstMatch(t, dir+"/lock_test.go", `Requests: .*{ return (.*) }`)[0], asGo.Replace(said[0]), dir)
	}
	const page = "../zklock/README.md"
	handOver := firstMatch(t, "../zklock/lock.go", `holds: (\d+), during: (\d+) \* time\.Millisecond`)
	require.Equal(t, handOver, firstMatch(t, page, `After (\d+) holds or (\d+) ms`))
	require.Equal(t, []string{handOver[1], handOver[0]}, firstMatch(t, page, `no\s+longer than (\d+) ms(?s:.*) a node for (\d+) holds`))
	require.Equal(t, firstMatch(t, "../zklock/internal/client/proof.go", `timeout \* (\d+) / (\d+)`),
		firstMatch(t, page, `: (\d+)/(\d+) of the session timeout`))
	require.Equal(t, firstMatch(t, "../zklock/lock_cost_test.go", `LessOrEqual\(tb, float64\(sum\(sent\)\)/n, (.*?),`),
		firstMatch(t, page, `at most \*\*(.*?) N\*\*`))
}

func firstMatch(t *testing.T, file, pattern string) []string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(fileText(t, file))
	require.NotNil(t, m, "%s: %s", file, pattern)
	return m[1:]
}
