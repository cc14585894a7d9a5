package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// Of README.md, docs/benchmark.md and docs/figures.md each digit is held. Those of
// figures.md are all written here, from the runs that docs/figures/measure has made.
// On the other two pages a digit is in a passage that is written here, or in a text
// below that is made of the program's own constants, or in one that names something:
// a step, an address, a value of a flag in an example.

const figures = "docs/figures/" // from the root

// runsOf are the runs of these files, in their order.
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

// commandOf is the command of a run, without the file that it wrote.
func commandOf(runs []report.Run) string {
	return regexp.MustCompile(` -json \S+`).ReplaceAllString(runs[0].Command, "")
}

// transcript is what the command has printed, with its legend or without.
func transcript(t *testing.T, legend bool, name string, lang i18n.Language) string {
	runs := runsOf(t, name)
	command := commandOf(runs)
	cfg := testenv.Must(parseFlags(strings.Fields(command)[3:], new(bytes.Buffer)))(t, command)
	cfg.lang = lang
	var out bytes.Buffer
	fmt.Fprintf(&out, "$ %s\n", command)
	var servers []string
	for _, r := range runs {
		server := i18n.Textf("ZooKeeper: %s", "ZooKeeper：%s", r.Server).In(lang)
		if !slices.Contains(servers, server) {
			servers = append(servers, server)
			fmt.Fprintln(&out, server)
		}
	}
	out.WriteString(cfg.work())
	table := func(printTo func(*bytes.Buffer), legendBegins string) {
		var b bytes.Buffer
		printTo(&b)
		text := b.String()
		if !legend {
			text, _, _ = strings.Cut(text, legendBegins)
		}
		out.WriteString(text)
	}
	table(func(b *bytes.Buffer) { report.PrintTable(b, runs, 0, lang) }, "\n"+report.TableLegend.In(lang))
	if cfg.rounds > 1 {
		table(func(b *bytes.Buffer) { report.PrintTimes(b, runs, 0, lang) }, "\n"+report.TimesLegend.In(lang))
	}
	return "```console\n" + out.String() + "```"
}

// machine says what the runs were made on, and with.
func machine(t *testing.T, names []string) string {
	runs := runsOf(t, names...)
	list := func(of func(report.Run) string) string {
		var all []string
		for _, r := range runs {
			if text := of(r); text != "" && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return strings.Join(all, "; ")
	}
	address := regexp.MustCompile(`^\S+: `)
	return strings.Join([]string{
		"- " + list(func(r report.Run) string { return fmt.Sprintf("%d cores of %s", r.CPUs, r.CPU) }),
		"- " + list(func(r report.Run) string { return r.OS }) + "; " + list(func(r report.Run) string { return r.Go }),
		"- clients: " + list(func(r report.Run) string { return r.Client }),
		"- servers: " + list(func(r report.Run) string {
			if len(r.Members) == 0 {
				return ""
			}
			return address.ReplaceAllString(r.Members[0], "")
		}),
		"- measured on " + list(func(r report.Run) string { return r.Began.Format(time.DateOnly) }),
	}, "\n")
}

// peersTable compares zklock with zk.Lock and with what no lock is faster than.
func peersTable(t *testing.T, names ...string) string {
	rows := []string{"| flags | least or floor | zklock | zk.Lock | zk.Lock / zklock | requests/acq of zklock, zk.Lock |", "|---|---:|---:|---:|---:|---|"}
	for _, name := range names {
		runs := runsOf(t, name)
		elapsed := func(r report.Run) float64 { return float64(r.Elapsed) / float64(time.Millisecond) }
		requests := func(r report.Run) float64 { return float64(r.Requests) / float64(r.Count) }
		show := func(format string, f float64) string {
			if f == 0 {
				return "-"
			}
			return fmt.Sprintf(format, f)
		}
		median := func(lock string, of func(report.Run) float64) float64 { return report.Median(runs, lock, of) }
		mine, other := median("zklock", elapsed), median("zk.Lock", elapsed)
		_, locks, _ := strings.Cut(commandOf(runs), "-locks ") // and the flags after it
		rows = append(rows, fmt.Sprintf("| `-locks %s` | %s | %s | %s | %s | %s, %s |", locks,
			show("%.1f ms", cmp.Or(median("least", elapsed), median("floor", elapsed))), show("%.1f ms", mine), show("%.1f ms", other),
			show("%.2f", other/mine), show("%.1f", median("zklock", requests)), show("%.1f", median("zk.Lock", requests))))
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
	names := make([]string, 0)
	for _, m := range regexp.MustCompile(`"([\w-]+)"`).FindAllStringSubmatch(strings.Join(calls.FindAllString(source, -1), ""), -1) {
		names = append(names, m[1])
	}
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"machine":    func() string { return measured(machine(t, names)) },
		"transcript": func(name string) string { return measured(transcript(t, false, name, lang)) },
		"peers":      func(names ...string) string { return measured(peersTable(t, names...)) },
		"pauses":     func() string { return strings.TrimSpace(fileText(t, "../"+figures+"pauses.txt")) },
		"quadratic": func() string {
			naive := find("naive")
			return i18n.Textf("%d contenders in place of %d send %.0f times the requests. The article's time grew %.0f-fold.",
				"%d 个竞争者与 %d 个相比，请求是 %.0f 倍；文章的时间是 %.0f 倍。",
				1000, 100, naive.Formula.Predict(1000)/naive.Formula.Predict(100), float64(naive.Article[1000])/float64(naive.Article[100])).In(lang)
		},
	}).Parse(source))
	var out bytes.Buffer
	require.NoError(t, page.Execute(&out, nil))
	return out.String()
}

