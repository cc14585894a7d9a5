package browser

import "testing"

// inChinese looks for English on a page that is in Chinese, also after its reader has changed
// the language there and back.
func (p *tab) inChinese(what string) {
	p.Helper()
	p.play(
		row{"run lab.pause()", "english().concat(" + quoted(what) + ")", list{what}},
		row{"click [data-action=language] | click [data-action=language]", "english().concat(" + quoted(what) + ")", list{what}},
	)
}

// TestTheChinesePageIsChinese: the engine's texts go through chinese.js
// wherever the page shows it, also when the reader changes the language later. The scenes of
// the museum are in TestEachSceneOfTheMuseumEndsInItsViolation.
func TestTheChinesePageIsChinese(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns&lang=zh")
	for _, address := range append(pagesOf,
		"#lock=predecessor&n=2&do=100ms.A.cut&t=40s", "#lock=predecessor&n=2&do=100ms.A.runs-on&t=100ms", // notes of a film
	) {
		p.play(row{do: "open " + address + "&lang=zh"})
		p.inChinese(address)
	}
	for _, bad := range []string{
		"n=abc", "lock=nosuch", "do=100ms.Z.stop", "do=9999999999s.A.stop", "do=x", "choices=%zz",
		"lock=D3&n=3&mode=schedule&kinds=&faults=0&choices=Q:+request",
	} {
		p.play(row{do: "open #lang=zh&" + bad + " | wait !one('#notice').hidden"})
		p.inChinese(bad)
	}
	p.play(row{"open #lock=D3&n=3&mode=find&kinds=expire&faults=1&lang=zh | " + longSearch + " | " + search, "count('#trace li') > 0", nil})
	p.inChinese("what Find has found")
	p.play(row{"", "text('#trace')", has{"："}}) // its choices
}
