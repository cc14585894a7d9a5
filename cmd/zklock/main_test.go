package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
)

// TestMain makes the test's own program zklock, as which it starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main()
	}
	locktest.Main(m)
}

// do runs zklock in this process, in English.
func do(ctx context.Context, t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	status = execute(ctx, args, &out, &errOut)
	return status, out.String(), errOut.String()
}

func oneLine(t *testing.T, text, want string) {
	t.Helper()
	require.Contains(t, text, want)
	require.Equal(t, len(text)-1, strings.Index(text, "\n"), "one line: %q", text)
}