// chartsOf are the charts of figures.md, by their files.
func chartsOf(t *testing.T) map[string]string {
	all := make(map[string]string)
	for prefix, names := range map[string][]string{"embedded": {"embedded", "readme", "embedded-1000"}, "real": {"real", "real-1000"}} {
		n := strconv.Itoa(slices.MaxFunc(runsOf(t, names[0]), func(a, b report.Run) int { return cmp.Compare(a.Goroutines, b.Goroutines) }).Goroutines)
		for _, chart := range report.Charts(runsOf(t, names...), i18n.English) {
			if kind := strings.TrimSuffix(chart.Name, "-"+n); !strings.Contains(kind, "-") { // else waits of fewer
				all[figures+prefix+"-"+kind+".svg"] = chart.SVG(true)
			}
		}
	}
	return all
}

// holdsRatios holds what the README says of the bytes and of the factor.
func holdsRatios(t *testing.T) {
	const n = "readme"
	bytesOf := func(lock string) float64 {
		return report.Median(runsOf(t, n), lock, func(r report.Run) float64 { return float64(r.Bytes) / float64(r.Count) / 1e6 })
	}
	elapsed := func(file, lock string) float64 {
		return report.Median(runsOf(t, file), lock, func(r report.Run) float64 { return float64(r.Elapsed) })
	}
	first, apart := runsOf(t, n)[0], runsOf(t, "apart")[0]
	require.Equal(t, first.Goroutines, apart.Sessions)
	var english, chinese string
	if herd := bytesOf("herd"); herd > 0 { // it has not been stopped
		lists := []any{first.Goroutines, herd, bytesOf("naive")}
		english = fmt.Sprintf(`In the herd each waiter reads a list of all waiters at each release: at N = %d that is %.2f MB per acquisition, and
%.2f MB with the naive lock. `, lists...)
		chinese = fmt.Sprintf(`在 herd 锁中，每次释放时每个等待者都读取所有等待者的列表：N = %d 时，每次加锁要传 %.2f MB；
朴素锁要传 %.2f MB。`, lists...)
	}
	factor := []any{elapsed(n, "naive") / elapsed(n, "zklock"), first.Goroutines, elapsed("apart", "zklock") / 1e6, elapsed("apart", "predecessor") / 1e6}
	english += fmt.Sprintf(`The factor of zklock, %.1fx, is that of goroutines of one process, which
hand the lock on in memory. With a session each, as %d processes would have, zklock takes %.0f ms and predecessor %.0f ms.`, factor...)
	chinese += fmt.Sprintf(`zklock 的 %.1fx 来自同一个进程内的 goroutine：锁在内存中交接。
如果每个竞争者各有一个会话，就像 %d 个进程那样，zklock 用时 %.0f ms，predecessor 用时 %.0f ms。`, factor...)
	site.HoldsBoth(t, "README.md", "ratios", i18n.Text{En: english + "\n", Zh: chinese + "\n"})
}

