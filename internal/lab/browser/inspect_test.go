//go:build browser

package browser

import (
	"fmt"
	"slices"
)

// stageClick clicks on an element of the stage, or on a point of it.
func stageClick(element, at string) string {
	return fmt.Sprintf(`run ((e, at) => {
		const b = e.getBoundingClientRect(), x = at ? at.x : b.left + b.width / 2, y = at ? at.y : b.top + b.height / 2;
		document.elementFromPoint(x, y).dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: x, clientY: y }));
	})(one("%s"), %s)`, element, at)
}

const (
	chosenThing = "[one('#inspector .thing').dataset.kind, one('#inspector .thing').dataset.key]"
	onThread    = "one('.stage [data-watch^=\"C \"]')"
	halfway     = "(t => t.getPointAtLength(t.getTotalLength() / 2).matrixTransform(t.getScreenCTM()))(" + onThread + ")"
)

var inspections = []pageCase{
	// The stock of E1 and E2 is opened first, and both holders have read the same number.
	{name: "the stock of E1 is inspected", at: scene("E1", "&t=0ns&lang=en"), rows: stock},
	{name: "the stock of E2 is inspected", at: scene("E2", "&t=0ns&lang=en"), rows: stock},
	{name: "what is inspected follows the film", at: "#lock=naive&n=2&t=0ns", rows: slices.Concat(
		[]row{{"", "one('#inspector').hidden", true}, {do: "click #inspect"}}, followed("naive", "id"), followed("timeout", "token", "fencing token"), followed("zklock", "token", "fencing token"),
	)},
	// A node, a watch and a contender of the stage are chosen with a click, and no menu
	// comes in the way.
	{name: "of two panels Inspect names its own", at: "#lock=herd,predecessor&n=3&latency=20&seed=1&t=160ms&lang=en", rows: []row{
		{"run lab.pause() | click #inspect", "text('#inspector h2')", has{"Step 2"}},
	}},
	{name: "the stage is inspected", at: "#lock=predecessor&n=3&latency=20&seed=1&t=160ms&lang=zh", rows: []row{
		{"click #inspect | " + stageClick(".stage [data-node$='0000000001']", "null"), chosenThing, list{"node", "/lab/lock/lock-0000000001"}},
		{"", "text('#inspector dl')", has{"B"}},
		{stageClick(".stage [data-client='C'] .body", "null"), chosenThing, list{"client", "C"}},
		{stageClick(".stage [data-watch^='C ']", halfway), chosenThing, list{"watch", "C|/lab/lock/lock-0000000001|node"}},
		{"", "[one('#menu').hidden, count('.thread.chosen')]", list{true, 1}},
		// What has gone stays chosen, and the panel says that it has gone.
		{"go s.end", "[one('#inspector .thing').dataset.kind, count('#inspector dt')]", list{"watch", 2}},
		// Without it a click opens the menu.
		{"click #inspect | " + stageClick(".stage [data-client='A'] .body", "null"), "one('#menu').hidden", false},
	}},
}

// followed goes through the film of a lock, in which Inspect is to show what the film has, and some of it by these names.
func followed(lock string, names ...string) []row {
	return []row{
		{"open #lock=" + lock + "&n=3&latency=20&seed=1&t=0ns&lang=en | keep is inspections()", "is.wrong", list{}},
		{"", jsList(append(names, "czxid")) + ".filter(name => !is.seen.includes(name))", list{}},
	}
}

var stock = []row{
	{"click #inspect", "one('#inspector .thing').dataset.key", "/stock"},
	{"", "inspected('node', '/stock').data", "empty"},
	{"keep number inspected('client', 'A').number", "number ?? 'nothing yet'", "nothing yet"},
	{"go s.end | keep node inspected('node', '/stock')", "[node.data, node.version]", list{"1 0 (number 1, token 0)", "2"}}, // two have added one each
	{"", "[inspected('client', 'A').number, inspected('client', 'B').number]", list{"0", "0"}},
	{"go 0", "'number' in inspected('client', 'A')", false},
}
