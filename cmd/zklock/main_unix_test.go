//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestCredentialsComeFromAFileOfTheirOwnerOrTheEnvironment(t *testing.T) {
	_, _, conn := onServer(t)
	made(t, conn, "/q/"+zkLock, "secret", zk.DigestACL(zk.PermAll, "ops", "pass")...)
	shows := func(flags ...string) string {
		status, stdout, stderr := do(t.Context(), t, append(append([]string{"who"}, flags...), "/q")...)
		require.Zero(t, status, stderr)
		return stdout
	}
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("ops:pass\n"), 0o600))
	require.Contains(t, shows(), "(not readable)")
	require.Contains(t, shows("-auth", file), "secret")
	t.Setenv("ZOOKEEPER_AUTH", "ops:pass")
	require.Contains(t, shows(), "secret")

	require.NoError(t, os.Chmod(file, 0o640))
	for _, c := range []struct{ flag, value, want string }{
		{"-auth", file, "-auth: not only its owner may use " + file + ": chmod 600 " + file},
		{"-auth", file + "-none", "no such file"},
		{"-ca", file, "zklock: who: " + file + " has no certificate"},
		{"-ca", file + "-none", "no such file"},
		{"-cert", file, "tls: failed to find any PEM data in certificate input"},
	} {
		status, _, stderr := do(t.Context(), t, "who", c.flag, c.value, "/q")
		require.Equal(t, exitUsage, status)
		oneLine(t, stderr, c.want)
	}
}
