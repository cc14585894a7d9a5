package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// TestEachRowOfTheReaderIsInBothLanguages: the Chinese text of a row or heading is
// that of the Chinese guide, and not the English one in its place. A row that names
// a command or a function alone has its Chinese text, too: at least a stop.
func TestEachRowOfTheReaderIsInBothLanguages(t *testing.T) {
	script, err := (&builder{root: "../.."}).rows()
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(script), "export const ROWS = ")
	require.True(t, ok)
	var rows []row
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(text), ";")), &rows))
	require.Greater(t, len(rows), 150)
	for _, r := range rows {
		chinese := func(c rune) bool { return unicode.Is(unicode.Han, c) || c == '。' || c == '，' }
		require.True(t, strings.ContainsFunc(r.Zh, chinese), "%s: %s", r.Name, r.Zh)
		require.NotEqual(t, r.En, r.Zh, r.Name)
	}
}
