//go:build browser

package browser

import (
	"slices"
)

// oneNode is a film of one request, which arrives at an instant.
func oneNode(arrived string) string {
	return `{"lock":"naive","clients":[{"name":"A","contenders":["A"]}],"marks":[],"packets":[{"id":1,"client":"A","kind":"request",` +
		`"op":"create","path":"/x","sent_ns":1,"arrived_ns":` + arrived + `}]}`
}

const good = "#lock=predecessor&n=2&t=0ns"

// What the page says of an address, a file or a field that is wrong.
var notices = []pageCase{
	// An error belongs to the address that it is about. Only what the compiler says
	// stays, until it says something else.
	{name: "an error goes with its scene", at: "#lock=predecessor&n=abc", rows: slices.Concat(
		[]row{{"", "said()", has{"n: abc"}}}, // as it opens
		wrongAddress("#lock=predecessor&n=abc", "n: abc"),
		wrongAddress("#lock=nosuch", "nosuch"),
		wrongAddress("#lock=predecessor&n=2&do=100ms.Z.stop", "Z"),
		wrongAddress("#lock=predecessor&n=2&do=9999999999s.A.stop", "too long a time: 9999999999s"),
		wrongAddress("#lock=D3&n=3&mode=schedule&kinds=&faults=0&choices=Q:+request", "Q: request"),
		[]row{{"open " + good + " | run (one('#notice').hidden = false, one('#notice').dataset.stays = 'yes') | open #lock=herd&n=2&t=0ns", "one('#notice').hidden", false}},
	)},
	// A file that is not a film and no trace is named, and the page shows what it has
	// shown before. A film from a file may have any number.
	{name: "a file that is not a film is named", at: "#lock=naive&n=2&t=0ns", rows: slices.Concat(
		wrongFile("no JSON", "JSON"), wrongFile("null", "neither a film nor a trace"), wrongFile("[]", "neither a film"), wrongFile("7", "neither a film"),
		wrongFile(`{"choices":[]}`, "neither a film"), wrongFile(`{"packets":5}`, "not a film"), wrongFile(`{"packets":[],"marks":null}`, "not a film"),
		wrongFile(`{"world":{"lock":"nosuch"},"choices":[]}`, "nosuch"), wrongFile(oneNode("1e30"), "not a film"),
		wrongFile(oneNode("-1"), "not a film"), wrongFile(oneNode(`"x"`), "not a film"), wrongFile(oneNode("null"), "not a film"),
	)},
	// A run from a file cannot be changed, and the page says so.
	{name: "a film from a file is fixed", at: "#lock=naive&n=2&t=0ns", rows: []row{
		{"file " + oneNode("20000000") + " | wait one('#back-to-locks') | run one('[data-client=A]').dispatchEvent(new MouseEvent('click', {bubbles: true}))",
			"text('#notice')", has{"recording"}},
	}},
	// A listing that is chosen while somebody searches is searched, and its schedule
	// is not given away.
	{name: "a listing is chosen to be searched", at: "#lock=predecessor&n=2&mode=find&kinds=expire&faults=1", rows: []row{
		{"set lock D3", "s.link", has{"lock=D3&n=3&", "mode=find", "kinds=expire&faults=1"}},
		{"", "s.link", lacks{"choices="}},
		{longSearch + " | " + search, "count('#trace li') > 0", nil}, // the search finds a schedule of its own
	}},
	// The engine needs whole numbers; a field takes any.
	{name: "fields hold whole numbers", at: "#lock=predecessor&n=2&mode=find&kinds=expire&faults=1", rows: []row{
		{"set faults 1.5", "one('#faults').value", "2"},
		{"set faults -1", "one('#faults').value", "0"},
		{"set faults 9", "one('#faults').value", "3"},
		{"set faults ", "one('#faults').value", "0"},
		{"set for -5", "one('#for').value", "1"},
		{"set for 2.4", "one('#for').value", "2"},
		{"set for ", "one('#for').value", "60"},
		{"set for 1e9", "one('#for').value", "3600"},
		{"set contenders 2.5", "one('#contenders').value", "3"},
		{"set contenders 1000", "one('#contenders').value", "100"},
		{"set contenders ", "one('#contenders').value", "1"},
	}},
}

func wrongAddress(bad, says string) []row {
	return []row{
		{"open " + bad, "said()", has{says}},
		{"open " + good, "said()", ""},
		{"open " + bad, "said()", has{says}}, // once more
		{"set contenders 3", "said()", ""},
	}
}

func wrongFile(content, says string) []row {
	return []row{
		{"run one('#notice').hidden = true | file " + content + " | wait !one('#notice').hidden", "said()", has{"file.json cannot be opened", says}},
		{"", "s.panels.length", 1},
	}
}
