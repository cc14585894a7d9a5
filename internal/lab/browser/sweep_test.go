//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// pagesOf are the page's faces.
var pagesOf = []string{
	"#lock=herd,predecessor&n=6&t=400ms", "#lock=naive&n=100&t=900ms", "#lock=A7&n=2&mode=schedule",
	"#lock=predecessor&n=3&mode=find&kinds=expire&faults=1", "#lock=predecessor&n=3&do=200ms.A.stop&t=5s",
}

const aids = "click #predict | click #inspect | click #cost"

const fits = "[...names(), ...contrast(), ...narrow(), ...overlaps(), ...outside()]"

// looks are the windows, themes and languages in which readers see the page. In each the reader
// prefers less motion. A projector shows all at once, in the window.
var looks = []struct{ window, theme, extra string }{
	{"1440x900", "light", "&lang=en"}, {"1440x900", "dark", "&lang=zh"},
	{"390x844", "light", "&lang=zh"}, {"390x844", "dark", "&lang=en"},
	{"1280x720", "light", "&lang=zh&projector=1"}, {"1280x720", "dark", "&lang=en&projector=1"},
	{"1280x720", "dark", "&lang=zh"}, {"820x1180", "light", "&lang=en"},
}

// sweep has the scenes: each stop of an opening, the faces, and the middle and the end of each
// lock's story.
func sweep() (all []string) {
	for _, o := range locks.Openings {
		for _, s := range o.Stops {
			all = append(all, fmt.Sprint(o.Address, "&t=", s.At.Nanoseconds(), "ns"))
		}
	}
	all = append(all, pagesOf...)
	for _, l := range locks.All() {
		if l.Story != nil {
			for _, i := range []int{len(l.Story.Stops) / 2, len(l.Story.Stops) - 1} {
				all = append(all, fmt.Sprint(l.Tell(), "&t=", l.Story.Stops[i].At.Nanoseconds(), "ns"))
			}
		}
	}
	return all
}

// TestTheSweep looks at the scenes as each reader does: nothing lies over another thing or is cut
// off, nothing scrolls sideways, and all has a name and contrast. At a landing each scene
// is seen in one way.
func TestTheSweep(t *testing.T) {
	for i, look := range looks {
		t.Run(fmt.Sprint(look.window, " ", look.theme, " ", look.extra), func(t *testing.T) {
			t.Parallel()
			width, height := size(look.window)
			p := openAt(t, "file://"+file+"#lock=naive&n=2&t=0ns", width, height)
			p.play(row{do: "theme " + look.theme})
			see := func(do string) {
				p.play(row{do: do + " | run lab.pause()" + drawn + " | shot"})
				assert.Empty(p, js[[]string](p, fits), do)
			}
			for j, address := range sweep() {
				if testenv.AtLength() || (i+j)%len(looks) == 0 {
					see("open " + address + look.extra)
				}
			}
			if strings.Contains(look.extra, "projector") { // it shows no more
				return
			}
			see("open " + pagesOf[0] + look.extra + " | click #levels")
			p.play(row{"run one('#levels-box').close()", "lab.strings()", list{}})
			see("open #lock=naive,predecessor&n=4&seed=1&t=0ns" + look.extra + " | " + aids + " | wait text('#cost-state') === '' | click #next-release")
			see("run (fill('#ask', {first: '-', n: 1}), app.speed = 1000) | click #guess | wait one('#verdict')")
			p.play(row{do: aids})
			for _, address := range []string{"#", pagesOf[0], pagesOf[2]} { // by the keyboard alone
				p.play(row{do: "open " + address + look.extra + " | run (lab.pause(), passed.clear()) | tabs 70"})
				assert.Empty(p, js[[]string](p, "unreached()"), address)
			}
		})
	}
}

// shot writes a picture of the page into the folder LAB_SHOTS, for somebody who looks.
func shot(p *tab, _ string) error {
	dir := os.Getenv("LAB_SHOTS")
	if dir == "" {
		return nil
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	p.shots++
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%02d.png", strings.NewReplacer("/", "-", "&", "", "=", "").Replace(p.Name()), p.shots)), png, 0o644)
}

// What is larger on a projector and in a wide window.
var faces = []pageCase{
	{name: "a wide window has larger letters", at: pagesOf[0], window: "1920x1080", rows: []row{
		{"keep wide parseFloat(getComputedStyle(document.body).fontSize)", "narrow()", list{}},
		{"window 1440x900", "wide > parseFloat(getComputedStyle(document.body).fontSize)", nil},
	}},
	{name: "a projector shows the code, and large letters", at: "#projector", window: "1280x720", rows: []row{
		{"open #lock=naive&n=3&seed=2&projector=1&t=300ms" + settled, letters, list{true, true}},
		{"open #lock=zklock&n=12&projector=1&t=1s" + settled, "shown('.source')", true},
		{"open #lock=naive&n=100&projector=1&t=1s" + settled, "shown('.source')", false}, // a crowd has no pointers
		{"open " + scene("D3", "&projector=1&t=3200ms&lang=zh") + settled, letters, list{true, true}},
		{"", "s.link", has{"projector=1"}}, // the address keeps it
		{"click #leave", "s.link", lacks{"projector"}},
		{"", "shown('#workbench')", nil},
		{"click #projector", "outside()", list{}},
	}},
	{name: "a slide shows what has been, and not what answers its question", at: "#lock=naive&n=2", window: "1280x720", rows: []row{
		{"open #lock=herd,predecessor&n=6&projector=1&t=300ms" + settled, ahead, list{true, true}},
		{"open #lock=herd,predecessor&n=6&projector=1&slide=1&t=300ms" + settled, ahead, list{false, false}},
		{"open " + scene("D3", "&projector=1&slide=1&t=0ns") + settled, "['#story', '.source', '.panel h2', '.stage'].map(shown)", list{false, false, false, true}},
		{"click #leave", "['#story', '.source', '.panel h2', '.stage'].map(shown)", list{true, true, true, true}},
	}},
	{name: "two panels fit on a small screen", at: "#lock=naive&n=2&t=0ns", rows: twoPanels()},
}

// Where there is one lock a projector shows its code, and where the contenders are few, their
// letters are large.
const (
	ahead   = "all('canvas.diagram', c => c.getContext('2d').getImageData(c.width * .7, 0, c.width * .29, c.height * .8).data.some(x => x))"
	drawn   = " | run new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
	settled = " | run lab.pause() | wait s.panels.length > 0 && !app.growing" + drawn
	letters = "[parseFloat(getComputedStyle(one('.source')).fontSize) >= 17, " +
		"Math.min(...all('.stage .word', e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)) >= 12]"
)

// twoPanels are side by side, and leave their titles room at every width.
func twoPanels() (rows []row) {
	for _, width := range []int{768, 900, 1024, 1100} {
		rows = append(rows,
			row{fmt.Sprintf("window %dx720 | open #lock=herd,predecessor&n=6&t=400ms", width), "one('.stage').getBoundingClientRect().top + scrollY < 520", nil},
			row{"", "Math.min(...all('.head', e => e.clientWidth)) > 200", nil})
	}
	return rows
}

// tabs presses Tab some times.
func tabs(p *tab, times string) error {
	n, _ := strconv.Atoi(times)
	return chromedp.Do(p.ctx, chromedp.KeyEvent(strings.Repeat("\t", n)))
}
