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
	flag.Set("test.run", "TestX") // without a subtest, which would ask for tests of a landing: see the end
	for _, test := range []struct {
		tests, zk string // the values of ZKLOCK_TESTS and ZK
		helper    func(testenv.T, string)
		want      fakeT // the zero value: the test goes on
	}{
		{helper: testenv.Landing, want: fakeT{skip: "slow: asked for by ZKLOCK_TESTS=landing"}},
		{tests: "landing", helper: testenv.Landing},
		{tests: "long", helper: testenv.Landing},
		{helper: testenv.Long, want: fakeT{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{tests: "landing", helper: testenv.Long, want: fakeT{skip: "slow: asked for by ZKLOCK_TESTS=long"}},
		{tests: "long", helper: testenv.Long},
		{helper: testenv.Missing, want: fakeT{skip: "slow"}},
		{tests: "landing", helper: testenv.Missing, want: fakeT{fatal: "slow"}},
		{zk: "embedded", helper: testenv.Embedded},
		{helper: testenv.Embedded},
		{zk: "a:1", helper: testenv.Embedded, want: fakeT{skip: "slow (unset ZK)"}},
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
