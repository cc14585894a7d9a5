package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Rules for every reader to see and use the page. The rules are our own, in the
// page's language; each returns what breaks it.

const names = `(() => {
	const shown = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
	const name = e => {
		const by = (e.getAttribute("aria-labelledby") || "").split(" ").map(id => document.getElementById(id)).filter(Boolean);
		return (by.map(x => x.textContent).join(" ") || e.getAttribute("aria-label") || [...(e.labels || [])].map(l => l.textContent).join(" ") ||
			(/^(SELECT|INPUT)$/.test(e.tagName) ? "" : e.textContent) || e.title || "").trim();
	};
	const wrong = [];
	for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=menuitem], [tabindex='0']"))
		if (shown(e) && !name(e)) wrong.push("no name: " + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll("svg"))
		if (shown(e) && e.getAttribute("aria-hidden") !== "true" && !e.closest("[aria-hidden=true]") && !name(e)) wrong.push("a picture without a name: " + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll("canvas"))
		if (shown(e) && e.getAttribute("aria-hidden") !== "true" && !name(e)) wrong.push("a canvas without a name: " + e.outerHTML.slice(0, 120));
	const ids = new Set();
	for (const e of document.querySelectorAll("[id]")) {
		if (ids.has(e.id)) wrong.push("twice: id " + e.id);
		ids.add(e.id);
	}
	if (!document.documentElement.lang) wrong.push("the page has no language");
	if (!document.title) wrong.push("the page has no title");
	if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
	if (!document.querySelector("[aria-live]")) wrong.push("nothing says changes");
	return wrong;
})()`

// The contrast of text with what is behind it: 4.5, and 3 for large text, as
// WCAG 2 has it.
const contrast = `(() => {
	const parse = c => { const m = (c.match(/[\d.]+/g) || []).map(Number); return c.startsWith("color(srgb") ? [m[0]*255, m[1]*255, m[2]*255, m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1]; };
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const lum = c => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
	const behind = e => {
		const layers = [];
		for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break; }
		return layers.reduceRight((under, c) => over(c, under), [255, 255, 255, 1]);
	};
	const wrong = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
		if (!text || !e.getClientRects().length || /^(SCRIPT|STYLE|OPTION|OPTGROUP|TITLE|DESC)$/i.test(e.tagName)) continue;
		const style = getComputedStyle(e);
		if (style.visibility === "hidden" || e.closest(":disabled, [data-there=gone]")) continue; // what cannot be used, or has gone, is faint
		let opacity = 1;
		for (let x = e; x; x = x.parentElement) opacity *= Number(getComputedStyle(x).opacity);
		if (opacity === 0) continue;
		const svg = e.ownerSVGElement;
		// A letter in a drawing is on a shape, whose colour is looked for.
		let bg = behind(svg || e);
		if (svg) {
			const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
			const shape = document.elementsFromPoint(x, y).find(s => s !== e && s.ownerSVGElement === svg && /^(circle|rect|path|polygon|ellipse)$/.test(s.tagName) && getComputedStyle(s).fill.startsWith("rgb") && parse(getComputedStyle(s).fill)[3] > 0.5);
			if (shape) bg = over(parse(getComputedStyle(shape).fill), bg);
		}
		let fg = parse(svg ? style.fill : style.color);
		fg = over([fg[0], fg[1], fg[2], fg[3] * opacity], bg);
		const a = lum(fg), b = lum(bg), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
		if (ratio < (large ? 3 : 4.5)) wrong.add(ratio.toFixed(2) + " " + e.tagName + "." + (e.getAttribute("class") || e.id) + " " + fg.slice(0, 3).map(Math.round) + " on " + bg.slice(0, 3).map(Math.round) + ": " + text.slice(0, 40));
	}
	return [...wrong];
})()`

