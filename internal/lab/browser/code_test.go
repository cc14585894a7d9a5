//go:build browser

package browser

import "slices"

// inSight keeps whether an element of the code is in its list and above the bar.
const inSight = `keep seen e => {
	const b = e.getBoundingClientRect(), list = e.closest(".source").getBoundingClientRect();
	return b.height > 0 && b.top >= list.top - 1 && b.bottom <= list.bottom + 1 && b.bottom <= one("#transport").getBoundingClientRect().top;
}`

// The source beside the picture.
var listings = []pageCase{
	{name: "the source is shown if it has room", at: "#lock=predecessor&n=3&t=100ms", window: "1440x900", rows: []row{
		{"", "shown('.source')", true},
		{"click [data-action=code]", "shown('.source')", false},
	}},
	{name: "the source is shown on a phone at the reader's choice", at: "#lock=predecessor&n=3&t=100ms", window: "390x844", rows: []row{
		{"", "shown('.source')", false},
		{"click [data-action=code]", "shown('.source')", true},
		{"", "narrow()", list{}},
		{"", "text('.source li.here')", match(`l\.|<-`)},
	}},
	{name: "a comment has its Chinese below it on a page in Chinese", at: "#lock=naive&n=2&t=0ns&lang=zh", window: "1440x900", rows: []row{
		{"", "shown('.source .zh') && one('.source').textContent", has{"another contender was faster\n\t\t\t别的竞争者抢先创建了"}},
		{"click [data-action=language]", "shown('.source .zh')", false},
	}},
	{name: "a crowd has no pointers", at: "#lock=predecessor&n=13&t=0ns", window: "1440x900", rows: []row{
		{"", "count('.code.empty')", 1},
	}},
	{name: "a holder is at the line that it has left, and no pane opens on a helper", at: scene("D3", "&t=0ns"), window: "1440x900", rows: []row{
		{"run lab.pause() | " + inSight, "seen([...document.querySelectorAll('.source li')].find(li => li.textContent.includes('l.exists(\"/\"+businessCode, false)')))", nil},
		{"go s.end", "all('.source li.bug b.was', b => b.dataset.unit)", list{"B"}}, // at the instant of the two holders
		{"", "seen(one('.source li.bug'))", nil},
		{"keep before one('.diagram').clientWidth | click #code | wait one('.diagram').clientWidth > before + 100", "", nil},
		{"wait Math.abs(one('.diagram').width / devicePixelRatio - one('.diagram').clientWidth) < 2", "", nil}, // it is not stretched
	}},
	{name: "no letter covers a line's number", at: "#lock=naive&n=6&latency=20&seed=1&t=0ns", window: "1440x900", rows: []row{
		{"keep full () => [...document.querySelectorAll('.source li')].filter(li => li.querySelectorAll('b').length > 4)", "", nil},
		{"run [...Array(99).keys()].find(i => (lab.goto(i * 2e6), full().length))", "full().length > 0", nil},
		{"", "full().flatMap(li => [...li.querySelectorAll('b')].filter(b => b.getBoundingClientRect().right > li.querySelector('.number').getBoundingClientRect().left))",
			list{}},
	}},
	{name: "the code of two locks is in sight", at: "#lock=herd,predecessor&n=6&latency=20&seed=1&t=400ms", window: "1440x900", rows: []row{
		{"click #code | " + inSight, "all('.source', seen)", list{true, true}},
		{"", "[...document.querySelectorAll('.source')].every(e => e.querySelector('b') && [...e.querySelectorAll('li')].some(li => li.querySelector('b') && seen(li)))", nil},
	}},
	{name: "the line of the bug is marked", at: scene("D3"), window: "1440x900", rows: []row{
		{"", "text('.source li.bug')", has{"l.Wait()"}},
		{"open " + scene("A5", ""), "text('.source li.bug')", has{"[A1, A5, A6]"}}, // a line of three bugs
	}},
	{name: "a pointer is where the film says that the contender is", at: "#lock=naive&n=2&t=0ns", window: "1440x900", rows: slices.Concat(
		pointed("naive"), pointed("herd"), pointed("predecessor"), pointed("D3"), pointed("D7"), pointed("A7"), pointed("zklock"), pointed("timeout"),
	)},
}

func pointed(lock string) []row {
	return []row{{"open " + scene(lock, "&t=0ns") + " | run lab.pause()", "count('.code:not(.empty)')", 1}, {"", "mispointed()", list{}}}
}
