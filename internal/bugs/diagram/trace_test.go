package diagram

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

// Requests, their replies and events are arrows, with short names; a loss is a note; no text has a Mermaid sign.
func TestATraceOfTheExplorerIsDrawn(t *testing.T) {
	sequence := Of(&player.Trace{Log: []player.Entry{
		{Point: 1, Who: "A", Kind: "sends", Op: "create", Path: "/lock/lock-"},
		{Point: 1, Who: "A", Kind: "carried out", Op: "create", Path: "/lock/lock-"},
		{Point: 1, Who: "A", Kind: "reply", Op: "create", Path: "/lock/lock-", Made: "/lock/lock-0000000000"},
		{Point: 1, Who: "A", Kind: "note", Text: i18n.Same("gets an error: lock #1 fails; the end")},
		{Point: 2, Who: "B", Kind: "carried out", Op: "getChildren2", Path: "/lock", Watch: true},
		{Point: 3, Who: "B", Kind: "reply", Op: "getChildren2", Path: "/lock", Names: []string{"lock-0000000000", "lock-0000000001"}, Watch: true},
		{Point: 4, Who: "B", Kind: "event", Op: "deleted", Path: "/lock/lock-0000000000"},
		{Point: 4, Who: "B", Kind: "event", Op: "childrenChanged", Path: "/lock"},
		{Point: 5, Who: "B", Kind: "lost", Op: "delete", Path: "/lock/lock-0000000001", Text: i18n.Same("the reply is lost")},
		{Point: 6, Who: "server", Kind: "note", Text: i18n.Same("is stopped; it runs on")},
		{Point: 7, Who: "B", Kind: "note", Text: i18n.Same("unlocks")},
		{Point: 8, Who: "B", Kind: "note", Text: i18n.Same("hang: B waits, and nothing can happen any more")},
	}})
	mermaid := testenv.Must(sequence.Mermaid(i18n.English))(t)
	require.Equal(t, `sequenceDiagram
    participant A as client A
    participant S as server
    participant B as client B
    A->>S: create lock-0
    Note over A: lock fails
    B->>S: getChildren lock and watch
    S-->>B: getChildren lock and watch: done
    S-)B: event: lock-0 is deleted
    S-)B: event: lock has other children
    Note over S: delete of client B is carried out, the reply is lost with the connection
    Note over S: is stopped, it runs on
    Note over B: waits forever
`, mermaid)
}
