//go:build browser

package browser

const search = "click #start-find | wait one('#find-result')"
const longSearch = "run app.findFor = 3600" // it finds it after as many schedules on every machine

// The page after a fault of its own was mended.
var mended = []pageCase{
	// A contender whose Lock or Unlock has returned an error has failed, though its
	// script has ended, and the page says with which error.
	{name: "a lock that returns an error is not drawn as done", at: "#lock=predecessor&n=6&do=20000001ns.A.lose-reply&t=0ns", rows: []row{
		{"go s.end", "[one('[data-client=A]').dataset.state, text('[data-client=A] .badge')]", list{"failed", "✕"}},
		{"go F.marks.find(m => /^gets an error/.test(m.text?.en)).at_ns", "text('.now')", has{"A: gets an error: zk: "}},
		// Its Unlock says that it has lost the lock.
		{"open #lock=predecessor&n=2&do=150ms.A.expire&t=0ns | go s.end", "one('[data-client=A]').dataset.state", "failed"},
		{"open #lock=predecessor&n=6&t=0ns | go s.end", "count('[data-client][data-state=done]')", 6}, // without a fault nothing fails
		{"open " + scene("D6") + " | go s.end", "count('[data-client][data-state=failed]') > 0", nil},
	}},
	// The schedule of a listing, played with the lock that cures it, has the fault
	// that the listing does not survive: it ends, and nothing breaks.
	{name: "the cure is played with the fault", at: "#lock=naive&n=2&t=0ns", rows: []row{
		{"open " + scene("D3") + " | click #cure | wait s.scene.locks[0].startsWith('D3-') && s.scene.choices.includes('A: expire') && app.play.over", "!app.play.violation", nil},
		{"open " + scene("A8") + " | click #cure | wait s.scene.locks[0].startsWith('A8-') && s.scene.choices.includes('C: expire') && app.play.over", "!app.play.violation", nil},
	}},
	// A search in a listing's world is for the goal of that listing, or for anything.
	{name: "for a projector there is each button that a caption names", at: scene("D3", "&projector=1&lang=en&t=0ns"), rows: []row{
		{"go s.end", "all('#story .named')", list{"The same with the lock that cures it"}},
		{"click #story .named | wait s.scene.locks[0].startsWith('D3-')", "", nil},
	}},
	{name: "a search is for the goal", at: "#lock=D3&n=3&mode=find&kinds=expire&faults=1", rows: []row{
		{longSearch + " | " + search, "text('#find-result')", has{"Two holders"}},
		{"wait s.panels.length == 1 | go s.end", "kind(p.violation)", "two holders"},   // the trace is shown
		{"click #only-goal | " + search, "text('#find-result')", lacks{"Two holders"}}, // what comes first is easier
	}},
	// An error of D8 says how much time has passed.
	{name: "a wait is as long as it says", at: scene("D8"), rows: []row{
		{"", "F.marks.find(m => m.kind === 'violation').at_ns > 10e9", nil},
	}},
	{name: "choices say what they are", at: scene("D3"), rows: []row{
		{"keep made all('#trace li')", "[made[0], made[3], made.at(-1)]", list{"B: request: exists /lock", "C: request: create /lock_", "A: expire"}},
		{"open " + d3(1, asPlayed[:9]...), `text('[data-choice="gap D2: go on"]')`, has{"B, kept between two lines"}},
	}},
	// The catalogue of bugs is named in a note, and can be read there.
	{name: "the note opens the bug", at: "#lock=D3&n=3&mode=schedule&kinds=expire&faults=1", rows: []row{
		{"click .note [data-bug=D3]", "text('#bug-box[open]')", has{"D3: a waiter that is woken does not read the list again", "What goes wrong.", "The cure"}},
		{"", "text('#bug-box[open]')", lacks{"sequenceDiagram"}},
	}},
	// A packet that was chosen is explained until the film plays on.
	{name: "the sentence does not freeze", at: "#lock=predecessor&n=3&t=60ms", rows: []row{
		{"key . | keep sentence text('.now')", "sentence", has{" ms"}},
		{"run one('#play').click() | wait text('.now') != sentence", "", nil},
	}},
	{name: "the way back to Watch", at: "#lock=herd,predecessor&n=6&t=0ns", rows: []row{
		{"click [data-mode=schedule] | click [data-mode=find] | click [data-mode=watch]", "s.link", has{"#lock=herd,predecessor&n=6&"}},
		{"", "s.panels.length", 2},
	}},
	{name: "keys do not choose another lock", at: "#lock=herd&n=3&t=0ns", rows: []row{
		{"run one('#lock').focus() | key Right", "[s.t > 0, p.lock]", list{true, "herd"}},
	}},
	{name: "odd addresses and numbers", at: "#lock=herd&n=3&t=0ns&lang=constructor", rows: []row{
		{"", "text('[data-mode=watch]')", "Watch"},
		{"set seed 1e30", "[said(), s.panels.length, one('#seed').value]", list{"", 1, "9007199254740991"}},
	}},
	{name: "a double click on Search searches", at: "#lock=predecessor&n=2&mode=find&kinds=expire&faults=1", rows: []row{
		{"set for 2 | run (t => (performance.now = () => t, one('#start-find').click(), one('#stop-find, #start-find').click(), delete performance.now))" +
			"(performance.now()) | wait one('#find-result')", "text('#find-result')", has{"schedules"}},
	}},
	// Of a link with a choice that is not possible, what comes before is played.
	{name: "an impossible choice keeps the beginning", at: "#lock=D3&n=3&mode=schedule&kinds=expire&faults=1&choices=B:+request,C:+request,A:+fly,A:+request", rows: []row{
		{"", "s.scene.choices", list{"B: request", "C: request"}},
		{"", "s.panels.length", 1},
		{"", "said()", has{"first 2 of 4", "A: fly"}},
	}},
}
