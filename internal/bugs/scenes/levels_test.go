package scenes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/site"
)

// levels.txt has the order of the game, with the number of choices that the last hint of
// each level plays. It follows from the chances that are measured: where it has changed,
// look whether the last hint says what is left to do.
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
	site.Holds(t, "internal/bugs/scenes/levels.txt", "", strings.TrimSpace(b.String())+"\n")
}

// The way of each level reaches its goal, and what the last hint plays of it does not.
func TestTheHintsLeadToTheGoal(t *testing.T) {
	for _, s := range scenes.Levels() {
		way, l := s.Way(), s.Level
		tr, _ := explore.Play(t, s.World, way)
		require.True(t, s.Reached(tr), "%s: %v", s.ID, tr)
		texts := append([]scenes.Text{l.Name, l.Intro, l.Victory}, l.Hints...)
		for _, text := range texts {
			require.NotEmpty(t, text.En, "texts/%s.json is to have a level: a name, an intro and a victory, and three hints if there is a choice", s.ID)
			require.Regexp(t, `\p{Han}`, text.Zh, "%s lacks a Chinese text", s.ID)
		}
		if len(way) == 0 {
			require.Empty(t, l.Hints, "%s has nothing to choose", s.ID)
			continue
		}
		require.Len(t, l.Hints, 3, "the hints of %s", s.ID)
		tr, possible := explore.Play(t, s.World, way[:s.Plays()])
		require.True(t, !s.Reached(tr) && slices.Contains(possible, way[s.Plays()]), "%s: the hint solves the level: %v", s.ID, tr)
	}
}
