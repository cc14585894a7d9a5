package scenes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
)

// The order of the game, with the number of choices that the last hint of each level plays.
// It follows from the chances that are measured: if it is another one, look whether the last
// hints say what is left to do.
const game = `
Watch it break: A1 D10 D11
Order is enough: A10 0/1, A9 0/5, B1 0/7, D6 1/6, D4 1/9, D9 1/4
The one bad moment: C2 5/6, D2 8/10, A7 7/8, D1 6/11, A3 4/8, A6 8/12
One fault: C1 2/4, D5 0/1, A5 0/2, A11 3/4, D12 3/5, A4 4/7, D7 8/9, D3 13/14, A8 15/18
Time and pauses: D8 10/12, E1 8/12, A2 6/9, E2 13/14
`

func TestTheOrderOfTheLevelsIsMeasured(t *testing.T) {
	var b strings.Builder
	chapter := -1
	for _, s := range scenes.Levels() {
		separator := ", "
		if chapter != s.Chapter() {
			chapter, separator = s.Chapter(), "\n"+scenes.Chapters[s.Chapter()].En+": "
		} else if chapter == 0 {
			separator = " "
		}
		b.WriteString(separator + s.ID)
		if chapter > 0 {
			fmt.Fprintf(&b, " %d/%d", s.Plays(), len(s.Way()))
		}
	}
	require.Equal(t, strings.TrimSpace(game), strings.TrimSpace(b.String()))
}

// The way of each level reaches its goal, and what the last hint plays of it does not.
func TestTheHintsLeadToTheGoal(t *testing.T) {
	for _, s := range scenes.Levels() {
		way, l := s.Way(), s.Level
		tr, _ := explore.Play(t, s.World, way)
		require.True(t, s.Reached(tr), "%s: %v", s.ID, tr)
		texts := append([]scenes.Text{l.Name, l.Intro, l.Victory}, l.Hints...)
		for _, text := range texts {
			require.NotEmpty(t, text.En, s.ID)
			fullWidth(t, text.Zh, s.ID)
		}
		if len(way) == 0 {
			require.Empty(t, l.Hints, "%s has nothing to choose", s.ID)
			continue
		}
		require.Len(t, l.Hints, 3, s.ID)
		tr, possible := explore.Play(t, s.World, way[:s.Plays()])
		require.True(t, !s.Reached(tr) && slices.Contains(possible, way[s.Plays()]), "%s: the hint solves the level: %v", s.ID, tr)
	}
}
