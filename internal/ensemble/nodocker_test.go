//go:build !docker

package ensemble_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
)

func TestDockerWithoutItsTagNamesTheCommands(t *testing.T) {
	for _, spec := range []string{"docker", "docker:3"} {
		_, err := ensemble.Open(t.Context(), spec)
		require.ErrorContains(t, err, "`go run -tags docker ./bench -zk "+spec+"`")
		require.ErrorContains(t, err, "`ZK="+spec+" go test -tags docker -p 1 ./...`")
		require.NotContains(t, err.Error(), "\n")
	}
}
