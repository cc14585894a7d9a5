//go:build browser

package browser

import (
	"testing"

	"example.com/zklock/internal/bugs/scenes"
)

// The page opens in the language of the command that has made it. The language in
// its address goes first. The explanation of a bug is in the same language.
func TestThePageOpensInTheLanguageOfItsCommand(t *testing.T) {
	const bug, language, explain = "A7", "document.documentElement.lang", " | click [data-bug]"
	title := scenes.Get(bug).Heading()
	t.Setenv("LC_ALL", "")
	t.Setenv("LANG", "zh_CN.UTF-8")
	url := serve(t)
	openAt(t, url, 1200, 900).play(
		row{"", language, "zh-CN"},
		row{"open " + scene(bug) + explain, "[" + language + ", text('#bug-box h2')]", list{"zh-CN", title.Zh}},
		row{"", "text('#bug-box')", has{"错在哪里"}},
		row{"", "text('#bug-box')", lacks{"What goes wrong"}},
		row{"run one('#bug-box').close() | open " + scene(bug, "&lang=en") + explain, "[" + language + ", text('#bug-box h2')]", list{"en", title.En}},
		row{"", "text('#bug-box')", has{"What goes wrong"}},
	)
	openAt(t, url+"#lock=naive&n=2&lang=en", 1200, 900).play(row{"", language, "en"})
}
