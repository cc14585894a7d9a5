//go:build !js

package exploretest_test

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
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

var defect = flag.String("explore.defect", "", "what zklock has been built with: the name of a defect; TestDefectsOfZklock sets it")

// A change of one line of zklock, which is there once.
type change struct {
	file     string
	old, new string
}

// defects are faults that zklock once had, or would have with a line
// changed, and the world in which it shows. They are put into zklock as it is.
var defects = []struct {
	name    string
	changes []change
	world   func(s explore.Subject) explore.World
	kinds   []explore.Kind
}{
	{
		"a search that fails is given up",
		[]change{
			{"internal/client/node.go", "err := p.c.Sync(nil)", "err := p.c.call(theLeader, p.c.sync)"},
			{"internal/client/node.go", "if err == nil {\n\t\t\treturn node, nil", "if true {\n\t\t\treturn node, err"},
		},
		oneFault(explore.LoseReply),
		[]explore.Kind{explore.Failure, explore.NodeLeft, explore.Hang},
	},
	{
		"a create that was not answered is sent again",
		[]change{{"internal/client/node.go", "if maybe(err) || err == nil && c.SessionID() != session {", "if err == nil && c.SessionID() != session {"}},
		oneFault(explore.LoseReply),
		[]explore.Kind{explore.NodeLeft, explore.Hang, explore.Overtaken},
	},
	{
		"a delete that was not answered is forgotten",
		[]change{{"internal/client/node.go", "sent, busy = sent || maybe(err), ", "sent, busy = false, "}},
		oneFault(explore.LoseReply),
		[]explore.Kind{explore.Failure},
	},
	{
		"nobody looks at the clock",
		[]change{{"queue.go", "\tm.startClockLocked(e)\n\tm.expectLocked(e)", "\tm.expectLocked(e)"}},
		oneFault(explore.Expire),
		[]explore.Kind{explore.LateLoss},
	},
	{
		"when the nearest one goes, it is taken for the only one",
		[]change{{"wait.go", "case before.length == len(deleted):", "case deleted[0] == before.nearer:"}},
		func(s explore.Subject) explore.World {
			return explore.World{Lock: s, Contenders: 3, Scripts: [][]explore.Op{nil, {explore.TryLockOp, explore.UnlockOp}}}
		},
		[]explore.Kind{explore.TwoHolders, explore.Overtaken},
	},
}

func oneFault(f explore.Fault) func(s explore.Subject) explore.World {
	return func(s explore.Subject) explore.World {
		return explore.World{Lock: s, Kinds: []explore.Fault{f}, Faults: 1}
	}
}

// TestDefectsOfZklock puts each defect into zklock, builds it with go test
// -overlay, and lets the explorer look for it. Without ZKLOCK_TESTS=long it only
// looks whether the lines are still there.
func TestDefectsOfZklock(t *testing.T) {
	root := testenv.Must(filepath.Abs("../../.."))(t)
	page := testenv.Must(os.ReadFile(page))(t)
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			if *defect != "" {
				if *defect == d.name {
					s := steps.Zklock()
					r := explore.Explore(t, d.world(s), explore.Search{Merge: true})
					require.NotNil(t, r.Found, "%v shows nothing", r)
					require.Contains(t, d.kinds, r.Found.Violation.Kind, "%v", r.Found)
					require.LessOrEqual(t, len(r.Found.Choices), 14, "%v", r.Found)
					fmt.Printf("defect: | %s | %s | %d | %d | %.1f s |\n", d.name, r.Found.Violation.Kind, len(r.Found.Choices), r.Schedules, r.Took.Seconds())
					fmt.Println(r.Found)
				}
				return
			}
			require.Contains(t, string(page), "| "+d.name+" |", "the page has no such line")
			texts := make(map[string]string)
			for _, c := range d.changes {
				file := filepath.Join(root, "zklock", c.file)
				if _, ok := texts[file]; !ok {
					text := testenv.Must(os.ReadFile(file))(t)
					texts[file] = string(text)
				}
				require.Equal(t, 1, strings.Count(texts[file], c.old), "%s has changed: the defect %q edits this line, which must be there once: %s", c.file, d.name, c.old)
				texts[file] = strings.Replace(texts[file], c.old, c.new, 1)
			}
			if !testenv.AtLength() {
				return
			}
			began := time.Now()
			right := explore.Explore(t, d.world(steps.Zklock()), explore.Search{Merge: true, Limit: 300})
			require.Nil(t, right.Found, "without the defect: %v", right.Found)
			dir := t.TempDir()
			replace := make(map[string]string)
			for file, text := range texts {
				other := filepath.Join(dir, filepath.Base(file))
				require.NoError(t, os.WriteFile(other, []byte(text), 0o644))
				replace[file] = other
			}
			overlay := testenv.Must(json.Marshal(map[string]any{"Replace": replace}))(t)
			file := filepath.Join(dir, "overlay.json")
			require.NoError(t, os.WriteFile(file, overlay, 0o644))
			cmd := exec.Command("go", "test", "-v", "-vet=off", "-count=1", "-overlay="+file, "-run=^TestDefectsOfZklock$", "./internal/explore/exploretest",
				"-explore.defect="+d.name)
			cmd.Dir = root
			out := testenv.Must(cmd.CombinedOutput())(t)
			line := regexp.MustCompile(`(?m)^defect: (.*)$`).FindStringSubmatch(string(out))
			require.NotNil(t, line, "the process did not look for it:\n%s", out)
			t.Log(line[1], time.Since(began).Round(time.Second), "with the build")
			if testing.Verbose() {
				t.Logf("%s", out)
			}
		})
	}
}
