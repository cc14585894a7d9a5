package when_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/when"
)

// said records what a test is told.
type said struct{ skip, fatal string }

func (s *said) Helper()           {}
func (s *said) Skip(args ...any)  { s.skip = fmt.Sprint(args...) }
func (s *said) Fatal(args ...any) { s.fatal = fmt.Sprint(args...) }

func TestWhatIsAskedForDecides(t *testing.T) {
	defer flag.Set("test.run", flag.Lookup("test.run").Value.String())
	flag.Set("test.run", "TestX")
	for _, test := range []struct {
		tests, zk string
		helper    func(when.T, string)
		want      said
	}{
		{"", "", when.Landing, said{skip: "slow: asked for by ZKLOCK_TESTS=landing"}},
		{"landing", "", when.Landing, said{}},
		{"long", "", when.Landing, said{}},
		{"", "", when.Long, said{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{"landing", "", when.Long, said{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{"long", "", when.Long, said{}},
		{"", "", when.Missing, said{skip: "slow"}},
		{"landing", "", when.Missing, said{fatal: "slow"}},
		{"", "embedded", when.Embedded, said{}},
		{"", "", when.Embedded, said{}},
		{"", "a:1", when.Embedded, said{skip: "slow (unset ZK)"}},
	} {
		t.Setenv("ZKLOCK_TESTS", test.tests)
		t.Setenv("ZK", test.zk)
		var got said
		test.helper(&got, "slow")
		if got.fatal != "" {
			got.skip = "" // a test does not go on after Fatal
		}
		require.Equal(t, test.want, got, "ZKLOCK_TESTS=%s ZK=%s", test.tests, test.zk)
	}
	var got said
	when.NotRaced(&got, "slow")
	require.Equal(t, when.Raced, got.skip != "")
	for tests, left := range map[string]bool{"landing": when.Raced, "long": false} {
		t.Setenv("ZKLOCK_TESTS", tests)
		var got said
		when.RacedAtLength(&got, "slow")
		require.Equal(t, left, got.skip != "", tests)
	}
	t.Setenv("ZKLOCK_TESTS", "")
	flag.Set("test.run", "TestX/part")
	got = said{}
	when.Landing(&got, "slow")
	require.Empty(t, got, "a part that has a name is asked for")
	t.Setenv("ZKLOCK_TESTS", "lnog")
	require.Panics(t, func() { when.AtLanding() }, "a slip must not run less")
}
