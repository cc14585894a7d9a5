package explore

import "maps"

// SameStates reports whether two searches have come to the same states, and to
// the same ends.
func SameStates(a, b *Report) bool {
	return maps.Equal(a.states, b.states) && maps.Equal(a.finals, b.finals)
}
