package docker_test

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// TestDockerIsNotBelowWhatUsersImport: go mod tidy of a user's module reads the tests of the packages that
// it imports, whatever their build tags, and all that these tests need.
func TestDockerIsNotBelowWhatUsersImport(t *testing.T) {
	const self = "example.com/zklock"
	var needs func(seen map[string]bool, pkg string, tests bool)
	needs = func(seen map[string]bool, pkg string, tests bool) {
		if dir, ours := strings.CutPrefix(pkg, self); ours {
			files := testenv.Must(filepath.Glob(filepath.Join("../../..", dir, "*.go")))(t)
			require.NotEmpty(t, files, pkg)
			for _, file := range files {
				if !tests && strings.HasSuffix(file, "_test.go") {
					continue
				}
				parsed := testenv.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly))(t)
				for _, i := range parsed.Imports {
					if path, _ := strconv.Unquote(i.Path.Value); !seen[path] {
						seen[path] = true
						needs(seen, path, false)
					}
				}
			}
		}
	}
	fetched := make(map[string]bool)
	for _, imported := range []string{"/zklock", "/zklock/zkconn", "/zklock/zklocktest", "/zkserver"} {
		needs(fetched, self+imported, true)
	}
	maps.DeleteFunc(fetched, func(path string, _ bool) bool {
		first, _, _ := strings.Cut(path, "/")
		return !strings.Contains(first, ".") || strings.HasPrefix(path, self)
	})
	require.Equal(t, []string{"github.com/anishathalye/porcupine", "github.com/go-zookeeper/zk", "github.com/stretchr/testify/assert",
		"github.com/stretchr/testify/require", "go.uber.org/goleak", "pgregory.net/rapid"}, slices.Sorted(maps.Keys(fetched)))

	for tested, has := range map[string]bool{"/internal/chaos": true, "/05-timeout": false, "/bench": false} {
		fetched := make(map[string]bool)
		needs(fetched, self+tested, true)
		require.Equal(t, has, fetched["github.com/testcontainers/testcontainers-go"], tested)
	}
}
