package testenv_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// A fakeT is a test that records why it was skipped or failed.
type fakeT struct{ skip, fatal string }

func (f *fakeT) Helper()           {}
func (f *fakeT) Skip(args ...any)  { f.skip = fmt.Sprint(args...) }
func (f *fakeT) Fatal(args ...any) { f.fatal = fmt.Sprint(args...) }

func TestWhatIsAskedForDecides(t *testing.T) {
	defer flag.Set("test.run", flag.Lookup("test.run").Value.String())
	flag.Set("test.run", "TestX")
	for _, test := range []struct {
		tests, zk string
		helper    func(testenv.T, string)
		want      fakeT
	}{
		{"", "", testenv.Landing, fakeT{skip: "slow: asked for by ZKLOCK_TESTS=landing"}},
		{"landing", "", testenv.Landing, fakeT{}},
		{"long", "", testenv.Landing, fakeT{}},
		{"", "", testenv.Long, fakeT{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{"landing", "", testenv.Long, fakeT{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{"long", "", testenv.Long, fakeT{}},
		{"", "", testenv.Missing, fakeT{skip: "slow"}},
		{"landing", "", testenv.Missing, fakeT{fatal: "slow"}},
		{"", "embedded", testenv.Embedded, fakeT{}},
		{"", "", testenv.Embedded, fakeT{}},
		{"", "a:1", testenv.Embedded, fakeT{skip: "slow (unset ZK)"}},
	} {
		t.Setenv("ZKLOCK_TESTS", test.tests)
		t.Setenv("ZK", test.zk)
		var got fakeT
		test.helper(&got, "slow")
		if got.fatal != "" {
			got.skip = "" // a test does not go on after Fatal
		}
		require.Equal(t, test.want, got, "ZKLOCK_TESTS=%s ZK=%s", test.tests, test.zk)
	}

	var got fakeT
	testenv.NotRaced(&got, "slow")
	require.Equal(t, testenv.Raced, got.skip != "")
	for tests, skipped := range map[string]bool{"landing": testenv.Raced, "long": false} {
		t.Setenv("ZKLOCK_TESTS", tests)
		var got fakeT
		testenv.RacedAtLength(&got, "slow")
		require.Equal(t, skipped, got.skip != "", tests)
	}
	t.Setenv("ZKLOCK_TESTS", "")
	flag.Set("test.run", "TestX/part")
	got = fakeT{}
	testenv.Landing(&got, "slow")
	require.Empty(t, got, "a part that has a name is asked for")
	t.Setenv("ZKLOCK_TESTS", "lnog")
	require.Panics(t, func() { testenv.AtLanding() }, "a slip must not run less")
}
