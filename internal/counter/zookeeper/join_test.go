package zookeeper

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// The first processes whose flags are those of the first of all are the line-up of a run. A process chooses it from
// those that are here, in the order in which they came; it waits, or fails, if it is not in the line-up. In each case b
// with -n 5 is this process, and two are to take part.
func TestTheFirstProcessesWithTheSameFlagsAreALineUp(t *testing.T) {
	at := func(node string, n int, lineUp ...string) process { // with the flag -n, and what it has chosen already
		return process{node: node, Flags: fmt.Sprint("-n ", n), LineUp: lineUp}
	}
	const underWay = "a run of other processes is under way, waiting for its end"
	for name, tc := range map[string]struct {
		here       []process
		lineUp     []string
		waits, err string
	}{
		"alone":                          {here: []process{at("b", 5)}, waits: "waiting, 1 of 2 processes are there"},
		"two":                            {here: []process{at("a", 5), at("b", 5)}, lineUp: []string{"a", "b"}},
		"one that has other flags":       {here: []process{at("b", 5), at("c", 6), at("d", 5)}, lineUp: []string{"b", "d"}},
		"a first with other flags":       {here: []process{at("a", 6), at("b", 5)}, err: "the flags are -n 5 here and -n 6 in a, which came first"},
		"a third":                        {here: []process{at("a", 5), at("a2", 5), at("b", 5)}, waits: underWay},
		"one that has lined up":          {here: []process{at("a", 6, "a", "b"), at("b", 5)}, lineUp: []string{"a", "b"}},
		"one that waits for others":      {here: []process{at("a2", 6, "a", "a2"), at("b", 5)}, waits: underWay},
		"none, as the session has ended": {waits: underWay},
	} {
		lineUp, waits, err := chooseLineUp(at("b", 5), tc.here, 2)
		require.Equal(t, tc.lineUp, lineUp, name)
		require.Equal(t, tc.waits, waits.String(), name)
		if tc.err == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, tc.err, name)
		}
	}
}

// A process that gets no answer from any server for silentFor, 10 s, leaves its line-up.
func TestAServerThatIsSilentEndsTheLineUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zkserver.New()
		defer srv.Close()
		s := &Server{zoo: ensemble.OverPipes(srv)}
		s.admin = testenv.Must(s.zoo.Connect(t.Context(), ensemble.Options{}))(t)
		g := newGroup(t.Context(), s)
		time.Sleep(time.Minute)
		require.NoError(t, g.ctx.Err(), "while it answers")
		srv.Stop()
		time.Sleep(2 * silentFor)
		require.ErrorContains(t, context.Cause(g.ctx), "no server has answered for 10s")
		srv.Start()
		s.admin.Close()
	})
}
