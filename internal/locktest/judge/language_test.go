package judge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoTestSpeaksTheReadersLanguage: what a student reads under go test. What a
// judge reads is a Verdict, which is English.
func TestGoTestSpeaksTheReadersLanguage(t *testing.T) {
	t.Setenv("LC_ALL", "")
	t.Setenv("LANG", "zh_CN.UTF-8")
	require.Equal(t, "持有者的 Lock 失败 (world.go:323 < cases.go:99)\n    naive：尚未编写", inTheReadersLanguage("Lock of the holder fails (world.go:323 < cases.go:99)\n    naive: not written yet"))
	t.Setenv("LC_ALL", "C")
	require.Equal(t, "Lock of the holder fails", inTheReadersLanguage("Lock of the holder fails"))
}
