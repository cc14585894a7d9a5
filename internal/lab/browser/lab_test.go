//go:build browser

package browser

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// stopHolder stops the first holder, and goes to where its session ends.
const stopHolder = "click [data-action=hold-on] | keep holder p.holders[0] | run lab.interfere(holder, 'stop') | run lab.pause()"
const sessionEnds = "keep lost F.marks.find(m => m.kind === 'lost' && !m.knows).at_ns | go lost"

const stale = "(one('.verdict.stale:not(.quiet)')?.textContent ?? '').replaceAll(holder, '*')"

// measuredTime is what docs/figures has for a lock with 1000 contenders on a real server, as the
// page says it.
func measuredTime(lock string) string {
	times, err := build.MeasuredTimes("../../..", lock)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%#.3g s", float64(times[0])/1e9)
}

// The page as it opens, its runs, and what changes them.
var opening = []pageCase{
	{name: "the opening tells its story with eleven controls, and leads to the usual page", rows: []row{
		{"run lab.goto(0) | click #story-next | wait !s.playing", "[s.t, text('#story .count'), text('#caption')]", list{3900000, "2 / 6", locks.Openings[0].Stops[1].Text.En}},
		{"keep ends all('.panel[data-panel=\"1\"] .thread', e => e.getAttribute('d').match(/[0-9.]+/g).map(Number)).sort((a, b) => a[0] - b[0]).map(n => n.at(-2))",
			"ends.length > 15 && ends.every((x, i) => !i || x > ends[i - 1])", nil}, // the chain's threads do not cross
		{"go 4900000", "all('#panels [data-counter=wasted]')", list{"10", "0"}},
		// The time bar has a row for each: where only the second lock is held, they differ.
		{"keep h (([a, b]) => b.find(h => !a.some(g => g.from < h.to && h.from < g.to)))(app.panels.map(p => p.F.hold)) | keep pixel y => one('#overview').getContext('2d')" +
			".getImageData(app.clock.shown((h.from + h.to) / 2) / app.clock.length * one('#overview').width, one('#overview').height * y, 1, 1).data.join()",
			"pixel(0.2) != pixel(0.7)", nil},
		{"", "count('.panel[data-panel=\"0\"] [data-queued=yes]') == 7 && count('.panel[data-panel=\"1\"] [data-queued=yes]') == 0", nil}, // the line at the server's door
		{"", "[...document.querySelectorAll('button, input, select, a')].filter(e => e.checkVisibility() && !e.closest('.stage')).length", 11},
		{"go s.end", "[...document.querySelectorAll('#panels [data-counter]')].filter(e => e.checkVisibility()).map(e => e.textContent)", list{"250", "171", "21.3 ms", "98", "0", "16.6 ms"}},
		{"", "text('.real')", has{"wake all", measuredTime("herd"), measuredTime("predecessor")}},
		{"keep bars all('.real i', e => e.clientWidth)", "Math.abs(bars[0] / bars[1] / (parseFloat(text('.real .row b')) / parseFloat(all('.real b')[1])) - 1) < 0.1", nil},
		{"click #story-more", "[s.t, s.scene.locks, s.scene.n, shown('#choose'), all('.panel h2')]",
			list{0, list{"predecessor", "reentrant"}, 3, false, list{"Queues again · step 3", "Counts · step 4"}}},
		{"go 206000000", "all('[data-held=yes]', e => e.dataset.node.slice(-1))", list{"0", "0"}}, // A waits with its second card
		{"go s.end", "[p.violation, ...all('#panels [data-counter=requests]'), ...all('#panels [data-counter=took]')]", list{"hang", "11", "13", "979.0 ms", "979.0 ms"}},
		{"click #story-more | go 4210000000", "all('.panel[data-panel=\"1\"] [data-client]', e => [e.dataset.state, e.querySelector('.badge').textContent].join(' '))",
			list{"holds !", "gave up ←", "waits "}},
		{"go 4274000000", "[s.scene.locks[1], p.violation, p.holders]", list{"timeout", "holder outlives its session", list{"A", "B"}}},
		{"go s.end | click #story-more | go s.end", "all('#panels [data-counter=requests]')", list{"94", "3"}},
		{"click #story-more | go s.end", "[...all('#panels [data-counter=requests]'), one('#story-more')]", list{"28", "36", nil}},
		{"go s.end - 1 | go 1190000", "one('#caption').className", ""},
		{"go 1200000", "[one('#caption').className, text('#caption').slice(0, 10)]", list{"past", "At 1.2 ms:"}}, // the picture has gone on
		// A first try has five contenders and few controls; one more brings the others.
		{"go s.end | click #story-next", "[s.scene.locks, s.scene.n, shown('#choose'), shown('#code'), shown('#inspect')]", list{list{"herd", "predecessor"}, 5, true, false, false}},
		{"click #more", "[shown('#code'), shown('#inspect')]", list{true, true}},
	}},
	{name: "two locks beside each other play", at: "#lock=herd,predecessor", rows: []row{
		{"", "[...s.panels.map(x => x.lock), s.playing || s.t === s.end]", list{"herd", "predecessor", true}}, // on a busy machine it may be over
		{"run (app.speed = 0.1, lab.goto(0), lab.play()) | keep from s.t | keep drawn dom() | wait s.t > from | wait count('[data-packet]') > 0 | wait dom() != drawn", "", nil},
		{"go s.end", "s.playing", false}, // somebody who goes to an instant stays there
		{"", "s.panels[1].wakeups == 5 && s.panels[0].wakeups > s.panels[1].wakeups", nil}, // the chain wakes one at each release, the herd more
		{"", "kind(p.filmViolation)", ""},
	}},
	{name: "the bug beside its cure: the same fault at the same moment, and two holders in one panel", at: scene("D3", "&t=0ns"), window: "1440x900", rows: []row{
		{"", "s.panels.length", 1},
		{"click #beside | wait s.panels.length == 2", "s.panels.map(x => kind(x.filmViolation))", list{"two holders", ""}},
		{"keep fault app.panels.map(x => x.F.film.choices.find(c => c.choice == 'A: expire').at_ns)", "fault[0] > 0 && fault[0] === fault[1]", nil},
		{"keep link s.link | go s.end", "s.panels[0].holders.length == 2 && s.panels[1].holders.length < 2", nil},
		{"tab link", "s.panels.length", 2},
		{"click #beside | wait s.panels.length == 1", "", nil},
	}},
	{name: "stars leave the server at its edge, and names without room are left out", rows: []row{
		// It leaves below the node that it is about.
		{"keep e app.panels[1].F.packets.find(p => p.kind == 'event') | go e.sent_ns + 1 | keep x q => +/[0-9.]+/.exec(one('.panel[data-panel=\"1\"] ' + q).getAttribute('transform'))",
			"Math.abs(x('[data-kind=event]') - x(`[data-node=\"${e.path}\"]`)) < 12", nil},
		{"go 4300000 | keep stars all('.stage [data-kind=event]', e => +/ ([0-9.]+)/.exec(e.getAttribute('transform'))[1])", "stars.length > 9 && stars.every(y => y > 98)", nil},
		{"open #lock=herd,predecessor&n=50&latency=20&seed=1&t=400ms", "all('.stage .owner').filter(Boolean)", list{}},
		{"open #lock=herd,predecessor&n=20&latency=20&seed=1&t=400ms", "all('.stage .owner').filter(Boolean).length > 30", nil},
	}},
	{name: "the speed says what it is", at: "#lock=herd&n=3&latency=20&seed=1&t=0ns&lang=en", rows: []row{
		{"", "text('#rate')", "1 s = 36.4 ms"},
		{"set speed 2", "text('#rate')", "1 s = 72.7 ms"},
	}},
	{name: "keys while a scene loads", at: "#lock=predecessor&n=3&t=100ms", rows: []row{
		{`keep keys () => ["Enter", "n", ".", "Enter", " ", "ArrowRight", "h", "v", "[", "]", "u", "c", "1", "Backspace", "Escape", "End"].forEach(key =>
			document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })))`, "", nil},
		{`run (async () => {
			lab.open("#lock=naive&n=40&seed=7&t=0ns");
			for (one(".stage [data-client=C]").focus(); app.panels[0]?.F.units.length !== 40; await new Promise(requestAnimationFrame)) keys();
		})()`, "app.panels.length", 1},
	}},
	{name: "an interference keeps the picture and the focus until there is another one", at: "#lock=naive&n=40&seed=7&t=400ms", rows: []row{
		{`keep waits (async () => {
			let n = 0;
			one(".stage [data-client=B]").focus();
			for (lab.interfere("B", "expire"); app.filming.size; await new Promise(requestAnimationFrame)) n += count(".panel.waiting") + !count(".stage");
			return n;
		})()`, "waits", 0},
		{"wait s.branches.length == 2 && p.hash", "document.activeElement.dataset.client", "B"},
	}},
	{name: "back and forth is the same", at: "#lock=herd,predecessor&n=6&do=300ms.B.lose-reply&t=0ns", rows: []row{
		{"keep at [...Array(10).keys()].map(i => s.end * (i + 0.5) / 10) | keep there at.map(t => (lab.goto(t), dom()))", "there[2] != there[7]", nil},
		{"", "[...Array(100).keys()].map(i => i * 7 % 10).map(i => (lab.goto(at[i]), difference(there[i], dom()))).filter(Boolean)", list{}}, // near and far
		{"go s.end / 2 | keep t s.t | key Right | keep on s.t", "on > t", nil},
		{"key Left", "s.t < on", nil},
		{"key Right", "s.t == on", nil},
		{"keep at0 s.t | key h", "s.t > at0 && app.panels.some(p => p.F.holds.includes(s.t))", nil},
		{"keep press key => (document.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})), s.t)",
			"Array.from({length: 20}, () => [s.t, press('ArrowRight'), press('ArrowLeft'), press('ArrowRight')]).filter(([t, on, back, again]) => " +
				"on <= t || back >= on || again != on)", list{}},
	}},
	{name: "an interference makes a branch, and a link is the run", at: "#lock=naive&n=3&t=0ns", rows: []row{
		{"keep first p.hash", "s.branches.length", 1},
		{"click [data-action=hold-on] | run lab.interfere(p.holders[0], 'expire', s.t)", "[s.branches.length, s.branch, p.hash !== first]", list{2, 1, true}},
		{"keep second s", "second.link", has{"do="}},
		{"click #undo", "s.branches.length == 1 && p.hash === first", nil},
		{"tab second.link", "p.hash === second.panels[0].hash && Math.abs(s.t - second.t) <= 1", nil},
	}},
	{name: "a holder can be stopped at its first instant", at: "#lock=timeout&n=2&t=0ns", rows: []row{
		{"click [data-action=hold-on] | wait p.holders.length > 0 | keep held p.holders", "", nil},
		{"run lab.interfere(held[0], 'stop') | keep hash p.hash", "s.branches.length == 2 && p.holders.join() == held.join()", nil},
		{"tab s.link", "p.hash === hash", nil}, // a link has the change at the same nanosecond
	}},
	{name: "a holder that is stopped while its session ends is explained", at: "#lock=timeout&n=2&t=0ns", rows: []row{
		{stopHolder, stale, ""},
		{sessionEnds, "app.clock.gaps.length > 0 && Math.abs(one('#t').value - app.clock.shown(s.t) / 1e6) < 1", nil}, // the slider is in the time that is shown
		{"", stale, match(`^\* is stopped, and its session has ended.* token is \d+\. .* writes of \* are refused\.$`)},
		{"go lost - 1", stale, ""}, // back in time
		{"go s.end", stale, ""},    // it runs on and is notified
		{"open #lock=naive&n=2&t=0ns | " + stopHolder, stale, ""},
		{sessionEnds, stale, has{"no fencing token"}},
	}},
	{name: "each scene of the museum ends in its violation", at: "#lock=naive&n=2&t=0ns&lang=zh", rows: museum()},
	{name: "a link reproduces what is shown", at: "#lock=naive&n=2", rows: slices.Concat(
		reproduces("#lock=herd,predecessor&n=5&latency=50&seed=9&do=200ms.C.cut,900ms.A.stop&t=1234ms&lang=zh"),
		reproduces("#lock=timeout&n=4&shared=1&latency=20&seed=3&do=150ms.B.end-ctx&t=500ms&lang=en"),
	)},
	{name: "a shared session repeats", at: "#lock=naive&n=2", rows: repeats()},
	{name: "a crowd is shown soon and cheaply", at: "#lock=naive&n=100&t=0ns", rows: crowd},
	{name: "the scheduler has all choices of the explorer, by the keyboard alone", at: "#lock=predecessor&n=2&mode=schedule&kinds=&faults=1", rows: byKeyboard()},
}

