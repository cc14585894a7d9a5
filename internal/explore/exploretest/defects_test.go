//go:build !js

package exploretest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

var planted = flag.String("explore.defect", "", "the defect that zklock has here; TestDefectsOfZklock sets it")

// A defect is a fault that zklock once had, or would have with a line or two changed, and the world in which it
// shows. Each Old line is in its file exactly once.
type defect struct {
	Name    string
	Changes []struct{ File, Old, New string }
	World   player.World
	Finds   []player.Kind // one of these
}

// TestDefectsOfZklock checks that each defect's lines are still in zklock. With ZKLOCK_TESTS=long it runs itself once
// more, with the defect (go test -overlay) and -explore.defect, and that process lets the explorer look for it.
func TestDefectsOfZklock(t *testing.T) {
	pageText := testenv.Must(os.ReadFile(page))(t)
	var defects []defect
	require.NoError(t, json.Unmarshal(testenv.Must(os.ReadFile("testdata/defects.json"))(t), &defects))
	for _, d := range defects {
		t.Run(d.Name, func(t *testing.T) {
			d.World.Lock = steps.Zklock()
			switch *planted {
			case "": // this is not the process that findInAnotherProcess starts
				require.Contains(t, string(pageText), "| "+d.Name+" |", "the page has no such line")
				texts := d.textsWithDefect(t)
				if testenv.AtLength() {
					d.findInAnotherProcess(t, texts)
				}
			case d.Name:
				d.findHere(t)
			}
		})
	}
}

// findHere looks for the defect, which the zklock of this process has.
func (d defect) findHere(t *testing.T) {
	r := explore.Explore(t, d.World, explore.Search{Merge: true})
	require.NotNil(t, r.Found, "%v shows nothing", r)
	kind, choices := r.Found.Violation.Kind, len(r.Found.Choices)
	require.Contains(t, d.Finds, kind, "%v", r.Found)
	require.LessOrEqual(t, choices, 14, "%v", r.Found)
	fmt.Printf("defect: | %s | %s | %d | %d | %.1f s |\n", d.Name, kind, choices, r.Schedules, r.Took.Seconds())
	fmt.Println(r.Found)
}

// textsWithDefect returns the texts, with the defect, of the files of zklock that it changes; the key is the path.
func (d defect) textsWithDefect(t *testing.T) map[string]string {
	texts := make(map[string]string)
	for _, c := range d.Changes {
		file := testenv.Must(filepath.Abs(filepath.Join(root, "zklock", c.File)))(t)
		if texts[file] == "" { // an earlier change may be in the same file
			texts[file] = string(testenv.Must(os.ReadFile(file))(t))
		}
		require.Equal(t, 1, strings.Count(texts[file], c.Old),
			"%s has changed: the defect %q edits this line, which must be there once: %s", c.File, d.Name, c.Old)
		texts[file] = strings.Replace(texts[file], c.Old, c.New, 1)
	}
	return texts
}

// findInAnotherProcess lets a process whose zklock has these texts look for the defect. Without them nothing is found.
func (d defect) findInAnotherProcess(t *testing.T, texts map[string]string) {
	began := time.Now()
	right := explore.Explore(t, d.World, explore.Search{Merge: true, Limit: 300})
	require.Nil(t, right.Found, "without the defect: %v", right.Found)

	dir := t.TempDir()
	replace := make(map[string]string)
	for file, text := range texts {
		replace[file] = filepath.Join(dir, filepath.Base(file))
		require.NoError(t, os.WriteFile(replace[file], []byte(text), 0o644))
	}
	file := filepath.Join(dir, "overlay.json")
	overlay := testenv.Must(json.Marshal(map[string]any{"Replace": replace}))(t)
	require.NoError(t, os.WriteFile(file, overlay, 0o644))
	cmd := exec.Command("go", "test", "-v", "-vet=off", "-count=1", "-overlay="+file,
		"-run=^TestDefectsOfZklock$", "./internal/explore/exploretest", "-explore.defect="+d.Name)
	cmd.Dir = root
	out := testenv.Must(cmd.CombinedOutput())(t)

	line := regexp.MustCompile(`(?m)^defect: (.*)$`).FindStringSubmatch(string(out))
	require.NotNil(t, line, "the process did not look for it:\n%s", out)
	t.Log(line[1], time.Since(began).Round(time.Second), "with the build")
	if testing.Verbose() {
		t.Logf("%s", out)
	}
}
