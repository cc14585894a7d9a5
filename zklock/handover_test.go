package zklock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatBecomesOfAnIdleEntry(t *testing.T) {
	const most, long = 16, 50 * time.Millisecond // the default of WithHandOver
	inTurn := situation{mostHolds: most, mostAge: long, holds: most - 1, age: long - 1, lasts: true}
	with := func(change func(s *situation)) situation {
		s := inTurn
		change(&s)
		return s
	}
	for _, c := range []struct {
		name string
		s    situation
		want verdict
	}{
		{"nobody waits, and there may be rivals", inTurn, leave},
		{"nobody waits, and a list is on its way", with(func(s *situation) { s.rivals = asked }), keep},
		{"nobody waits, and there are no rivals", with(func(s *situation) { s.rivals = absent }), keep},
		{"nobody waits, and the session may end: the node goes when an owner comes", with(func(s *situation) { s.rivals, s.lasts = absent, false }), keep},
		{"nobody waits, and Shutdown was called", with(func(s *situation) { s.rivals, s.shut = absent, true }), leave},
		{"nobody waits, Shutdown was called, and a list is on its way", with(func(s *situation) { s.rivals, s.shut = asked, true }), leave},
		{"nobody waits, and another contender asks", with(func(s *situation) { s.rivals, s.revoked = absent, true }), leave},

		{"an owner waits, and may still have the node", with(func(s *situation) { s.wanted = true }), grant},
		{"an owner that waits gets its turn after Shutdown", with(func(s *situation) { s.wanted, s.shut = true, true }), grant},
		{"an owner in turn needs no list", with(func(s *situation) { s.wanted, s.rivals = true, asked }), grant},
		{"an owner waits, and the node has served enough", with(func(s *situation) { s.wanted, s.holds = true, most }), leave},
		{"an owner waits, and the node has served for long enough", with(func(s *situation) { s.wanted, s.age = true, long }), leave},
		{"an owner waits, the node has served enough, and a list is on its way",
			with(func(s *situation) { s.wanted, s.holds, s.rivals = true, most, asked }), waitForList},
		{"an owner waits, the node has served for long, and a list is on its way",
			with(func(s *situation) { s.wanted, s.age, s.rivals = true, long, asked }), waitForList},
		{"without rivals the node serves more owners", with(func(s *situation) { s.wanted, s.holds, s.rivals = true, most, absent }), grant},
		{"without rivals the node serves for longer", with(func(s *situation) { s.wanted, s.age, s.rivals = true, time.Hour, absent }), grant},
		{"the last owner that a token has room for", with(func(s *situation) { s.wanted, s.holds, s.rivals = true, 1023, absent }), grant},
		{"a token has no room for another owner", with(func(s *situation) { s.wanted, s.holds, s.rivals = true, 1024, absent }), leave},
		{"an owner waits, and the session may end", with(func(s *situation) { s.wanted, s.lasts = true, false }), leave},
		{"an owner waits, the session may end, and a list is on its way",
			with(func(s *situation) { s.wanted, s.holds, s.lasts, s.rivals = true, most, false, asked }), leave},
		{"an owner waits, and another contender asks", with(func(s *situation) { s.wanted, s.revoked = true, true }), leave},
		{"an owner waits, another contender asks, and a list is on its way",
			with(func(s *situation) { s.wanted, s.holds, s.revoked, s.rivals = true, most, true, asked }), leave},
	} {
		require.Equal(t, c.want, c.s.next(), c.name)
	}
}

// TestNoNodeIsKeptForTwiceTheTimeBetweenOthers, from a second to two hours.
func TestNoNodeIsKeptForTwiceTheTimeBetweenOthers(t *testing.T) {
	var h habit
	now := time.Now()
	require.False(t, h.isQuiet(now), "nobody has come")
	for _, c := range []struct{ since, quiet time.Duration }{
		{0, time.Second}, {time.Minute, 2 * time.Minute}, {3 * time.Minute, 6 * time.Minute},
		{time.Hour, 2 * time.Hour}, {24 * time.Hour, 2 * time.Hour},
	} {
		now = now.Add(c.since)
		require.False(t, h.isQuiet(now))
		h.disturbed(now)
		require.True(t, h.isQuiet(now.Add(c.quiet-1)), "%v", c)
		require.False(t, h.isQuiet(now.Add(c.quiet)), "%v", c)
	}
}
