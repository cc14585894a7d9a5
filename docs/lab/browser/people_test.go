package browser

import "slices"

// pagesOf are the page's faces.
var pagesOf = []string{
	"#lock=herd,predecessor&n=6&t=400ms", "#lock=naive&n=100&t=900ms", "#lock=A7&n=2&mode=schedule",
	"#lock=predecessor&n=3&mode=find&kinds=expire&faults=1", "#lock=predecessor&n=3&do=200ms.A.stop&t=5s",
}

const named = "[...names(), ...contrast()]"

var projected = row{"open #lock=predecessor&n=3&seed=1&t=160ms&projector=1", named, list{}}

// What every reader must be able to see and use. The rules are in testdata/see.js.
var faces = []pageCase{
	// A letter's ground is found only in the window.
	{name: "everything has a name and enough contrast", at: "#lock=naive&n=2", window: "1200x2000", rows: slices.Concat(
		[]row{{do: "theme light"}}, inBothLanguages(named), []row{projected},
		[]row{{do: "theme dark"}}, inBothLanguages(named), []row{projected, {"", "lab.strings()", list{}}}, // words that are missing
	)},
	{name: "a phone shows all", at: "#lock=naive&n=2", window: "390x844", rows: inBothLanguages("narrow()")},
	{name: "a wide window has larger letters", at: pagesOf[0], window: "1920x1080", rows: []row{
		{"keep wide parseFloat(getComputedStyle(document.body).fontSize)", "narrow()", list{}},
		{"window 1440x900", "wide > parseFloat(getComputedStyle(document.body).fontSize)", nil},
	}},
	// On a projector the stage, the diagram and the code are in the window at once, with
	// one bar below, and nothing scrolls but the code in its own box.
	{name: "a projector shows all at once", at: "#projector", window: "1280x720", rows: slices.Concat(
		onProjector("#projector", false, false),
		onProjector("#lock=naive&n=3&seed=2&projector=1&t=300ms", true, true),
		onProjector("#lock=predecessor&n=6&projector=1&t=300ms&lang=zh", true, true),
		onProjector("#lock=predecessor&n=3&latency=20&seed=1&projector=1&t=160ms", true, true),
		onProjector("#lock=zklock&n=12&projector=1&t=1s", true, false),
		onProjector("#lock=naive&n=100&projector=1&t=1s", false, false), // a crowd has no pointers
		onProjector(scene("D3", "&projector=1&t=3200ms"), true, true),
		onProjector(scene("D3", "&projector=1&t=3200ms&lang=zh"), true, true),
		[]row{
			{"", "s.link", has{"projector=1"}}, // the address keeps it
			{"click #leave", "s.link", lacks{"projector"}},
			{"", "one('#workbench').getClientRects().length > 0", nil},
			{"click #projector", "outside()", list{}},
		})},
}

// inBothLanguages shows the page's faces, and then all that helps: the chart, what is
// inspected, a question, and a verdict. What a rule finds is empty each time.
func inBothLanguages(rule string) (rows []row) {
	const aids = "click #predict | click #inspect | click #cost"
	for _, lang := range []string{"&lang=en", "&lang=zh"} {
		for _, address := range pagesOf {
			rows = append(rows, row{"open " + address + lang + " | run lab.pause()", rule, list{}})
		}
		rows = append(rows,
			row{"click #levels", rule, list{}},
			row{do: "run one('#levels-box').close()"},
			row{"open #lock=naive,predecessor&n=4&seed=1&t=0ns" + lang + " | run lab.pause() | " + aids + " | wait text('#cost-state') === '' | click " +
				"#next-release", rule, list{}},
			row{"run (fill('#ask', {first: '-', n: 1}), app.speed = 1000) | click #guess | wait one('#verdict')", rule, list{}},
			row{do: aids})
	}
	return rows
}

// onProjector is a scene on a projector. The code is shown where there is one lock, and
// the letters on the stage are large where the contenders are few.
func onProjector(address string, code, large bool) []row {
	const settled = " | run lab.pause() | wait s.panels.length > 0 && app.growing === false | run new Promise(r => requestAnimationFrame(() => " +
		"requestAnimationFrame(r)))"
	rows := []row{{"open " + address + settled, "outside()", list{}}, {"", "shown('.source')", code}}
	if code {
		rows = append(rows, row{"", "parseFloat(getComputedStyle(one('.source')).fontSize) >= 17", nil})
	}
	if large {
		rows = append(rows, row{"", "Math.min(...all('.stage .word', e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)) >= 12", nil})
	}
	return rows
}
