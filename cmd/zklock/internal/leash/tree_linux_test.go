package leash

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProcessThatIsBeingReapedHasNoNumber(t *testing.T) {
	for status, want := range map[string][]string{"Name:\tx\nPPid:\t7\nNSpid:\t8\t1\nNSpgid:\t0\n": {"8", "1"}, "Name:\tx\nPPid:\t7\nNSpid:\t0\n": nil} {
		parent, own := numbers(status)
		require.Equal(t, "7", parent)
		require.Equal(t, want, own)
	}
}
