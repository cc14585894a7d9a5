package lab_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.EmbeddedMain(m) }

// ask sends a request in JSON and reads the answer from JSON, as the page does.
func ask[T any](t *testing.T, message string) (result T, err error) {
	t.Helper()
	answer, err := lab.Answer(t, []byte(message), func(any) {})
	if err != nil {
		return result, err
	}
	b := testenv.Must(json.Marshal(answer))(t)
	require.NoError(t, json.Unmarshal(b, &result))
	return result, nil
}

// played is the answer to the page's request to play a schedule.
func played(t *testing.T, w player.World, choices []string) lab.PlayedSchedule {
	t.Helper()
	b := testenv.Must(json.Marshal(map[string]any{"do": "play", "world": w, "choices": choices}))(t)
	p, err := ask[lab.PlayedSchedule](t, string(b))
	require.NoError(t, err, "%s: %q", w.Name, choices)
	return p
}

// notPossible has requests that are errors, each with a part of the error.
var notPossible = map[string]string{
	`{"do":"fly"}`: "has no request",
	`{"do"`:        "not a request",
	`{"do":"run","scene":{"lock":"none","contenders":2}}`:                                     `no lock "none"`,
	`{"do":"run","scene":{"lock":"naive","contenders":101}}`:                                  "101 contenders",
	`{"do":"run","scene":{"lock":"naive","contenders":-1}}`:                                   "-1 contenders",
	`{"do":"run","scene":{"lock":"naive","contenders":2,"latency_ms":-1}}`:                    "latency",
	`{"do":"run","scene":{"lock":"naive","contenders":2,"changes":[{"who":"Z","do":"cut"}]}}`: `"Z" is not a client`,
	`{"do":"run","scene":{"lock":"naive","contenders":2,"changes":[{"who":"A","do":"fly"}]}}`: `"fly" is not a change`,
	`{"do":"play","world":{"lock":"naive","contenders":2},"choices":["A: fly"]}`:              `choice 1 is "A: fly"`,
	`{"do":"play","world":{"lock":"naive","contenders":99}}`:                                  "99 contenders",
	`{"do":"replay"}`: "no trace",
	`{"do":"fates","world":{"lock":"naive"},"choices":[]}`:                                     "no kind of violation",
	`{"do":"replay","trace":{"world":{"lock":"naive"},"choices":["A: request"],"widths":[7]}}`: "possibilities",
}

func TestWhatCannotRunIsAnError(t *testing.T) {
	for message, wrong := range notPossible {
		require.ErrorContains(t, testenv.Err(ask[any](t, message)), wrong, message)
	}
}

func TestAPersonPlaysTheScheduler(t *testing.T) {
	world := player.World{Name: "broken-everybody-is-first", Contenders: 2, Packets: true, Kinds: []player.Fault{player.Cut}, Faults: 1}
	var choices []string
	for range 100 {
		p := played(t, world, choices)
		require.Equal(t, p.Over, len(p.Enabled) == 0)
		if p.Over {
			require.NotNil(t, p.Violation)
			require.Equal(t, player.TwoHolders, p.Violation.Kind)
			require.Equal(t, p.Violation, p.Film.Violation)
			again := testenv.Must(lab.Replay(t, p.Trace))(t)
			require.Equal(t, p.Film.Hash, again.Hash, "a trace that was played has the same film")
			return
		}
		next := ""
		for _, action := range p.Enabled {
			require.Equal(t, action.Choice, action.Who+": "+action.What)
			require.Equal(t, action.What == "cut", action.Fault)
			if next == "" && action.What != "unlock" && !action.Fault {
				next = action.Choice // no contender unlocks, so both get in
			}
		}
		choices = append(choices, next)
	}
	t.Fatal("the schedule does not end")
}

// worldOf is a world of two contenders in which one fault may happen.
func worldOf(lock string, kind player.Fault) player.World {
	return player.World{Name: lock, Contenders: 2, Packets: true, Kinds: []player.Fault{kind}, Faults: 1}
}

// TestEveryKindOfFaultCanBeChosen: with every lock, a person who plays the scheduler can choose
// each fault that the explorer can.
func TestEveryKindOfFaultCanBeChosen(t *testing.T) {
	for _, name := range []string{"naive", "herd", "predecessor", "reentrant", "timeout", "zklock"} {
		l := testenv.Must(locks.Find(name))(t)
		for _, kind := range append(slices.Clone(player.AllFaults), player.Pause, player.Refuse, player.Remake) {
			can := (kind != player.EndContext || l.Contexts) && (kind != player.Remake || l.Parent)
			happened := false
			var choices []string
			for len(choices) < 60 {
				p := played(t, worldOf(name, kind), choices)
				if happened || p.Over { // the schedule has been played with the fault, too
					break
				}
				next := slices.IndexFunc(p.Enabled, func(action film.Possible) bool { return action.Fault })
				happened = next >= 0
				choices = append(choices, p.Enabled[max(next, 0)].Choice) // the fault as soon as it is possible
			}
			require.Equal(t, can, happened, "%s, %s", name, kind)
		}
	}
}

