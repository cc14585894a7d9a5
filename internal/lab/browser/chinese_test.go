//go:build browser

package browser

import (
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/lab/locks"
)

// inChinese looks for English on a page that is in Chinese, also after its reader has changed
// the language there and back.
func inChinese(what string) []row {
	english := "english().concat(" + quoted(what) + ")"
	return []row{{"run lab.pause()", english, list{what}}, {"click [data-action=language] | click [data-action=language]", english, list{what}}}
}

// The engine's texts are said in Chinese wherever the page shows them, also when the reader
// changes the language later. The scenes of the museum are looked at where they end.
var chinese = []pageCase{
	{name: "the Chinese page is Chinese", at: "#lock=naive&n=2&t=0ns&lang=zh", rows: chinesePages()},
}

func chinesePages() (rows []row) {
	for _, o := range locks.Openings {
		rows = append(append(rows, row{do: "open " + o.String() + "&lang=zh | go s.end"}), inChinese(o.String())...)
	}
	for _, address := range append(pagesOf,
		"#lock=predecessor&n=2&do=100ms.A.cut&t=40s", "#lock=predecessor&n=2&do=100ms.A.runs-on&t=100ms", // notes of a film
	) {
		rows = append(append(rows, row{do: "open " + address + "&lang=zh"}), inChinese(address)...)
	}
	for _, bad := range []string{
		"n=abc", "lock=nosuch", "do=100ms.Z.stop", "do=9999999999s.A.stop", "do=x", "choices=%zz",
		"lock=D3&n=3&mode=schedule&kinds=&faults=0&choices=Q:+request",
	} {
		rows = append(append(rows, row{do: "open #lang=zh&" + bad + " | wait !one('#notice').hidden"}), inChinese(bad)...)
	}
	rows = append(rows, row{"open #lock=D3&n=3&mode=find&kinds=expire&faults=1&lang=zh | " + longSearch + " | " + search, "count('#trace li') > 0", nil})
	return append(append(rows, inChinese("what Find has found")...), row{"", "text('#trace')", has{"："}}, // its choices
		row{"open " + scene("A7", "&lang=zh") + " | click [data-bug]", "text('#bug-box')", has{scenes.Get("A7").Title.Zh, "错在哪里"}})
}
