package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// Each act of the world that the list has is made by a case of the exercise.
func TestEachActOfTheWorldHasItsCase(t *testing.T) {
	for line := range strings.Lines(site.Read(t, "internal/grader/suites/acts.txt")) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 {
			require.True(t, strings.HasPrefix(line, "#"), line)
			continue
		}
		for _, number := range strings.Fields(cells[0]) {
			e := testenv.Must(find(number))(t)
			made := slices.ContainsFunc(e.names(), func(name string) bool { return strings.Contains(name, cells[2]) })
			require.True(t, made, "no case of exercise %s makes it: %s", number, cells[1])
		}
	}
}