// museum ends each scene, and looks for English there.
func museum() (rows []row) {
	for _, s := range scenes.All {
		rows = append(rows,
			row{"open " + scene(s.ID, "&lang=zh") + " | go s.end", "[s.panels.length, p.lock, text('[data-panel] .verdict') !== '']", list{1, s.ID, true}},
			row{"", jsList(s.Kinds) + ".includes(kind(p.violation))", nil})
		rows = append(rows, inChinese(s.ID)...)
	}
	return rows
}

func TestOnlyOneFileAndNotALargeOne(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	info := testenv.Must(os.Stat(file))(t)
	require.LessOrEqual(t, info.Size(), int64(3_100_000), "bytes")
	p.play(row{"", "performance.getEntriesByType('resource').map(e => e.name).filter(n => !/^(blob|data):/.test(n))", list{}})
}

// reproduces opens an address in two tabs. The page writes it as it is.
func reproduces(link string) []row {
	return []row{
		{"open " + link + " | keep there [s.link, s.t, p.hash] | keep drawn dom()", "s.link", link},
		{"tab " + link, "JSON.stringify(there) === JSON.stringify([s.link, s.t, p.hash]) && difference(drawn, dom())", ""},
	}
}

// Contenders that share a session and more wake in an order that Go draws at
// random. An address is the same run all the same, in another page, too.
func repeats() (rows []row) {
	const shared = "#lock=timeout&n=6&shared=1&seed=3&do=25ms.A.%[1]s,300ms.C.%[1]s,2s.B.cut&t=0ns"
	for _, do := range []string{"lose-reply", "cut", "expire", "stop", "lose-request"} { // ten each, fifty in all
		rows = append(rows, row{fmt.Sprintf(`keep hashes (async () => {
			const seen = new Set();
			for (let i = 0; i < 10; i++) { app.films.clear(); await lab.open(%s); await lab.settled(); seen.add(p.hash); }
			return [...seen];
		})()`, quoted(fmt.Sprintf(shared, do))), "hashes.length", 1})
	}
	return append(rows, row{"tab " + fmt.Sprintf(shared, "lose-request"), "p.hash === hashes[0]", nil})
}

