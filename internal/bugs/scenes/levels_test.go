package scenes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
)

// levels.txt has the levels of each chapter, with the choices that their last hints make. If a number has changed, look
// whether the hint says what is left to do: order and numbers follow from measured chances.
func TestTheOrderOfTheLevelsIsMeasured(t *testing.T) {
	var text strings.Builder
	for chapter, name := range scenes.Chapters[:scenes.OnYourOwn] {
		var levels []string
		for _, s := range scenes.Levels() {
			switch {
			case s.Chapter() != chapter:
			case len(s.Way()) == 0:
				levels = append(levels, s.ID)
			default:
				levels = append(levels, fmt.Sprintf("%s %d/%d", s.ID, s.Plays(), len(s.Way())))
			}
		}
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(levels, ", "))
	}
	site.Holds(t, "internal/bugs/scenes/levels.txt", "", text.String())
}

// The way of each level, its solution, reaches its goal, and the part of it that is played with the last hint does not.
func TestTheHintsLeadToTheGoal(t *testing.T) {
	for _, s := range scenes.Levels() {
		way, level := s.Way(), s.Level
		tr, _ := explore.Play(t, s.World, way)
		require.True(t, s.Reached(tr), "%s: %v", s.ID, tr)
		for _, text := range append([]scenes.Text{level.Name, level.Intro, level.Victory}, level.Hints...) {
			require.NotEmpty(t, text.String(), "texts/%s.json needs a name, an intro, a victory, and hints if there is a choice", s.ID)
			require.Regexp(t, `\p{Han}`, text.In(i18n.Chinese), "%s lacks a Chinese text", s.ID)
		}
		if len(way) == 0 {
			require.Empty(t, level.Hints, "%s has nothing to choose", s.ID)
			continue
		}
		require.Len(t, level.Hints, 3, "the hints of %s", s.ID)
		tr, possible := explore.Play(t, s.World, way[:s.Plays()])
		require.True(t, !s.Reached(tr) && slices.Contains(possible, way[s.Plays()]), "%s: the hint solves it: %v", s.ID, tr)
	}
}
