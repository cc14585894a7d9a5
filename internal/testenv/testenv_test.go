package testenv_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
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
		helper    func(testenv.T, string)
		want      said
	}{
		{"", "", testenv.Landing, said{skip: "slow: asked for by ZKLOCK_TESTS=landing"}},
		{"landing", "", testenv.Landing, said{}},
		{"long", "", testenv.Landing, said{}},
		{"", "", testenv.Long, said{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{"landing", "", testenv.Long, said{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{"long", "", testenv.Long, said{}},
		{"", "", testenv.Missing, said{skip: "slow"}},
		{"landing", "", testenv.Missing, said{fatal: "slow"}},
		{"", "embedded", testenv.Embedded, said{}},
		{"", "", testenv.Embedded, said{}},
		{"", "a:1", testenv.Embedded, said{skip: "slow (unset ZK)"}},
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
	testenv.NotRaced(&got, "slow")
	require.Equal(t, testenv.Raced, got.skip != "")
	for tests, skipped := range map[string]bool{"landing": testenv.Raced, "long": false} {
		t.Setenv("ZKLOCK_TESTS", tests)
		var got said
		testenv.RacedAtLength(&got, "slow")
		require.Equal(t, skipped, got.skip != "", tests)
	}
	t.Setenv("ZKLOCK_TESTS", "")
	flag.Set("test.run", "TestX/part")
	got = said{}
	testenv.Landing(&got, "slow")
	require.Empty(t, got, "a part that has a name is asked for")
	t.Setenv("ZKLOCK_TESTS", "lnog")
	require.Panics(t, func() { testenv.AtLanding() }, "a slip must not run less")
}