// tenScenes are films: the page must show what go test sees.
var tenScenes = []string{
	"#lock=naive&n=6", "#lock=reentrant&n=6&shared=1", "#lock=naive&n=40&seed=5", "#lock=timeout&n=3&latency=50&do=400ms.A.stop", "#lock=A7&n=2&seed=2",
	"#lock=herd&n=6&seed=2&do=100ms.B.cut", "#lock=predecessor&n=20&seed=4&do=200ms.B.stop", "#lock=timeout&n=3&seed=8&do=150ms.A.expire,200ms.B.end-ctx",
	"#lock=zklock&n=3&seed=7&do=20ms.A.lose-reply", "#lock=herd&n=20&measured=1&seed=3",
	"#lock=reentrant&n=3&seed=1&scripts=lock.lock.unlock.unlock,lock.lock.unlock.unlock",
}

func TestTheFilmIsTheSameInThePageAndInGoTest(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, address := range tenScenes {
		a := testenv.Must(locks.ParseAddress(address))(t)
		film := testenv.Must(lab.Run(t, a.Scene))(t)
		rows = append(rows, row{"open " + address, "p.hash", film.Hash})
	}
	open(t, "#lock=naive&n=2").play(rows...)
}

// costs are the costs of twenty instants of a film that are too high. A jump may cost more
// than the next frame of a film that plays. A strip is drawn once in many frames; all others have none.
const costs = `[...Array(20).keys()].flatMap(i => {
	const at = s.end * (i + %d) / 40, jump = lab.cost(at), next = lab.cost(at + 2e6), elements = count("*");
	return jump.marks <= 256 && jump.packets <= 6000 && jump.strips <= 9 && next.packets <= 4000 && next.strips <= 1 &&
		next.lines <= 1500 * next.strips + 100 && next.writes <= 600 && elements <= 2500 ? [] : [{ at, jump, next, elements }];
})`

