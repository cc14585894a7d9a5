package killing

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/judge"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/stage"
)

// judged judges schedules as Run does. It returns nil in the process in which
// they are played.
func judged(t *testing.T, wanted []string, schedules ...stage.Schedule) map[string]Outcome {
	museum.NeedsEmbedded(t)
	r := judge.New(t, func(c *judge.Case) { serve(c, schedules) })
	if r == nil {
		return nil
	}
	all := make(map[string]Outcome)
	Judge(r, wanted, func(o Outcome) bool {
		all[o.Case] = o
		return true
	})
	return all
}

func holderDies(s *stage.Stage) {
	a, b := s.Client(), s.Client()
	a.Lock()
	b.Start()
	b.Waits()
	a.Expire()
	b.GetsIn()
}

func TestAGoodScheduleKillsItsMutantAndNoOther(t *testing.T) {
	all, _ := Cases()
	for name, o := range judged(t, names(all), stage.Schedule{Name: "a holder dies", Play: holderDies}) {
		switch name {
		case dies(0).En:
			require.Empty(t, o.Words.En)
			require.Equal(t, `schedule "1 a holder dies": never happens: Lock of client B returns`, o.Killed.En)
		default:
			require.Empty(t, o.Killed.En)
			require.Equal(t, strings.HasPrefix(name, "mutant "), o.Words.En != "", "%s: %s", name, o.Words.En)
		}
	}
}

// TestOtherDifferencesAreFalseAlarms has schedules that distinguish a right lock
// from a wrong one by something other than its promises.
func TestOtherDifferencesAreFalseAlarms(t *testing.T) {
	for name, test := range map[string]struct {
		right int // the first on which it must fail
		play  func(s *stage.Stage)
	}{
		"names": {1, func(s *stage.Stage) {
			a := s.Client()
			a.Lock()
			require.Equal(s, []string{"/lock/lock-0000000000"}, a.Nodes())
		}},
		"the data of a node": {1, func(s *stage.Stage) {
			a := s.Client()
			a.Lock()
			data, _, err := a.Get(a.Nodes()[0])
			require.NoError(s, err)
			require.Empty(s, data)
		}},
		"the words of an error": {1, func(s *stage.Stage) {
			a := s.Client()
			a.FailNext(jute.OpGetChildren2, jute.ErrRuntimeInconsistency)
			a.Start()
			require.ErrorContains(s, a.Fails(), "predecessor: ")
		}},
		"the number of requests": {1, func(s *stage.Stage) {
			a := s.Client()
			a.Lock()
			require.NoError(s, a.Unlock())
			require.Equal(s, 1, s.Requests(jute.OpGetChildren2))
		}},
		"a type on the stack": {1, func(s *stage.Stage) {
			a, b := s.Client(), s.Client()
			a.Lock()
			b.Start()
			require.NotZero(s, strings.Count(stacks(), "/03-sequential-predecessor.(*Lock).Lock("))
		}},
		"the kind of the watch": {2, func(s *stage.Stage) {
			a, b := s.Client(), s.Client()
			a.Lock()
			before := s.Requests(jute.OpExists)
			b.Start()
			b.Waits()
			require.LessOrEqual(s, s.Requests(jute.OpExists), before+1) // one is free
			require.NotEqual(s, 0, s.Requests(jute.OpGetData))
		}},
		"a list after each event": {3, func(s *stage.Stage) {
			a, b := s.Client(), s.Client()
			a.Lock()
			b.Start()
			b.Waits()
			before := s.Requests(jute.OpGetChildren2)
			require.NoError(s, a.Unlock())
			b.GetsIn()
			require.Greater(s, s.Requests(jute.OpGetChildren2), before)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, _ := Cases()
			got := judged(t, names(all[:len(rights)]), stage.Schedule{Name: name, Play: test.play})
			if got == nil {
				return
			}
			require.Empty(t, got[rights[0].name.En].Words.En, "step 3 is right")
			require.Contains(t, got[rights[test.right].name.En].Words.En, "fails on a lock that is right")
			require.Contains(t, got[rights[test.right].name.En].Words.En, "Assert what a lock promises")
		})
	}
}

