//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFilmIsOpenedByTheCommand serves the page with a file.
func TestAFilmIsOpenedByTheCommand(t *testing.T) {
	t.Parallel()
	const header = `text('[data-panel="0"] header')`
	file := filepath.Join(t.TempDir(), "one.json")
	require.NoError(t, os.WriteFile(file, []byte(oneNode("20000000")), 0o644))
	openAt(t, serve(t, "-film", file), 1200, 900).play(
		row{"", header, has{"from one.json"}},
		row{"click #back-to-locks", header, lacks{"one.json"}},
	)
}