func TestTheDocsSayWhatWasMeasured(t *testing.T) {
	both := func(text func(*testing.T, i18n.Language) string) i18n.Text {
		return i18n.Text{En: text(t, i18n.English), Zh: text(t, i18n.Chinese)}
	}
	for file, svg := range chartsOf(t) {
		site.Holds(t, file, "", svg)
	}
	site.HoldsBoth(t, "docs/figures.md", "", both(figuresPage))
	site.HoldsBoth(t, "docs/benchmark.md", "formulas", both(formulasPassage))
	site.HoldsBoth(t, "docs/benchmark.md", "peers", both(peersPassage))
	readme := both(func(t *testing.T, lang i18n.Language) string { return transcript(t, true, "readme", lang) + "\n" })
	readme.Zh = inChinese.Replace(readme.Zh)
	site.HoldsBoth(t, "README.md", "run", readme)
	holdsRatios(t)
}

// claims are the texts with digits that are made of the program's constants or of
// its tests' facts.
func claims(t *testing.T) (readme, benchmark []string) {
	readme = []string{"Go " + found(t, "../go.mod", `\ngo (\d+\.\d+)`)[0] + " installed"}
	alone, many := counter.Everyday[0], counter.Everyday[1]
	const rtt, times = 20, 20 // of examples
	benchmark = []string{
		fmt.Sprintf("has %d acquisitions in each row: one goroutine alone that locks %d times, and %d\ngoroutines with a session each",
			alone.Count(), alone.Times, many.Sessions),
		fmt.Sprintf("no contender gets the free lock for %.0f s", counter.Patience.Seconds()),
		fmt.Sprintf("exit status %d", exitFailure),
		"warm-up (round 0)", // of warmJVM
		fmt.Sprintf("`-rtt %dms`** delays each message by %d ms", rtt, rtt/2),
		fmt.Sprintf("`-rtt %dms` | makes each round trip to the server %d ms longer", rtt, rtt),
		fmt.Sprintf("`-closed %d` | each goroutine locks %d times; the count is then %d N", times, times, times),
		"about N/2 on average with\nthe naive lock and the herd, 1 with the predecessor", // TestUnderContentionTheRequestsAreExactlyAsPredicted
		// fairness_test.go
		"It is 0 in a queue, (N-1)/4\non average in a lottery, and (N-1)/2 in a stack. A queue may show a little more than 0,",
	}
	// TestTheTimesHaveTheRatiosOfTheMeasuredServer
	took := regexp.MustCompile(`\{(\d+), ([\d.]+), ([\d.]+)\}`).FindAllStringSubmatch(fileText(t, "../internal/explore/film/film_test.go"), 4)
	require.Len(t, took, 4)
	column := func(of int) string {
		return fmt.Sprintf("%s, %s, %s and %s", took[0][of], took[1][of], took[2][of], took[3][of])
	}
	pace := film.Measured(0)
	work := pace.Server
	return readme, append(benchmark,
		fmt.Sprintf("`film.Measured`: %d µs for a request,\n%d µs more if it writes, %d µs for an event, %d ns for a byte, and %d µs from a client",
			work.Request.Microseconds(), work.Write.Microseconds(), work.Event.Microseconds(), work.Byte.Nanoseconds(), pace.Latency.Microseconds()),
		fmt.Sprintf("There the herd took %s times as long as step 3 with %s contenders. In the lab it is\nwithin 10 %%", column(2), column(1)),
		fmt.Sprintf("The naive lock took %s times as long", column(3)),
		"in the lab it is within 30 %, and too\nfast with 20 contenders",
	)
}

