// Package exhibit records what happens in a test between clients and a server,
// and compares it with the diagram of that name on a page: the answers in a diagram
// are the server's own.
package exhibit

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page is where the diagrams are, from the folder of a lock.
const page = "../exhibits.md"

// An Exhibit is a schedule that is being recorded.
type Exhibit struct {
	t     testing.TB
	name  string
	lines []string
}

// New begins the exhibit of that name, with the clients A and B and a server.
// At the end of the test the diagram is compared with that on the page; with
// EXHIBITS=write in the environment it is written there.
func New(t testing.TB, name, server string) *Exhibit {
	e := &Exhibit{t: t, name: name}
	for _, participant := range []string{"A as client A", "S as " + server, "B as client B"} {
		e.add("participant %s", participant)
	}
	t.Cleanup(e.compare)
	return e
}

func (e *Exhibit) add(format string, args ...any) {
	e.lines = append(e.lines, "    "+strings.ReplaceAll(fmt.Sprintf(format, args...), ";", ","))
}

// Does records a request and what came of it: a result or an error's code.
func (e *Exhibit) Does(client, request string, result any) {
	e.add("%s->>S: %s: %v", client, strings.Join(strings.Fields(request), " "), result)
}

// Waits records a request that has no answer yet.
func (e *Exhibit) Waits(client, request string) {
	e.add("%s->>S: %s", client, strings.Join(strings.Fields(request), " "))
	e.Note(client, "waits")
}

// Answer records the answer to a request that waited.
func (e *Exhibit) Answer(client string, result any) { e.add("S-->>%s: %v", client, result) }

// Note records what a client, or S, the server, does by itself; over several:
// "A,B".
func (e *Exhibit) Note(over, format string, args ...any) {
	e.add("Note over %s: %s", over, fmt.Sprintf(format, args...))
}

// Schedule is the diagram of that name on the page, for a test that plays it.
func Schedule(t testing.TB, name string) string {
	text, at := find(t, name)
	return string(text[at[0]:at[1]])
}

// find returns the page, and where the diagram begins and ends.
func find(t testing.TB, name string) (text []byte, at []int) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	at = regexp.MustCompile("(?s)<!-- " + name + " -->\n.*?```mermaid\n(.*?)```").FindSubmatchIndex(text)
	require.NotNil(t, at, "%s has no diagram after <!-- %s -->", page, name)
	return text, at[2:]
}

func (e *Exhibit) compare() {
	if e.t.Failed() || e.t.Skipped() {
		return
	}
	text, at := find(e.t, e.name)
	drawn := "sequenceDiagram\n" + strings.Join(e.lines, "\n") + "\n"
	if os.Getenv("EXHIBITS") == "write" {
		text = append(append(append([]byte{}, text[:at[0]]...), drawn...), text[at[1]:]...)
		require.NoError(e.t, os.WriteFile(page, text, 0o644))
		return
	}
	require.Equal(e.t, string(text[at[0]:at[1]]), drawn, "%s on %s; EXHIBITS=write go test -run %s writes it", e.name, page, e.t.Name())
}
