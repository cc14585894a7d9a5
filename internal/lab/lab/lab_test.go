// Tests of the answers to the page's requests. They are asked and read as JSON, as by the page. The answer to a played
// schedule has its film, packets and marks by which the page draws it. testenv.Must ends a test with an error.
package lab_test

import (
	"encoding/json"
	"go/constant"
	"go/token"
	"go/types"
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
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.EmbeddedMain(m) }

// ask sends a request in JSON and reads the answer from JSON, as the page does.
func ask[T any](t *testing.T, request string) (result T, err error) {
	t.Helper()
	answer, err := lab.Answer(t, []byte(request), func(any) {})
	if err != nil {
		return result, err
	}
	text := testenv.Must(json.Marshal(answer))(t)
	require.NoError(t, json.Unmarshal(text, &result))
	return result, nil
}

// played is the answer to the page's request to play a schedule.
func played(t *testing.T, w player.World, choices []string) lab.PlayedSchedule {
	t.Helper()
	request := testenv.Must(json.Marshal(map[string]any{"do": "play", "world": w, "choices": choices}))(t)
	return testenv.Must(ask[lab.PlayedSchedule](t, string(request)))(t, w.Name, choices)
}

// wrongRequests are answered with errors, of which each has a part here.
var wrongRequests = map[string]string{
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

func TestAWrongRequestIsAnsweredWithAnError(t *testing.T) {
	for request, part := range wrongRequests {
		require.ErrorContains(t, testenv.Err(ask[any](t, request)), part, request)
	}
}

// TestAPersonCanBreakALock plays as a person does to get two holders: request by request, and no contender
// unlocks. The lock takes each contender for the first.
func TestAPersonCanBreakALock(t *testing.T) {
	world := worldWithFault("broken-everybody-is-first", player.Cut)
	var choices []string
	p := played(t, world, choices)
	for !p.Over {
		require.Less(t, len(choices), 100, "the schedule does not end")
		for _, action := range p.Enabled {
			require.Equal(t, action.Choice, action.Who+": "+action.What)
			require.Equal(t, action.What == "cut", action.Fault)
		}
		next := slices.IndexFunc(p.Enabled, func(a film.Possible) bool { return a.What != "unlock" && !a.Fault })
		choices = append(choices, p.Enabled[next].Choice)
		p = played(t, world, choices)
	}

	require.Empty(t, p.Enabled)
	require.NotNil(t, p.Violation)
	require.Equal(t, player.TwoHolders, p.Violation.Kind)
	require.Equal(t, p.Violation, p.Film.Violation)
	again := testenv.Must(lab.Replay(t, p.Trace))(t)
	require.Equal(t, p.Film.Hash, again.Hash, "a trace that was played has the same film")
}

// worldWithFault is a world of two contenders in which one fault of a kind may happen.
func worldWithFault(lock string, kind player.Fault) player.World {
	return player.World{Name: lock, Contenders: 2, Packets: true, Kinds: []player.Fault{kind}, Faults: 1}
}

// TestEveryKindOfFaultCanBeChosen: with every lock, a person who plays the scheduler can choose each fault that the
// explorer can. The ctx can end only for a lock that takes one. Only a queue's parent can be removed and made again.
func TestEveryKindOfFaultCanBeChosen(t *testing.T) {
	for _, name := range []string{"naive", "herd", "predecessor", "reentrant", "timeout", "zklock"} {
		l := testenv.Must(locks.Find(name))(t)
		for _, kind := range append(slices.Clone(player.AllFaults), player.Pause, player.Refuse, player.Remake) {
			isPossible := (kind != player.EndContext || l.Contexts) && (kind != player.Remake || l.Parent)
			happened := false
			var choices []string
			p := played(t, worldWithFault(name, kind), choices)
			for !happened && !p.Over && len(choices) < 60 { // each schedule of these locks is shorter
				fault := slices.IndexFunc(p.Enabled, func(action film.Possible) bool { return action.Fault })
				happened = fault >= 0
				next := max(fault, 0) // the fault as soon as it is possible; until then the first action
				choices = append(choices, p.Enabled[next].Choice)
				p = played(t, worldWithFault(name, kind), choices) // fails if the engine does not take the choice
			}
			require.Equal(t, isPossible, happened, "%s, %s", name, kind)
		}
	}
}

// TestAClientThatHasNotConnectedIsShownSo: from the start of the film until it connects.
func TestAClientThatHasNotConnectedIsShownSo(t *testing.T) {
	states := func(choices ...string) (inOrder []string) { // of the clients, as they change in the film
		for _, m := range played(t, worldWithFault("predecessor", player.Refuse), choices).Film.Marks {
			if m.Kind == "client" {
				inOrder = append(inOrder, m.Who+" "+m.State)
			}
		}
		return inOrder
	}
	require.Equal(t, []string{"A unconnected", "B unconnected"}, states("A: refuse"))
	require.Equal(t, []string{"A unconnected", "B unconnected", "B connected"}, states("A: refuse", "B: reconnect")[:3])
}

func TestASearchFindsABug(t *testing.T) {
	found := testenv.Must(ask[lab.SearchResult](t,
		`{"do":"find","world":{"lock":"broken-everybody-is-first","contenders":3},"kinds":["cut"],"faults":1,"for_s":600}`))(t)
	require.NotNil(t, found.Trace)
	require.Empty(t, found.Trace.World.Faults, "no fault is needed")
	again := testenv.Must(lab.Replay(t, found.Trace))(t)
	require.Equal(t, player.TwoHolders, again.Violation.Kind)
}

func TestASearchOfARightLockPlaysAllSchedules(t *testing.T) {
	found := testenv.Must(ask[lab.SearchResult](t, `{"do":"find","world":{"lock":"predecessor","contenders":2},"for_s":600}`))(t)
	require.Nil(t, found.Trace)
	require.True(t, found.Complete)
	require.Positive(t, found.Schedules)
}

// valueOf computes a formula such as N²+2N or n(n−1)/2. It writes the formula as an expression of Go, such as
// 7*7+2*7 for N = 7, and lets go/types evaluate that.
func valueOf(t *testing.T, formula string, n int) int {
	t.Helper()
	withSigns := strings.NewReplacer("−", "-", "N", "n", "²", "*n").Replace(formula)
	withProducts := regexp.MustCompile(`([\dn])([n(])`).ReplaceAllString(withSigns, "$1*$2") // 2n and n(
	expression := strings.ReplaceAll(withProducts, "n", strconv.Itoa(n))
	result := testenv.Must(types.Eval(token.NewFileSet(), nil, token.NoPos, expression))(t, formula)
	value, isInt := constant.Int64Val(result.Value)
	require.True(t, isInt, formula)
	return int(value)
}

// The curves of the chart are the formulas of the catalogue and of the steps' own comments, and no run sends more.
func TestTheCurvesAreTheStepsFormulas(t *testing.T) {
	const mostContenders = 100 // of a curve
	folders := map[string]string{"naive": "01-naive-ephemeral", "herd": "02-herd-effect",
		"predecessor": "03-sequential-predecessor", "reentrant": "04-reentrant", "timeout": "05-timeout"}
	stated := regexp.MustCompile(`(?s)each lock once send ([^ ]+)\s+requests`)
	for _, c := range lab.Curves() {
		l := testenv.Must(locks.Find(c.Lock))(t)
		require.Len(t, c.Requests, mostContenders)
		for n := 1; n <= mostContenders; n++ {
			require.Equal(t, valueOf(t, l.Requests, n), c.Requests[n-1], "%s: %s", c.Lock, l.Requests)
			require.Equal(t, valueOf(t, l.Events, n), c.Events[n-1], "%s: %s", c.Lock, l.Events)
		}

		if folder, isStep := folders[c.Lock]; isStep {
			delete(folders, c.Lock)
			onOneLine := strings.ReplaceAll(site.Read(t, folder+"/lock.go"), "\n// ", " ")
			m := stated.FindStringSubmatch(onOneLine)
			require.NotNil(t, m, c.Lock)
			require.Equal(t, c.Requests[mostContenders-1], valueOf(t, m[1], mostContenders), "%s: its package's doc says %s", c.Lock, m[1])
		}

		for _, n := range []int{2, 7, 20} { // three sizes: a run of a hundred is slow
			cost := testenv.Must(lab.CostOf(t, locks.Scene{Lock: c.Lock, Contenders: n, LatencyMs: 20, Seed: 1}))(t)
			require.Empty(t, cost.Broken)
			require.LessOrEqual(t, cost.Requests, c.Requests[n-1], "%s, %d contenders", c.Lock, n)
			require.LessOrEqual(t, cost.Events, c.Events[n-1], "%s, %d contenders", c.Lock, n)
		}
	}
	require.Empty(t, folders, "locks without a curve")
}
