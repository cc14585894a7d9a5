package picture_test

import (
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/docs/lab/picture"
	"example.com/zklock/internal/museum/scenes"
)

var update = flag.Bool("update", false, "draw the pictures of the pages again")

// pictures are the pages' pictures: for each file the scene, the page that shows
// it, and a text for a reader who does not see it. The picture on the page is
// a link to the scene.
var pictures = []struct{ file, page, address, alt string }{
	{"herd-and-chain.svg", "README.md", locks.Opening.String(), "Twenty clients take a lock in turn. In the herd every release wakes all that wait; in the chain it wakes one."},
	{"step-1.svg", "01-naive-ephemeral/README.md", "#lock=naive&n=6&latency=20&seed=1", "Six clients and one node: each release wakes all that wait, and each of them sends a create."},
	{"step-2.svg", "02-herd-effect/README.md", "#lock=herd&n=6&latency=20&seed=1", "Six clients in a queue whose parent all watch: each change wakes all that wait."},
	{"step-3.svg", "03-sequential-predecessor/README.md", "#lock=predecessor&n=6&latency=20&seed=1", "Six clients in a queue in which each watches the node before its own: each release wakes one."},
	{"step-4.svg", "04-reentrant/README.md", "#lock=reentrant&n=6&latency=20&seed=1", "Six clients with the lock of step 4: as in step 3, each release wakes one."},
	{"step-5.svg", "05-timeout/README.md", "#lock=timeout&n=6&latency=20&seed=1", "Six clients with the lock of step 5: as in step 3, each release wakes one, which reads its own node before it takes the lock."},
	{"zklock.svg", "zklock/README.md", "#lock=zklock&n=6&latency=20&seed=1", "Six clients with the complete lock: the next one holds it once the event arrives, and asks nothing more."},
}

// TestThePicturesAreTheirScenes: each is drawn from its film, and its page
// shows it and says how to open its scene.
func TestThePicturesAreTheirScenes(t *testing.T) {
	for _, p := range pictures {
		t.Run(p.file, func(t *testing.T) {
			a, err := locks.ParseAddress(p.address)
			require.NoError(t, err)
			require.Equal(t, p.address, a.String())
			var panels []picture.Panel
			for _, name := range a.Locks {
				l, err := locks.Find(name)
				require.NoError(t, err)
				scene := a.Scene
				scene.Lock = name
				film, err := lab.Run(t, scene)
				require.NoError(t, err)
				require.Nil(t, film.Violation)
				panels = append(panels, picture.Panel{Title: l.Title.En, Film: film})
			}
			svg := picture.Draw(p.alt, panels...)
			wellFormed(t, svg)
			at := "../../" + p.file
			if *update {
				require.NoError(t, os.WriteFile(at, []byte(svg), 0o644))
			}
			there, err := os.ReadFile(at)
			require.NoError(t, err)
			require.True(t, svg == string(there), "docs/%s is stale: go test ./docs/lab/picture -update", p.file)

			page, err := os.ReadFile("../../../" + p.page)
			require.NoError(t, err)
			folder := "docs/"
			if strings.Contains(p.page, "/") {
				folder = "../docs/"
			}
			anchor := "the-opening-scene"
			command := "go run ./docs/lab -open"
			if len(a.Locks) == 1 {
				anchor = a.Lock
				command += " -scene " + a.Lock
			}
			link := "[![" + p.alt + "](" + folder + p.file + ")](" + folder + "lab/scenes.md#" + anchor + ")"
			require.Contains(t, string(page), link, "%s does not show its picture as a link to its scene", p.page)
			require.Contains(t, string(page), "`"+command+"`", "%s does not say how to open its scene", p.page)
			entry := entryOf(t, anchor)
			require.Contains(t, entry, "\n`"+command+"`\n", "docs/lab/scenes.md has another command below #%s", anchor)
			require.Contains(t, entry, "\n"+p.address+"\n", "docs/lab/scenes.md has another scene below #%s than docs/%s is drawn of", anchor, p.file)
		})
	}
}

// entryOf is what docs/lab/scenes.md has below the heading with that anchor.
func entryOf(t *testing.T, anchor string) string {
	t.Helper()
	text, err := os.ReadFile("../scenes.md")
	require.NoError(t, err)
	for _, entry := range strings.Split(string(text), "\n### ") {
		if heading, rest, _ := strings.Cut(entry, "\n"); scenes.Anchor(heading) == anchor {
			rest, _, _ = strings.Cut(rest, "\n## ")
			return rest
		}
	}
	t.Fatalf("docs/lab/scenes.md has no heading with the anchor #%s: go test ./docs/lab/locks -update writes the page", anchor)
	return ""
}

// TestEachPictureOfTheLabIsOfAScene: no drawing in docs is without a scene. The
// benchmark's charts are in docs/figures.
func TestEachPictureOfTheLabIsOfAScene(t *testing.T) {
	files, err := filepath.Glob("../../*.svg")
	require.NoError(t, err)
	for _, file := range files {
		name := filepath.Base(file)
		found := false
		for _, p := range pictures {
			found = found || p.file == name
		}
		require.True(t, found, "pictures says of no scene that docs/%s is drawn of it", name)
	}
}

func wellFormed(t *testing.T, svg string) {
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}