// TestAFalseAlarmKillsNothing: such a schedule does not count.
func TestAFalseAlarmKillsNothing(t *testing.T) {
	all, _ := Cases()
	got := judged(t, names(all),
		stage.Schedule{Name: "always", Play: func(s *stage.Stage) { s.Fatal("wolf") }},
		stage.Schedule{Name: "a holder dies", Play: holderDies})
	if got == nil {
		return
	}
	require.Equal(t, `schedule "1 always" fails on a lock that is right: wolf`, got[rights[0].name.En].Words.En)
	require.Empty(t, got[dies(0).En].Words.En)
	require.Contains(t, got[dies(1).En].Words.En, `schedule "1 always" does not count`)
}

// stuck is true on the first mutant only.
func stuck(s *stage.Stage) bool {
	a, b := s.Client(), s.Client()
	a.Lock()
	b.Start()
	a.Expire()
	return b.State() == "waiting"
}

// TestHostileSchedulesKillNothing: what else than an assertion ends a play on a mutant kills nothing.
func TestHostileSchedulesKillNothing(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(s *stage.Stage)
		says string
	}{
		"loops": {func(*stage.Stage) {
			for {
			}
		}, "does not come to its end: the schedule"},
		"waits in virtual time": {func(s *stage.Stage) {
			for {
				s.Pass(time.Hour)
			}
		}, "days of virtual time have passed"},
		"hangs":            {func(*stage.Stage) { select {} }, "does not come to its end: the schedule"},
		"panics":           {func(*stage.Stage) { panic("aside") }, "the schedule panics: aside"},
		"ends the process": {func(*stage.Stage) { os.Exit(0) }, "the schedule calls os.Exit"},
		"prints without end": {func(*stage.Stage) {
			line := strings.Repeat("x", 1<<16)
			for {
				os.Stdout.WriteString(line)
			}
		}, "the schedule prints more than"},
		"skips":                   {func(s *stage.Stage) { s.T.SkipNow() }, "1 of 1 schedules pass on it"},
		"panics in a goroutine":   {func(s *stage.Stage) { go panic("aside"); s.Pass(1) }, "the schedule panics: aside"},
		"makes the test parallel": {func(s *stage.Stage) { s.T.Parallel() }, "does not come to its end: the schedule panics"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := judged(t, []string{rights[0].name.En, dies(0).En}, stage.Schedule{Name: name, Play: func(s *stage.Stage) {
				if stuck(s) {
					test.do(s)
				}
			}})
			if got == nil {
				return
			}
			require.Empty(t, got[rights[0].name.En].Words.En)
			require.Empty(t, got[dies(0).En].Killed)
			require.Contains(t, got[dies(0).En].Words.En, "mutant 1 lives")
			require.Contains(t, got[dies(0).En].Words.En, test.says)
		})
	}
}

// TestAnAssertionWithoutWordsKills, also one of the test's own.
func TestAnAssertionWithoutWordsKills(t *testing.T) {
	got := judged(t, []string{dies(0).En}, stage.Schedule{Name: "curt", Play: func(s *stage.Stage) {
		if stuck(s) {
			s.FailNow()
		}
	}})
	if got == nil {
		return
	}
	require.Empty(t, got[dies(0).En].Words.En)
	require.NotEmpty(t, got[dies(0).En].Killed)
}

// TestSchedulesThatAreNotThere: nothing to play is said as such.
func TestSchedulesThatAreNotThere(t *testing.T) {
	for says, n := range map[string]int{"there is no schedule": 0, "31 schedules, and 30 are enough": MaxSchedules + 1} {
		t.Run(says, func(t *testing.T) {
			got := judged(t, []string{rights[0].name.En}, make([]stage.Schedule, n)...)
			if got != nil {
				require.Contains(t, got[rights[0].name.En].Words.En, says)
			}
		})
	}
}

