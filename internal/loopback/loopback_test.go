package loopback

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:0"} {
		_, err := Listen(addr)
		require.ErrorContains(t, err, "loopback", addr)
	}
	_, err := Listen("nonsense")
	require.ErrorContains(t, err, "not an address")
	ln, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	_, err = Listen(ln.Addr().String())
	require.ErrorContains(t, err, "is taken")
}
