package ownlock

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the compiler says of a New is told with the API that is likest to it.
func TestALockIsOfTheLikestAPI(t *testing.T) {
	for _, c := range []struct {
		code string
		want api
	}{
		{"func New(conn *zk.Conn, path string) *Lock { return nil }", likeStep3},
		{"func NewOwner(string) int { return 0 }; func New(conn *zk.Conn, path string) {}", likeStep3},
		{"func NewOwner(string) int { return 0 }; func New(conn *zk.Conn, path string) *Lock { return nil }", likeStep4},
		{"func New(conn *zk.Conn, path string, permits int) *Lock { return nil }", likeStep5},
		{"func NewOwner(string) int { return 0 }; func New(conn *zk.Conn, path string) (*Lock, error) { return nil, nil }", likeZklock},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "lock.go"), []byte("package mine; "+c.code), 0o600))
		l, err := read(dir)
		require.NoError(t, err)
		require.Equal(t, c.want, l.Kind, c.code)
	}
}