// A film of 25,000 packets is shown before it is whole. The cost of each instant is
// bounded, wherever it is.
var crowd = []row{
	{"", "[performance.getEntriesByName('lab shown')[0].detail, app.growing]", list{"so far", false}},
	{"", "F.packets.map(p => p.id).filter((id, i) => id !== i + 1)", list{}}, // the parts make one film
	{"", "F.packets.length > 25000", nil},
	{"", fmt.Sprintf(costs, 0), list{}},
	{"click #predict | click #inspect | click #cost", fmt.Sprintf(costs, 20), list{}}, // with all that helps
	// The film that has grown shows what one shows that is there at once.
	{"click #predict | click #inspect | click #cost | keep t Math.round(s.end / 3) | go t | keep grown dom()", "", nil},
	{"open #lock=naive&n=2 | run lab.open('#lock=naive&n=100&t=' + t + 'ns')", "performance.getEntriesByName('lab shown').at(-1).detail", "whole"},
	{"", "difference(grown, dom())", ""},
}

func byKeyboard() []row {
	kinds := []explore.Fault{explore.Pause, explore.Day, explore.Refuse, explore.Remake}
	for _, k := range explore.AllFaults {
		if k != explore.EndContext { // step 3's Lock takes no ctx
			kinds = append(kinds, k)
		}
	}
	slices.Sort(kinds)
	return []row{
		{"", "all('.kinds [data-kind]', e => e.dataset.kind).sort()", kinds},
		{`run one('[data-kind="time passes"]').focus() | key Space | wait s.scene.kinds.join() == 'time passes'`, "document.activeElement.dataset.kind",
			"time passes"},
		{`wait one('[data-choice="all: time passes"]') | keep number text('[data-choice="all: time passes"] kbd')`, "", nil},
		{"key =number | wait s.scene.choices.join() == 'all: time passes'", "app.play.film.marks.some(m => m.text?.en === '18s pass')", nil},
		{`run one('[data-kind=refuse]').focus() | key Space | wait one('[data-choice="B: refuse"]')`,
			"all('[data-client]', e => e.dataset.conn)", list{"unconnected", "unconnected"}},
		{`run one('[data-choice="B: refuse"]').focus() | key Enter | wait s.scene.choices.join() == 'B: refuse'`, "!!document.activeElement.dataset.choice", nil},
		{"key Backspace | wait s.scene.choices.length == 0", "", nil},
	}
}