// TestWhileAllGoesWellAMutantSendsWhatStep3Sends: so a schedule in which nothing
// goes wrong cannot distinguish them.
func TestWhileAllGoesWellAMutantSendsWhatStep3Sends(t *testing.T) {
	sent := func(n int) []map[jute.Op]int {
		var counts []map[jute.Op]int
		museum.Play(t, makes(n), func(s *stage.Stage) {
			a, b := s.Client(), s.Client()
			count := func() {
				m := make(map[jute.Op]int)
				for _, op := range []jute.Op{jute.OpCreate, jute.OpDelete, jute.OpExists, jute.OpGetData, jute.OpGetChildren2, jute.OpSync} {
					m[op] = s.Requests(op)
				}
				counts = append(counts, m)
			}
			a.Lock()
			count()
			b.Start()
			b.Waits()
			count()
			require.NoError(s, a.Unlock())
			b.GetsIn()
			count()
			require.NoError(s, b.Unlock())
			count()
		})
		return counts
	}
	step3 := sent(0)
	for i := range tenMutants {
		bug := change(i).Head
		got := sent(len(rights) + i)
		same := slices.EqualFunc(step3, got, maps.Equal[map[jute.Op]int])
		// These two do another thing at each wait, and a right lock does so, too.
		require.Equal(t, bug != "no look after waking" && bug != "look first, watch later", same, "mutant %d sends %v, step 3 %v", i+1, got, step3)
	}
}

func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}

// failures are what assertions say to a reader of Chinese.
type failures []string

func (f *failures) Errorf(format string, args ...any) {
	*f = append(*f, said(judge.Verdict{Words: judge.Plain(fmt.Sprintf(format, args...)).Text}).Zh)
}

func TestAnAssertionSpeaksChinese(t *testing.T) {
	f, lost := new(failures), errors.New("lost")
	_ = []bool{
		assert.Equal(f, 1, 2, "顺序"), assert.EqualError(f, lost, "no"), assert.NoError(f, lost), assert.Error(f, nil), assert.ErrorIs(f, lost, io.EOF),
		assert.NotErrorIs(f, lost, lost), assert.ErrorIs(f, nil, io.EOF), assert.ErrorContains(f, lost, "no"), assert.NotNil(f, nil), assert.Nil(f, 1),
		assert.True(f, false), assert.Empty(f, "a"), assert.NotEmpty(f, ""), assert.Zero(f, 1), assert.NotZero(f, 0), assert.NotEqual(f, 1, 1),
		assert.Len(f, "a", 2), assert.GreaterOrEqual(f, 1, 2), assert.Greater(f, 1, 2), assert.LessOrEqual(f, 2, 1), assert.Less(f, 2, 1),
		assert.NotContains(f, "held", "he"), assert.Contains(f, "held", "lost"),
	}
	require.Equal(t, strings.Split(`顺序 不相等：期望 1，实际 2|错误信息不同：期望 "no"，实际 "lost"|不应有错误，实际是：lost|应有错误，实际是 nil|错误应当包装 "EOF"，实际是 "lost"|`+
		`错误不应包装 "lost"，实际是 "lost"|应有包装 "EOF" 的错误，实际是 nil|错误 "lost" 里没有 "no"|不应为 nil|应为 nil，实际是 1|`+
		`应为 true|应为空，实际是 a|不应为空|应为零值，实际是 1|不应为 0|不应为 1|`+
		`"a" 应有 2 个元素，实际有 1 个|1 应当大于或等于 2|1 应当大于 2|2 应当小于或等于 1|2 应当小于 1|`+
		`"held" 里不应有 "he"|"held" 里没有 "lost"`, "|"), strings.Split(strings.ReplaceAll(strings.Join(*f, "|"), "断言没有通过：", ""), "|"))
}
