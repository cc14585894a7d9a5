package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Packets that wait in a silence go on after it, even if Silence was called again.
func TestASilenceThatBeginsAgainEndsAsOne(t *testing.T) {
	p := New(t, "127.0.0.1:1")
	p.Silence(ToServer)
	waits := p.isOpen(ToServer)
	p.Silence(ToServer, ToClient)
	p.Heal()
	require.True(t, isClosed(waits))
}
