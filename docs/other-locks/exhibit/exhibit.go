// Package exhibit compares what happens in a test between clients and a server with the diagram of
// that name on a page: the answers in a diagram are the server's own.
package exhibit

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

const page = "../exhibits.md" // where the diagrams are, from the folder of a lock

// Lines are those of the diagram of that name on the page.
func Lines(t testing.TB, name string) []string {
	text := testenv.Must(os.ReadFile(page))(t)
	diagram := regexp.MustCompile("(?s)<!-- " + name + " -->\n.*?```mermaid\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, diagram, "%s has no diagram after <!-- %s -->", page, name)
	return strings.Split(string(diagram[1]), "\n")
}

// An Exhibit has the arrows of a diagram: requests, each with what came of it, which is a result or an error's
// code. The answer to one that waited is an arrow of its own.
type Exhibit struct{ played []string }

// New begins the exhibit of that name, with the clients A and B and the server S. At the end of the test its arrows
// are compared with those on the page.
func New(t testing.TB, name string) *Exhibit {
	e := &Exhibit{}
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			return
		}
		var drawn []string
		for _, line := range Lines(t, name) {
			if strings.Contains(line, ">>") {
				drawn = append(drawn, strings.TrimSpace(line))
			}
		}
		require.Equal(t, drawn, e.played, "%s on %s", name, page)
	})
	return e
}

// Arrow plays an arrow, as the page has it.
func (e *Exhibit) Arrow(format string, args ...any) {
	e.played = append(e.played, fmt.Sprintf(format, args...))
}
