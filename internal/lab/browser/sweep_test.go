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

// faces are addresses of the page in each of its modes: films beside each other, one film, a schedule, a search, and
// a film with a change.
var faces = []string{
	"#lock=herd,predecessor&n=6&t=400ms", "#lock=naive&n=100&t=900ms", "#lock=A7&n=2&mode=schedule",
	"#lock=predecessor&n=3&mode=find&kinds=expire&faults=1", "#lock=predecessor&n=3&do=200ms.A.stop&t=5s",
}

// What rows of this file do and look at. row_test.go says what a row is, and has the verbs; see.js has the functions.
const (
	aids    = "click #predict | click #inspect | click #cost"                                  // opens what helps a reader
	misfits = "[...names(), ...contrast(), ...narrow(), ...overlaps(), ...outside()]"          // what see.js finds wrong
	drawn   = " | run new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))" // waits until it is drawn
)

// allLooks are windows, themes and languages in which readers see the page; at a landing the first four are tried.
// With projector=1 the page shows everything in the window, without scrolling.
var allLooks = []struct{ window, theme, extra string }{
	{"1440x900", "light", "&lang=en"}, {"390x844", "dark", "&lang=zh"},
	{"1280x720", "light", "&lang=zh&projector=1"}, {"820x1180", "light", "&lang=en"},
	{"1440x900", "dark", "&lang=zh"}, {"390x844", "light", "&lang=en"},
	{"1280x720", "dark", "&lang=en&projector=1"}, {"1280x720", "dark", "&lang=zh"},
}

// sweptScenes are the addresses to look at: each stop of an opening, the faces, and the middle and the last stop
// of each lock's story.
func sweptScenes() (all []string) {
	for _, o := range locks.Openings {
		for _, s := range o.Stops {
			all = append(all, fmt.Sprint(o.Address, "&t=", s.At.Nanoseconds(), "ns"))
		}
	}
	all = append(all, faces...)
	for _, l := range locks.All() {
		if l.Story != nil {
			for _, i := range []int{len(l.Story.Stops) / 2, len(l.Story.Stops) - 1} {
				all = append(all, fmt.Sprint(l.Tell(), "&t=", l.Story.Stops[i].At.Nanoseconds(), "ns"))
			}
		}
	}
	return all
}

// TestTheSweep looks at the scenes: nothing covers another thing, is cut off, or scrolls sideways, and everything
// has a name and contrast. A look is a window's size, a theme and a way to show the page. The tests at length see
// each scene in each look, those at a landing in one.
func TestTheSweep(t *testing.T) {
	looks := allLooks
	if !testenv.AtLength() {
		looks = looks[:4] // the first four, as allLooks says
	}
	for i, look := range looks {
		t.Run(fmt.Sprint(look.window, " ", look.theme, " ", look.extra), func(t *testing.T) {
			t.Parallel()
			width, height := windowSize(t, look.window)
			p := openAt(t, "file://"+labFile+"#lock=naive&n=2&t=0ns", width, height)
			p.play(row{do: "theme " + look.theme})
			looksRight := func(do string) {
				p.play(row{do: do + " | run lab.pause()" + drawn + " | shot"})
				assert.Empty(p, js[[]string](p, misfits), do)
			}
			for j, address := range sweptScenes() {
				if testenv.AtLength() || (i+j)%len(looks) == 0 { // at a landing, each scene in one look
					looksRight("open " + address + look.extra)
				}
			}
			if strings.Contains(look.extra, "projector") { // the rest is not on it
				return
			}
			// What a reader opens over a scene: the list of levels; the aids; and a guess, up to its verdict.
			looksRight("open " + faces[0] + look.extra + " | click #levels")
			p.play(row{do: "run one('#levels-box').close()", look: "lab.strings()", want: list{}}) // texts of one language
			looksRight("open #lock=naive,predecessor&n=4&seed=1&t=0ns" + look.extra + " | " + aids +
				" | wait text('#cost-state') === '' | click #next-release") // after the cost has been counted
			looksRight("run (fill('#ask', {first: '-', n: 1}), app.speed = 1000) | click #guess | wait one('#verdict')")
			p.play(row{do: aids})
			byKeyboard := []string{"#", faces[0], faces[2]} // scenes that are gone through with the key Tab alone
			for j, address := range byKeyboard {
				if testenv.AtLength() || (i+j)%len(byKeyboard) == 0 {
					p.play(row{do: "open " + address + look.extra + " | run (lab.pause(), passed.clear()) | tabs 70"})
					assert.Empty(p, js[[]string](p, "unreached()"), address)
				}
			}
		})
	}
}

// shot writes a picture of the page into the folder LAB_SHOTS, if that is set.
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
	name := strings.NewReplacer("/", "-", "&", "", "=", "").Replace(p.Name())
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%02d.png", name, p.shots)), png, 0o644)
}

func tabs(p *tab, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	return chromedp.Do(p.ctx, chromedp.KeyEvent(strings.Repeat("\t", n)))
}
