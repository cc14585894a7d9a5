//go:build race

package explore_test

const withRace = true
