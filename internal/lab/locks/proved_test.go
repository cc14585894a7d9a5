package locks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
)

// Each lock with a goal has one place in the game, and the chapters are in their order.
func TestEachGoalIsOneLevel(t *testing.T) {
	byNumber := make(map[int]locks.Lock)
	for _, l := range locks.All() {
		require.Equal(t, l.Goal == nil, l.Level == nil, l.Name)
		if l.Level != nil {
			require.NotContains(t, byNumber, l.Level.Number, l.Name)
			byNumber[l.Level.Number] = l
		}
	}
	require.Len(t, byNumber, len(scenes.WithScene)+len(locks.Tasks)+2)
	var chapters []scenes.Text
	for n := range len(byNumber) {
		l := byNumber[n]
		require.NotNil(t, l.Level, "no level has the number %d", n)
		if len(chapters) == 0 || chapters[len(chapters)-1] != l.Level.Chapter {
			chapters = append(chapters, l.Level.Chapter)
		}
	}
	require.Equal(t, scenes.Chapters, chapters)
}

// The last levels cannot be won: all their schedules are played here, and nothing breaks.
func TestTheLastLevelsCannotBeWon(t *testing.T) {
	played := 0
	for _, l := range locks.All() {
		if strings.HasPrefix(l.Name, "proved-") {
			w := l.In(player.World{Contenders: l.Scene.Contenders, Kinds: l.Scene.Kinds, Faults: l.Scene.Faults})
			r := explore.Explore(t, w, explore.Search{})
			require.True(t, r.Complete && r.Found == nil && len(r.Known) == 0, "%s: %v", l.Name, r)
			require.Greater(t, r.Schedules, 600, l.Name)
			played++
		}
	}
	require.Equal(t, 2, played)
}
