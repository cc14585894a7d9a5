package site_test

import (
	"encoding/xml"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/lab/picture"
	"example.com/zklock/internal/site"
)

// pictures are the pages' pictures: for each file the lock whose scene it shows, "" for the
// opening, the page with it, and a text for a reader who does not see it. The picture on the
// page is a link to the scene.
var pictures = []struct{ file, lock, page, alt string }{
	{"herd-and-chain.svg", "", "README.md", "Twenty clients take a lock in turn. In the herd every release wakes all that wait; in the chain it wakes one."},
	{"step-1.svg", "naive", "01-naive-ephemeral/README.md", "Six clients and one node: each release wakes all that wait, and each of them sends a create."},
	{"step-2.svg", "herd", "02-herd-effect/README.md", "Six clients in a queue whose parent all watch: each change wakes all that wait."},
	{"step-3.svg", "predecessor", "03-sequential-predecessor/README.md", "Six clients in a queue in which each watches the node before its own: each release wakes one."},
	{"step-4.svg", "reentrant", "04-reentrant/README.md", "Six clients with the lock of step 4: as in step 3, each release wakes one."},
	{"step-5.svg", "timeout", "05-timeout/README.md", "Six clients with the lock of step 5: as in step 3, each release wakes one, which reads its own node before it takes the lock."},
	{"zklock.svg", "zklock", "zklock/README.md", "Six clients with the complete lock: the next one holds it once the event arrives, and asks nothing more."},
}

// pictured is a picture, of the films of its scene.
func pictured(lock, alt string) func(*testing.T, i18n.Language) string {
	return func(t *testing.T, _ i18n.Language) string {
		a := locks.Opening
		if lock != "" {
			l, err := locks.Find(lock)
			require.NoError(t, err)
			a = l.Open()
		}
		films, err := lab.Films(t, a)
		require.NoError(t, err)
		var panels []picture.Panel
		for i, name := range a.Locks {
			l, err := locks.Find(name)
			require.NoError(t, err)
			require.Nil(t, films[i].Violation)
			panels = append(panels, picture.Panel{Title: l.Title.En, Film: films[i]})
		}
		svg := picture.Draw(alt, panels...)
		require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})), "it is not well formed")
		return svg
	}
}

// TestEachPictureIsALinkToItsScene: its page shows it so, and says how to open the scene.
func TestEachPictureIsALinkToItsScene(t *testing.T) {
	for _, p := range pictures {
		anchor, command := "the-opening-scene", "go run ./cmd/lab -open"
		if p.lock != "" {
			anchor, command = p.lock, command+" -scene "+p.lock
		}
		page, folder := site.Read(t, p.page), "docs/"
		if strings.Contains(p.page, "/") {
			folder = "../docs/"
		}
		link := "[![" + p.alt + "](" + folder + p.file + ")](" + folder + "scenes.md#" + anchor + ")"
		require.Contains(t, page, link, "%s does not show its picture as a link to its scene", p.page)
		require.Contains(t, page, "`"+command+"`", "%s does not say how to open its scene", p.page)
	}
}

// TestEachPictureOfTheLabIsOfAScene: no drawing in docs is without a scene. The
// benchmark's charts are in docs/figures.
func TestEachPictureOfTheLabIsOfAScene(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.svg")
	require.NoError(t, err)
	for _, file := range files {
		require.True(t, slices.ContainsFunc(pictures, func(p struct{ file, lock, page, alt string }) bool { return p.file == filepath.Base(file) }),
			"pictures says of no scene that %s is drawn of it", file)
	}
}
