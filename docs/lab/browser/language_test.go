package browser

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum/scenes"
)

// explained opens a bug's scene with more in its address, and returns the language of
// the page and the box that explains the bug.
func (p *tab) explained(bug, more string) (lang, title, text string) {
	p.Helper()
	p.open(sceneOf(p, bug).String() + more)
	js[any](p, "void document.querySelector('[data-bug]').click()")
	defer js[any](p, "void document.getElementById('bug-box').close()")
	return js[string](p, "document.documentElement.lang"), js[string](p, "document.querySelector('#bug-box h2').textContent"), js[string](p, "document.getElementById('bug-box').textContent")
}

// The page opens in the language of the command that has made it. The language in
// its address goes first. The explanation of a bug is in the same language.
func TestThePageOpensInTheLanguageOfItsCommand(t *testing.T) {
	needBrowser(t)
	const bug = "A7"
	title := scenes.Get(bug).Heading()
	look := func(t *testing.T, url string) {
		p := openAt(t, url, 1200, 900)
		require.Equal(t, "zh-CN", js[string](p, "document.documentElement.lang"), "as it opens")
		lang, head, text := p.explained(bug, "")
		require.Equal(t, "zh-CN", lang)
		require.Equal(t, title.Zh, head)
		require.Contains(t, text, "错在哪里")
		require.NotContains(t, text, "What goes wrong")

		lang, head, text = p.explained(bug, "&lang=en")
		require.Equal(t, "en", lang)
		require.Equal(t, title.En, head)
		require.Contains(t, text, "What goes wrong")

		p = openAt(t, url+"#lock=naive&n=2&lang=en", 1200, 900)
		require.Equal(t, "en", js[string](p, "document.documentElement.lang"), "the address goes first")
	}
	t.Run("a file, with -lang", func(t *testing.T) {
		folder := t.TempDir() + "/"
		out, err := exec.Command(labCommand, "-lang", "zh-CN", "-out", folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
		look(t, "file://"+filepath.Join(folder, "lab.html"))
		p := openReader(t, "file://"+filepath.Join(folder, "reader.html"), 1440, 900)
		require.Equal(t, "对照代码读文章", js[string](p, "document.querySelector('h1').textContent"))
		p = openReader(t, "file://"+filepath.Join(folder, "reader.html")+"#A1&lang=en", 1440, 900)
		require.Equal(t, "en", js[string](p, "document.documentElement.lang"))
	})
	t.Run("served, with LANG", func(t *testing.T) {
		t.Setenv("LC_ALL", "")
		t.Setenv("LANG", "zh_CN.UTF-8")
		url := serve(t)
		look(t, url)
		p := openReader(t, url+"reader.html", 1440, 900)
		require.Equal(t, "zh-CN", js[string](p, "document.documentElement.lang"))
		require.Contains(t, js[string](p, "document.getElementById('lab').getAttribute('src')"), "lang=zh", "so does the lab in it")
	})
}