// labels are texts whose digits measure nothing.
var labels = map[string][]string{
	"../README.md": {
		"step 1\nbegins with a single node", "Step 4 is a layer over step 3", "go test ./01-naive-ephemeral\n",
		// Measured on a machine with two cores, with empty caches and with full ones.
		"| `go run ./bench -n 1000` | 2 min | 1 min | 3 MB |", "| `go test ./01-naive-ephemeral` | 1 min | 10 s | 3 MB |",
		"| `go test ./...` | 5 min | 3 min | 3 MB |",
		"[1 naive](01-naive-ephemeral/)", "[2 herd](02-herd-effect/)", "[3 predecessor](03-sequential-predecessor/)",
		"[4 reentrant](04-reentrant/)", "[5 timeout](05-timeout/)",
		"before its own | 1 | A", "may lock again | 1 | A", "late writes | 1 | A", // TestUnderContentionTheRequestsAreExactlyAsPredicted
		"微盟40w总包面试问题", "史上最全) (7)",
	},
	"../docs/benchmark.md": {
		"step 3 sends exactly as many", "**wait p50, p99, wait max**", "(step 5 and zklock:",
		"go run ./bench -zk 127.0.0.1:2181 -locks all -rounds 3 -explain",
		"*herd, 1000 goroutines: about 30\ns*",              // an example
		"takes 60 from one address", "(0: as many as come)", // ZooKeeper's own default
		"`go run ./cmd/zklock serve 127.0.0.1:2181`", "`go run ./bench -zk 127.0.0.1:2181`",
		"ZooKeeper 3.8.0 on loopback, on two cores", "go run ./bench -zk 127.0.0.1:2181 -locks naive,herd,predecessor -n 50 -sessions 50 -rounds 15", "With `-rtt 20ms` it takes", "longer than step 3 on",
		"-n 100,200,500,1000,2000,5000 -limit 60s",
	},
}

// unheld is a line of a page with a digit that nothing holds; "" if there is none.
func unheld(page string, texts []string) string {
	page = site.Strip(page) // TestTheDocsSayWhatWasMeasured
	for _, text := range texts {
		if !strings.Contains(page, text) {
			return text
		}
		page = strings.ReplaceAll(page, text, "")
	}
	return regexp.MustCompile(`.*\d.*`).FindString(page)
}

// TestEachDigitIsHeld changes each digit of the pages, and expects it to be noticed.
func TestEachDigitIsHeld(t *testing.T) {
	readme, benchmark := claims(t)
	for file, texts := range map[string][]string{"../README.md": readme, "../docs/benchmark.md": benchmark} {
		page := site.Strip(fileText(t, file))
		texts = append(texts, labels[file]...)
		require.Empty(t, unheld(page, texts), "%s: a figure that is not held: write its text into claims, made of what decides it, or into labels", file)
		for _, at := range regexp.MustCompile(`\d`).FindAllStringIndex(page, -1) {
			changed := []byte(page)
			changed[at[0]] = '0' + (changed[at[0]]-'0'+1)%10
			require.NotEmpty(t, unheld(string(changed), texts), "%s: byte %d", file, at[0])
		}
	}
}

// TestTheFormulasOfTheStepsAreThoseOfTheirTests: the suite counts by the same formula.
func TestTheFormulasOfTheStepsAreThoseOfTheirTests(t *testing.T) {
	steps := testenv.Must(filepath.Glob("../0*"))(t)
	require.Len(t, steps, 5)
	asGo := strings.NewReplacer("N²", "n*n", "2N", "2*n", "5N", "5*n", "6N", "6*n", "N", "n", "−", "-")
	for _, dir := range steps {
		said := found(t, dir+"/README.md", `each lock once\s+send \*\*(.*?)\s+requests`)
		require.Equal(t, found(t, dir+"/lock_test.go", `Requests: +func\(n int\) int { return (.*) }`)[0], asGo.Replace(said[0]), dir)
	}
	const page = "../zklock/README.md"
	handOver := found(t, "../zklock/lock.go", `holds: (\d+), during: (\d+) \* time\.Millisecond`)
	require.Equal(t, handOver, found(t, page, `After (\d+) holds or (\d+) ms`))
	require.Equal(t, []string{handOver[1], handOver[0]}, found(t, page, `no\s+longer than (\d+) ms(?s:.*) a node for (\d+) holds`))
	require.Equal(t, found(t, "../zklock/internal/client/proof.go", `timeout \* (\d+) / (\d+)`),
		found(t, page, `: (\d+)/(\d+) of the session timeout`))
	require.Equal(t, found(t, "../zklock/lock_cost_test.go", `LessOrEqual\(t, float64\(sum\(sent\)\)/n, (.*?),`),
		found(t, page, `at most \*\*(.*?) N\*\*`))
}

// found are the groups of what a pattern finds in a file.
func found(t *testing.T, file, pattern string) []string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(fileText(t, file))
	require.NotNil(t, m, "%s: %s", file, pattern)
	return m[1:]
}

func fileText(t *testing.T, file string) string { return string(testenv.Must(os.ReadFile(file))(t)) }
