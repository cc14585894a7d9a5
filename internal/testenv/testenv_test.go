// A test is skipped by ZKLOCK_TESTS (landing: before a change goes to main; long: all), by ZK, or by the race detector.
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
	const reason = "slow" // that the test gives
	defer flag.Set("test.run", flag.Lookup("test.run").Value.String())
	flag.Set("test.run", "TestX") // no subtest: -run TestX/part asks for the tests of a landing, see the end
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
		test.helper(&got, reason)
		if got.fatal != "" {
			got.skip = "" // a test does not go on after Fatal
		}
		require.Equal(t, test.want, got, "ZKLOCK_TESTS=%s ZK=%s", test.tests, test.zk)
	}

	// With the race detector, NotRaced skips always, and RacedAtLength unless all tests are asked for.
	var got fakeT
	testenv.NotRaced(&got, reason)
	require.Equal(t, testenv.Raced, got.skip != "")
	for tests, skipped := range map[string]bool{"landing": testenv.Raced, "long": false} {
		t.Setenv("ZKLOCK_TESTS", tests)
		var got fakeT
		testenv.RacedAtLength(&got, reason)
		require.Equal(t, skipped, got.skip != "", tests)
	}

	t.Setenv("ZKLOCK_TESTS", "")
	flag.Set("test.run", "TestX/part")
	got = fakeT{}
	testenv.Landing(&got, reason)
	require.Empty(t, got, "a subtest that -run names is asked for")
	t.Setenv("ZKLOCK_TESTS", "lnog")
	require.Panics(t, func() { testenv.AtLanding() }, "a misspelt value must not run fewer tests")
}