// The parts that do not fit on a narrow screen. A part that scrolls by itself may
// be wider than the screen.
const narrow = `(() => {
	const wrong = [], width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > width) wrong.push("the page scrolls sideways: " + document.documentElement.scrollWidth + " of " + width);
	const scrolls = e => { for (e = e.parentElement; e && e !== document.body; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true; return false; };
	for (const e of document.querySelectorAll("body *")) {
		const r = e.getBoundingClientRect(), style = getComputedStyle(e);
		if (!r.width || !r.height || style.visibility === "hidden" || scrolls(e) || e.closest(".hidden, .visually-hidden, .sr, #live")) continue;
		if (e.ownerSVGElement && !/^text$/.test(e.tagName)) continue;
		if (r.right > width + 1 || r.left < -1) wrong.push(e.tagName + "#" + e.id + "." + (e.getAttribute("class") || "") + " from " + Math.round(r.left) + " to " + Math.round(r.right) + " of " + width + ": " + (e.textContent || "").trim().slice(0, 30));
		if (/^(BUTTON|SELECT|SUMMARY|LABEL)$/.test(e.tagName) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0) wrong.push("cut off: " + e.tagName + "#" + e.id + " " + e.textContent.trim().slice(0, 30));
	}
	return wrong;
})()`

// pagesOf are the page's faces.
var pagesOf = []string{
	"#lock=herd,predecessor&n=6&t=400ms", "#lock=naive&n=100&t=900ms", "#lock=A7&n=2&mode=schedule",
	"#lock=predecessor&n=3&mode=find&kinds=expire&faults=1", "#lock=predecessor&n=3&do=200ms.A.stop&t=5s",
}

func TestEverythingHasANameAndEnoughContrast(t *testing.T) {
	t.Parallel()
	p := openAt(t, "file://"+file+"#lock=naive&n=2", 1200, 2000) // a letter's ground is found only in the window
	for _, theme := range []string{"light", "dark"} {
		emulate(p, theme)
		for _, address := range pagesOf {
			for _, lang := range []string{"en", "zh"} {
				p.open(address + "&lang=" + lang)
				js[any](p, "void lab.pause()")
				assert.Empty(t, js[[]string](p, names), "%s %s", address, lang)
				assert.Empty(t, js[[]string](p, contrast), "%s %s, %s", address, lang, theme)
			}
		}
		helped(p, func(lang string) {
			assert.Empty(t, js[[]string](p, names), lang)
			assert.Empty(t, js[[]string](p, contrast), "%s, %s", lang, theme)
		})
		p.open("#lock=predecessor&n=3&seed=1&t=160ms&projector=1")
		assert.Empty(t, js[[]string](p, names), "on a projector")
		assert.Empty(t, js[[]string](p, contrast), "on a projector, %s", theme)
	}
	require.Empty(t, js[[]any](p, "lab.strings()"), "words that are missing")
}

func TestAPhoneShowsAll(t *testing.T) {
	t.Parallel()
	p := openAt(t, "file://"+file+"#lock=naive&n=2", 390, 844)
	for _, address := range pagesOf {
		for _, lang := range []string{"en", "zh"} {
			p.open(address + "&lang=" + lang)
			js[any](p, "void lab.pause()")
			assert.Empty(t, js[[]string](p, narrow), "%s %s", address, lang)
		}
	}
	helped(p, func(lang string) { assert.Empty(t, js[[]string](p, narrow), lang) })
}

func TestAWideWindowHasLargerLetters(t *testing.T) {
	t.Parallel()
	p := openAt(t, "file://"+file+pagesOf[0], 1920, 1080)
	const letters = "parseFloat(getComputedStyle(document.body).fontSize)"
	wide := js[float64](p, letters)
	require.Empty(t, js[[]string](p, narrow))
	require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(1440, 900)))
	require.Greater(t, wide, js[float64](p, letters))
}

// helped shows all that helps: the chart, what is inspected, a question, and a verdict.
func helped(p *tab, look func(lang string)) {
	p.Helper()
	for _, lang := range []string{"en", "zh"} {
		p.open("#lock=naive,predecessor&n=4&seed=1&t=0ns&lang=" + lang)
		js[any](p, "void lab.pause()")
		for _, aid := range []string{"#predict", "#inspect", "#cost"} {
			p.click(aid)
		}
		p.await("document.getElementById('cost-state').textContent === ''")
		p.click("#next-release")
		look(lang)
		js[any](p, `void (document.getElementById("ask").elements.first.value = "-", document.getElementById("ask").elements.n.value = 1, lab.app.speed = 1000)`)
		p.click("#guess")
		p.await("!!document.getElementById('verdict')")
		look(lang)
		for _, aid := range []string{"#predict", "#inspect", "#cost"} {
			p.click(aid)
		}
	}
}

// emulate sets the reader's preference for a light or a dark page.
func emulate(p *tab, theme string) {
	p.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	require.NoError(p, chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})))
}
