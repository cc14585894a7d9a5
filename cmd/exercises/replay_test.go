package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/testenv"
)

// replayDying does what each answer says, in place of counterexample.Serve. TestMain calls it for dyingArg.
func replayDying([]string) {
	answers := make(map[int]string)
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		panic(err)
	}
	for _, n := range slices.Sorted(maps.Keys(answers)) {
		switch answers[n] {
		case "panics":
			panic("zk: connection closed")
		case "exits":
			os.Exit(3)
		case "sleeps":
			time.Sleep(24 * time.Hour)
		case "spins":
			for {
			}
		case "prints":
			for range 1 << 13 { // more than maxOutput, so that no line of ours is read after these
				fmt.Println("no line of ours")
			}
		}
		json.NewEncoder(os.Stdout).Encode(counterexample.Line{Number: n, Played: counterexample.Result{Choices: n}})
	}
}

// TestAnEngineThatDiesCostsOneAnswer asserts that the answers after that one are played all the same.
func TestAnEngineThatDiesCostsOneAnswer(t *testing.T) {
	t.Parallel()
	answers := map[int]string{1: "", 2: "panics", 3: "", 4: "exits", 6: "prints"}
	played, why := testenv.Must2(playLinks(t.Context(), generous, dyingArg, answers))(t)
	require.Empty(t, why)
	require.Len(t, played, 5)
	for _, n := range []int{1, 3} {
		require.Equal(t, counterexample.Result{Choices: n}, played[n])
	}
	require.Contains(t, played[2].Words.String(), "ends the lab's engine (panic: zk: connection closed)")
	require.Contains(t, played[4].Words.String(), "ends the lab's engine (exit status 3)")
	require.Contains(t, played[6].Words.String(), "ends the lab's engine")
}

func TestAnEngineThatSpinsIsStopped(t *testing.T) {
	t.Parallel()
	short := limits{time: 200 * time.Millisecond, memory: 1 << 30, ceiling: time.Hour}
	played, why := testenv.Must2(playLinks(t.Context(), short, dyingArg, map[int]string{5: "spins"}))(t)
	require.Empty(t, played)
	require.Contains(t, why.String(), "it has not come to an end in 200ms of processor time")
}
