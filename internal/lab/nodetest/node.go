// Package nodetest runs scripts of the lab's page in node.
package nodetest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// Need skips a test of the page's scripts, for Node.js is a tool of the tests alone. At a
// landing it must be there.
func Need(t *testing.T) {
	t.Helper()
	testenv.Landing(t, "runs the scripts of the page in Node.js")
	if _, err := exec.LookPath("node"); err != nil {
		testenv.Missing(t, "Node.js is not installed: apt-get install nodejs")
	}
}

// Ask runs a module of JavaScript in a copy of the folder of the page's scripts, with
// more files in it. The module has the constant asked, and declares answer, which is
// returned.
func Ask[T any](t *testing.T, page string, more map[string]string, asked any, script string) (answer T) {
	t.Helper()
	Need(t)
	question := testenv.Must(json.Marshal(asked))(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(page)))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, text := range more {
		write(name, text)
	}
	write("package.json", `{"type": "module"}`)
	write("ask.js", "const asked = "+string(question)+";\n"+script+"\nprocess.stdout.write(JSON.stringify(answer));\n")
	cmd := exec.Command("node", "ask.js")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out := testenv.Must(cmd.Output())(t)
	require.NoError(t, json.Unmarshal(out, &answer), "%s", out)
	return answer
}
