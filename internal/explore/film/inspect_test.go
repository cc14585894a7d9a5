package film_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

// A film has the server's data of a znode, and the variables of the holder's lock:
// the naive lock compares the two when it unlocks.
func TestAFilmHasDataAndVariables(t *testing.T) {
	value := func(m film.Mark, name string) string {
		for _, v := range m.Variables {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}
	f := paced(t, explore.World{Lock: steps.Naive()}, film.Pace{Seed: 1})
	data := make(map[string]string) // that the node had while a client owned it
	for _, m := range marks(f, "node") {
		if m.Owner != "" && *m.Made {
			data[m.Owner] = m.Data
			require.Positive(t, m.Czxid)
		}
	}
	require.Equal(t, map[string]string{"A": "<random 1>", "B": "<random 2>"}, data)
	sessions := make(map[string]bool)
	for _, c := range f.Clients {
		sessions[c.Session] = true
	}
	require.Len(t, sessions, 2)
	shown := make(map[string]bool)
	for _, m := range marks(f, "variables") {
		if id := value(m, "id"); id != "" {
			require.Equal(t, data[m.Who], id)
			shown[m.Who] = true
		}
	}
	if testenv.Raced {
		require.Empty(t, shown)
	} else {
		require.Len(t, shown, 2)
	}

	for _, lock := range []explore.Subject{steps.Timeout(), steps.Zklock()} {
		f := paced(t, explore.World{Lock: lock}, film.Pace{Seed: 1})
		tokens := make(map[string]int64)
		for _, m := range marks(f, "state") {
			if m.State == "holds" {
				require.Positive(t, m.Token, lock.Name)
				tokens[m.Who] = m.Token
			}
		}
		require.Len(t, tokens, 2)
		for _, m := range marks(f, "variables") {
			if token := value(m, "token"); token != "" {
				require.Equal(t, strconv.FormatInt(tokens[m.Who], 10), token, lock.Name)
			}
		}
	}

	// In a crowd nobody follows the variables.
	require.Empty(t, marks(paced(t, explore.World{Lock: steps.Naive(), Contenders: 13}, film.Pace{Seed: 1}), "variables"))
}
