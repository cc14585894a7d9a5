// Package nodetest runs scripts of the lab's page in node.
package nodetest

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// Ask runs a module of JavaScript in a copy of the folder page, with more files in it. The module can use the constant
// asked, and declares a constant answer, which Ask returns. Only tests that call Ask need Node.js: they are skipped
// except at a landing, where it must be installed.
func Ask[T any](t *testing.T, page string, more map[string]string, asked any, script string) (answer T) {
	t.Helper()
	testenv.Landing(t, "runs the scripts of the page in Node.js")
	if _, err := exec.LookPath("node"); err != nil {
		testenv.Missing(t, "Node.js is not installed: apt-get install nodejs")
	}
	question := string(testenv.Must(json.Marshal(asked))(t))
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(page)))
	files := map[string]string{
		"package.json": `{"type": "module"}`,
		"ask.js":       "const asked = " + question + ";\n" + script + "\nprocess.stdout.write(JSON.stringify(answer));\n",
	}
	maps.Copy(files, more)
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("node", "ask.js")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out := testenv.Must(cmd.Output())(t)
	require.NoError(t, json.Unmarshal(out, &answer), "%s", out)
	return answer
}
