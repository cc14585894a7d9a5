package ensemble_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write connect.go anew")

// The client of step 5 serves the other steps, too. A step imports nothing of
// ours, and this package, on which the tests of the steps rest, imports no
// step: so the file is copied, and is edited there alone. What comes after the
// client, from hasClosed on, is the lock's.
func TestConnectIsStep5sOwn(t *testing.T) {
	const original, copied = "../../05-timeout/connect.go", "connect.go"
	text, err := os.ReadFile(original)
	require.NoError(t, err)
	client, _, found := strings.Cut(string(text), "\n// hasClosed ")
	require.True(t, found)
	want := strings.NewReplacer(
		"package timeout\n", "// Code generated from 05-timeout/connect.go by go test ./internal/ensemble -run Step5 -update. DO NOT EDIT.\n\npackage ensemble\n",
		`"timeout: `, `"`,
	).Replace(client)
	if *update {
		require.NoError(t, os.WriteFile(copied, []byte(want), 0o644))
	}
	have, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.True(t, want == string(have), "they differ: run go test ./internal/ensemble -run Step5 -update")
}
