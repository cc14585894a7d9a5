package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// The figures of README.md, docs/benchmark.md and docs/figures.md are written here, from the
// runs that docs/figures/measure has made.

const figures = "docs/figures/" // from the root

// runsOf reads the runs of these files, named without their folder and extension.
func runsOf(t *testing.T, names ...string) (runs []report.Run) {
	for _, name := range names {
		for _, r := range written[[]report.Run](t, "../"+figures+name+".json") {
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

// distinct returns the texts of the runs, each once and without the empty ones.
func distinct(runs []report.Run, of func(report.Run) string) (texts []string) {
	for _, r := range runs {
		if text := of(r); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// transcript is the command of a file's runs and what it has printed, with the legends of the tables or without.
func transcript(t *testing.T, legend bool, name string, lang i18n.Language) string {
	runs := runsOf(t, name)
	command := commandOf(runs)
	cfg := testenv.Must(parseFlags(strings.Fields(command)[3:], new(bytes.Buffer)))(t, command)
	cfg.lang = lang

	var out bytes.Buffer
	servers := distinct(runs, func(r report.Run) string {
		return i18n.Textf("ZooKeeper: %s", r.Server).In(lang)
	})
	fmt.Fprintf(&out, "$ %s\n%s\n%s", command, strings.Join(servers, "\n"), cfg.headline())
	add := func(printTable func(io.Writer, []report.Run, int, i18n.Language), legendBegins i18n.Text) {
		var table bytes.Buffer
		printTable(&table, runs, 0, lang)
		text := table.String()
		if !legend {
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
	all := func(of func(report.Run) string) string { return strings.Join(distinct(runs, of), "; ") }
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

// Of a run: its time, and what one acquisition takes.
func milliseconds(r report.Run) float64 { return float64(r.Elapsed) / 1e6 }
func requests(r report.Run) float64     { return float64(r.Requests) / float64(r.Count) }
func megabytes(r report.Run) float64    { return float64(r.Bytes) / float64(r.Count) / 1e6 }

// peersTable compares zklock with zk.Lock and with the yardsticks least or floor, a row for each file.
func peersTable(t *testing.T, names ...string) string {
	rows := []string{
		"| flags | least or floor | zklock | zk.Lock | zk.Lock / zklock | requests/acq of zklock, zk.Lock |",
		"|---|---:|---:|---:|---:|---|",
	}
	show := func(format string, f float64) string {
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
			show("%.1f ms", least), show("%.1f ms", ours), show("%.1f ms", theirs), show("%.2f", theirs/ours),
			show("%.1f", median("zklock", requests)), show("%.1f", median("zk.Lock", requests))))
	}
	return strings.Join(rows, "\n")
}

// inChinese translates what the program prints in English alone.
var inChinese = strings.NewReplacer(" cores of ", " 核 ", "- clients: ", "- 客户端：", "- servers: ", "- 服务器：",
	"embedded (in memory, no disk)", "内嵌（在内存里，不写磁盘）", "- measured on ", "- 测量日期：", "| flags |", "| 选项 |",
	"least or floor |", "least 或 floor |", "requests/acq of zklock, zk.Lock", "zklock、zk.Lock 的请求/次", "; ", "；")

// figuresPage is docs/figures.md, or its Chinese edition. Its template has no digit outside of a call, stamps apart.
func figuresPage(t *testing.T, lang i18n.Language) string {
	source := fileText(t, "../"+figures+lang.Page("page.md")+".tmpl")
	calls := regexp.MustCompile(`\{\{.*?\}\}|<!-- en:.*?-->`)
	measured := func(text string) string {
		if lang == i18n.Chinese {
			text = inChinese.Replace(text)
		}
		return "<!-- figures -->\n" + text + "\n<!-- end of figures -->"
	}
	require.NotRegexp(t, `\d`, calls.ReplaceAllString(source, ""), "a digit of a template that no run has written")
	var names []string // the arguments of all calls
	inCalls := strings.Join(calls.FindAllString(source, -1), "")
	for _, m := range regexp.MustCompile(`"([\w-]+)"`).FindAllStringSubmatch(inCalls, -1) {
		names = append(names, m[1])
	}

	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"machine":    func() string { return measured(machine(t, names)) },
		"transcript": func(name string) string { return measured(transcript(t, false, name, lang)) },
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

// formulasPassage is the table of the formulas there: a row for each formula and for each reason
// to have none, with the locks of which it is true.
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

// figuresCharts are the charts of figures.md, by their files.
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
	readme := both(func(t *testing.T, lang i18n.Language) string { return transcript(t, true, "readme", lang) + "\n" })
	readme = i18n.Both(readme.String(), inChinese.Replace(readme.In(i18n.Chinese)))
	site.HoldsBoth(t, "README.md", "run", readme)
	holdsRatios(t)
}
