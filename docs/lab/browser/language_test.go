package browser

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum/scenes"
)

const language = "document.documentElement.lang"

// The page opens in the language of the command that has made it. The language in
// its address goes first. The explanation of a bug is in the same language.
func TestThePageOpensInTheLanguageOfItsCommand(t *testing.T) {
	needBrowser(t)
	const bug = "A7"
	title := scenes.Get(bug).Heading()
	look := func(t *testing.T, url string) {
		const explain = " | click [data-bug]"
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
	t.Run("a file, with -lang", func(t *testing.T) {
		folder := t.TempDir() + "/"
		out, err := exec.Command(labCommand, "-lang", "zh-CN", "-out", folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
		look(t, "file://"+filepath.Join(folder, "lab.html"))
		url := "file://" + filepath.Join(folder, "reader.html")
		openReader(t, url, 1440, 900).play(row{"", "text('h1')", "对照代码读文章"})
		openReader(t, url+"#A/1&lang=en", 1440, 900).play(row{"", language, "en"})
	})
	t.Run("served, with LANG", func(t *testing.T) {
		t.Setenv("LC_ALL", "")
		t.Setenv("LANG", "zh_CN.UTF-8")
		url := serve(t)
		look(t, url)
		openReader(t, url+"reader.html", 1440, 900).play(
			row{"", language, "zh-CN"},
			row{"", "one('#lab').getAttribute('src')", has{"lang=zh"}}, // so does the lab in it
		)
	})
}
