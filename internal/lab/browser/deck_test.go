//go:build browser

package browser

import (
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// decksFit opens the slides and the handout of the lecture in both languages. Printed, each slide has
// a page, and the handout is the two sides of one sheet.
func decksFit(t *testing.T, dir string) {
	for _, lang := range []string{"", ".zh-CN"} {
		p := openAt(t, "file://"+dir+"/docs/teaching/deck"+lang+".html", 1280, 720, noLab)
		if lang != "" && !js[bool](p, `(() => { const c = document.createElement("canvas").getContext("2d"); c.font = "100px sans-serif";
			return Math.abs(c.measureText("锁令会话").width - 400) < 1; })()`) {
			// Characters of another font have another width, and the page is not what a reader sees.
			testenv.Missing(t, "no Chinese font is installed: apt-get install fonts-wqy-microhei")
		}
		for _, window := range []string{"1280x720", "1920x1080", "1024x768"} {
			p.play(row{"window " + window, "wrongSlides()", list{}})
		}
		require.Equal(t, js[int](p, "slides.length"), printed(p), "a page for each slide")
		p = openAt(t, "file://"+dir+"/docs/teaching/handout"+lang+".html", 1280, 720, noLab)
		require.Equal(t, 2, printed(p), "the handout is one sheet")
		if lang != "" { // a Chinese character is as wide as two others
			columns := js[[]float64](p, `["4 reentrant", "第一次", "最后一次"].map(left)`)
			require.InDelta(t, columns[0], columns[1], 1.5)
			require.InDelta(t, columns[0], columns[2], 1.5)
			js[any](p, `void document.querySelectorAll(".zh").forEach(e => e.className = "")`)
			require.Greater(t, js[float64](p, `left("4 reentrant") - left("最后一次")`), 5.0, "without their class, the columns are not flush")
		}
	}
}

// printed is the number of pages of a page that is printed.
func printed(p *tab) int {
	p.Helper()
	params := page.PrintToPDFParams{PreferCSSPageSize: new(true), PrintBackground: new(true)}
	pdf := testenv.Must(chromedp.Call(p.ctx, page.PrintToPDF, params))(p)
	return len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(pdf.Data, -1))
}