// TestAClientThatHasNotConnectedIsShownSo: from the start of the film until it connects.
func TestAClientThatHasNotConnectedIsShownSo(t *testing.T) {
	states := func(choices ...string) (list []string) {
		for _, m := range played(t, worldOf("predecessor", player.Refuse), choices).Film.Marks {
			if m.Kind == "client" {
				list = append(list, m.Who+" "+m.State)
			}
		}
		return list
	}
	require.Equal(t, []string{"A unconnected", "B unconnected"}, states("A: refuse"))
	require.Equal(t, []string{"A unconnected", "B unconnected", "B connected"}, states("A: refuse", "B: reconnect")[:3])
}

func TestFindFindsAndSaysHowFarItIs(t *testing.T) {
	found, err := ask[lab.SearchResult](t,
		`{"do":"find","world":{"lock":"broken-everybody-is-first","contenders":3},"kinds":["cut"],"faults":1,"for_s":600}`)
	require.NoError(t, err)
	require.NotNil(t, found.Trace)
	require.Empty(t, found.Trace.World.Faults, "no fault is needed")
	again := testenv.Must(lab.Replay(t, found.Trace))(t)
	require.Equal(t, player.TwoHolders, again.Violation.Kind)

	found = testenv.Must(ask[lab.SearchResult](t, `{"do":"find","world":{"lock":"predecessor","contenders":2},"for_s":600}`))(t)
	require.Nil(t, found.Trace)
	require.True(t, found.Complete)
	require.Positive(t, found.Schedules)
}

// valueOf computes a formula such as N²+2N or n(n−1)/2.
func valueOf(t *testing.T, formula string, n int) int {
	t.Helper()
	formula = strings.NewReplacer(" ", "", "−", "-", "N", "n").Replace(formula)
	if formula == "n(n-1)/2" { // the only one that is not a sum
		return n * (n - 1) / 2
	}
	sum, read := 0, ""
	for _, m := range regexp.MustCompile(`([+-]?)(\d+|n)(n?)(²?)`).FindAllStringSubmatch(formula, -1) {
		sign, factor, timesN, square := m[1], m[2], m[3], m[4]
		part, err := strconv.Atoi(factor)
		if err != nil { // the factor is n
			part = n
		}
		if timesN != "" {
			part *= n
		}
		if square != "" {
			part *= n
		}
		if sign == "-" {
			part = -part
		}
		sum, read = sum+part, read+m[0]
	}
	require.Equal(t, formula, read, "it is not a formula")
	return sum
}

// The curves of the chart are the formulas of the catalogue and of the steps' own comments, and no run sends more.
func TestTheCurvesAreTheStepsFormulas(t *testing.T) {
	docs := map[string]string{"naive": "01-naive-ephemeral", "herd": "02-herd-effect",
		"predecessor": "03-sequential-predecessor", "reentrant": "04-reentrant", "timeout": "05-timeout"}
	stated := regexp.MustCompile(`(?s)each lock once send ([^ ]+)\s+requests`)
	for _, c := range lab.Curves() {
		l := testenv.Must(locks.Find(c.Lock))(t)
		require.Len(t, c.Requests, 100)
		for n := 1; n <= 100; n++ {
			require.Equal(t, valueOf(t, l.Requests, n), c.Requests[n-1], "%s: %s", c.Lock, l.Requests)
			require.Equal(t, valueOf(t, l.Events, n), c.Events[n-1], "%s: %s", c.Lock, l.Events)
		}
		if dir, ok := docs[c.Lock]; ok {
			delete(docs, c.Lock)
			text := testenv.Must(os.ReadFile("../../../" + dir + "/lock.go"))(t)
			text = []byte(strings.ReplaceAll(string(text), "\n// ", " "))
			m := stated.FindSubmatch(text)
			require.NotNil(t, m, c.Lock)
			require.Equal(t, c.Requests[99], valueOf(t, string(m[1]), 100), "%s: its package's doc says %s", c.Lock, m[1])
		}
		for _, n := range []int{2, 7, 20} { // three sizes: a run of a hundred is slow
			cost := testenv.Must(lab.CostOf(t, locks.Scene{Lock: c.Lock, Contenders: n, LatencyMs: 20, Seed: 1}))(t)
			require.Empty(t, cost.Broken)
			require.LessOrEqual(t, cost.Requests, c.Requests[n-1], "%s, %d contenders", c.Lock, n)
			require.LessOrEqual(t, cost.Events, c.Events[n-1], "%s, %d contenders", c.Lock, n)
		}
	}
	require.Empty(t, docs, "locks without a curve")
}
