package browser

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// english are the texts of the page in which two English words follow each other.
// An error of a lock, of a library or of the server stays what it is, and so does the name of
// the other language.
const english = `(() => {
	const wrong = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
		if (/^(SCRIPT|STYLE)$/i.test(e.tagName) || e.closest("#notice[hidden], #menu[hidden], #tip[hidden], .source, #caption q")) continue; // Go and the articles' words are the same in both languages
		if (/[A-Za-z]{2,},? [a-z]{2,}/.test(text.replace(/(?:失败了?|错误|返回|panic)：[^]*$/, "").replace(/no node|node exists|no auth|bad version|no children allowed|not empty|session expired/g, ""))) wrong.add(text);
	}
	return [...wrong];
})()`

// inChinese looks for English on a page that is in Chinese, also after its reader has changed
// the language there and back.
func (p *tab) inChinese(what string) {
	p.Helper()
	js[any](p, "void lab.pause()")
	assert.Empty(p, js[[]string](p, english), "%s", what)
	js[any](p, "document.querySelector('[data-action=language]').click(), document.querySelector('[data-action=language]').click(), null")
	assert.Empty(p, js[[]string](p, english), "%s, once more", what)
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
		p.open(address + "&lang=zh")
		p.inChinese(address)
	}
	for _, bad := range []string{"n=abc", "lock=nosuch", "do=100ms.Z.stop", "do=9999999999s.A.stop", "do=x", "choices=%zz", "lock=D3&n=3&mode=schedule&kinds=&faults=0&choices=Q:+request"} {
		p.open("#lang=zh&" + bad)
		p.await("!document.getElementById('notice').hidden")
		p.inChinese(bad)
	}
	p.open("#lock=D3&n=3&mode=find&kinds=expire&faults=1&lang=zh")
	js[any](p, "void (lab.app.findFor = 3600)") // it finds it after as many schedules on every machine
	p.click("#start-find")
	p.await("!!document.querySelector('#find-result')")
	p.settled()
	p.inChinese("what Find has found")
	require.NotZero(t, js[int](p, "document.querySelectorAll('#trace li').length"))
	require.Contains(t, js[string](p, "document.querySelector('#trace').textContent"), "：", "its choices")
}
