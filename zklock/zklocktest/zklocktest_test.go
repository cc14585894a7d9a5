// Tests of this package, and one that page_test.go is the code of docs/testing-your-code.md.
package zklocktest_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zklocktest"
	"example.com/zklock/zkserver"
)

// A fakeTB stands in for a test. It keeps the messages of its failures.
type fakeTB struct {
	cleanups []func()
	said     string
}

func (f *fakeTB) Helper()                           {}
func (f *fakeTB) Cleanup(c func())                  { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Errorf(format string, args ...any) { f.said += fmt.Sprintf(format, args...) }
func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// messages runs a test and its clean-ups, and returns the messages of its failures.
func messages(test func(t zklocktest.TB)) string {
	f := &fakeTB{}
	done := make(chan bool)
	go func() {
		defer close(done)
		defer func() {
			for i := range f.cleanups {
				f.cleanups[len(f.cleanups)-1-i]()
			}
		}()
		test(f)
	}()
	<-done
	return f.said
}

func TestWhatATestHasLeftOrMistakenIsSaid(t *testing.T) {
	for _, c := range []struct {
		says string // "": the test does not fail
		test func(t zklocktest.TB)
	}{
		{"", func(t zklocktest.TB) { zklocktest.Lease(t) }},
		{"", func(t zklocktest.TB) { // what these two still have when the test ends is cleaned up
			locks := zklocktest.Run(t)
			locks.Holder("/l")
			locks.Waiter("/l")
		}},
		{"", func(t zklocktest.TB) { <-zklocktest.Run(t).Waiter("/free") }},
		{"at the end of the test: ", func(t zklocktest.TB) { zklocktest.Run(t).Mutex("/l").Lock(context.Background(), nil) }},
		{"there is no node /lock/", func(t zklocktest.TB) { zklocktest.Run(t).Lose(zklocktest.Lease(t)) }},
		{"zklocktest: zklock: ", func(t zklocktest.TB) { zklocktest.Run(t).Mutex("no slash") }},
		{"no request has met the fault", func(t zklocktest.TB) {
			locks := zklocktest.Run(t)
			locks.Holder("/l")
			locks.Server.Hold(func(zkserver.Request) bool { return false })
		}},
	} {
		bubble.Test(t, func(t *testing.T) {
			said := messages(c.test)
			require.Contains(t, said, c.says)
			require.Equal(t, c.says == "", said == "", said)
		})
	}
}

func TestAWaiterIsNextAndALostLeaseIsLost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		locks := zklocktest.Run(t)
		holder := locks.Holder("/l")
		first := locks.Waiter("/l")
		second := locks.Waiter("/l")
		require.Len(t, locks.Server.Children("/l"), 3, "they are in the queue")
		require.NoError(t, holder.Unlock(t.Context()))
		lease := <-first
		require.Empty(t, second, "the second one still waits")
		locks.Lose(lease)
		require.ErrorIs(t, lease.Unlock(t.Context()), zklock.ErrLost)
		<-second
	})
}

var goBlocks = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

const page = "../../docs/testing-your-code"

// The Go blocks of both editions of docs/testing-your-code.md, one after the other, are page_test.go.
func TestThePageHasTheseTests(t *testing.T) {
	code := testenv.Must(os.ReadFile("page_test.go"))(t)
	for _, name := range []string{page + ".md", page + ".zh-CN.md"} {
		text := testenv.Must(os.ReadFile(name))(t)
		var blocks []string
		for _, m := range goBlocks.FindAllSubmatch(text, -1) {
			blocks = append(blocks, string(m[1]))
		}
		require.Equal(t, string(code), strings.Join(blocks, "\n"), name)
	}
}
