package explore_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.EmbeddedMain(m) }

// Replay fails for a choice that nobody has, for another width (the number of possible choices), and for choices after
// the end.
func TestAScheduleThatIsNotPossibleIsAnError(t *testing.T) {
	tr := explore.Draw(t, player.World{Lock: steps.Predecessor()}, 1)
	wrongChoice, wrongWidth, tooLong := *tr, *tr, *tr
	wrongChoice.Choices = append(slices.Clone(tr.Choices[:3]), "C: request")
	require.ErrorContains(t, testenv.Err(explore.Replay(t, &wrongChoice)), `choice 4 is "C: request"`)
	wrongWidth.Widths = slices.Clone(tr.Widths)
	wrongWidth.Widths[2]++
	require.ErrorContains(t, testenv.Err(explore.Replay(t, &wrongWidth)), "choice 3 had")
	tooLong.Choices = slices.Concat(tr.Choices, slices.Repeat([]string{"A: request"}, 50)) // more than A has requests
	require.Error(t, testenv.Err(explore.Replay(t, &tooLong)))
}

func TestAFileThatIsNotATraceIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.json")
	for text, want := range map[string]string{
		`{"world":{"lock":"naive"`:      "unexpected end of JSON input",
		`{"world":{"lock":"naive"}} {}`: "after top-level value",
		`null`:                          "it names no lock",
		`{"choices":["A: request"]}`:    "it names no lock",
		`{"world":{"lock":"naive"},"choices":["A: request"]}`: "it has 1 choices, and 0 widths",
		`{"world":{"lock":"naive","contenders":-5}}`:          "it has -5 contenders, and there are 1 to 64",
		`{"world":{"lock":"naive","contenders":5000}}`:        "it has 5000 contenders",
		`{"world":{"lock":"naive","faults":-1}}`:              "negative",
		`{"world":{"lock":"naive","kinds":["earthquake"]}}`:   `unknown kind, "earthquake"`,
		`{"world":{"lock":"naive","scripts":[null,["fly"]]}}`: `unknown call in a script, "fly"`,
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := player.ReadTrace(file)
		require.ErrorContains(t, err, file+" is not a trace: ", text)
		require.ErrorContains(t, err, want, text)
	}
	require.ErrorIs(t, testenv.Err(player.ReadTrace(file+".not")), fs.ErrNotExist)
}

// A play does not begin before another one has ended, because both change what belongs to the process.
func TestPlaysRunOneAfterTheOther(t *testing.T) {
	w := player.World{Name: "alone", Lock: steps.Naive(), Contenders: 2}
	var mu sync.Mutex
	var chosen []string // which play has made each choice
	t.Run("side by side", func(t *testing.T) {
		for _, name := range []string{"one", "other"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := player.Play(t, w, func(*player.Point) int {
					mu.Lock()
					chosen = append(chosen, name)
					mu.Unlock()
					for range 2000 { // enough for a choice of the other play
						runtime.Gosched()
					}
					return 0
				})
				require.Nil(t, r.Violation)
			})
		}
	})
	require.Len(t, slices.Compact(chosen), 2, "a play, and then the other")
}

// player.Connect makes a zk.Conn by itself, to save time. Each field of it is what zk.Connect puts there.
func TestAClientIsAsTheLibraryMakesIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		servers, timeout := []string{"127.0.0.1:2181"}, 7*time.Second
		dial := func(string, string, time.Duration) (net.Conn, error) {
			<-over
			return nil, net.ErrClosed
		}
		theirs, _ := testenv.Must2(zk.Connect(servers, timeout, zk.WithDialer(dial), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(100)))(t)
		ours := testenv.Must(player.Connect(servers, timeout, zk.WithDialer(dial), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(100)))(t)
		other := testenv.Must(player.Connect(servers, timeout, zk.WithDialer(dial), zk.WithLogInfo(false)))(t) // shares nothing with ours
		synctest.Wait()
		for i := range reflect.TypeFor[zk.Conn]().NumField() {
			name := reflect.TypeFor[zk.Conn]().Field(i).Name
			field := func(c *zk.Conn) reflect.Value { return reflect.ValueOf(c).Elem().Field(i) }
			want, got := field(theirs), field(ours)
			switch want.Kind() {
			case reflect.Chan, reflect.Map:
				require.Equal(t, want.IsNil(), got.IsNil(), name)
				if !want.IsNil() {
					require.Equal(t, want.Len(), got.Len(), name)
					require.NotEqual(t, field(other).Pointer(), got.Pointer(), "two clients share %s", name)
				}
				if want.Kind() == reflect.Chan {
					require.Equal(t, want.Cap(), got.Cap(), name)
				}
			case reflect.Func:
				require.Equal(t, want.Pointer(), got.Pointer(), name)
			case reflect.Interface:
				require.Equal(t, want.IsNil(), got.IsNil(), name)
				require.True(t, want.IsNil() || want.Elem().Type() == got.Elem().Type(), name)
			case reflect.Slice:
				require.Equal(t, want.Len(), got.Len(), name)
			case reflect.Struct: // a mutex, and nobody is in it
			default:
				require.True(t, want.Equal(got), "%s is %v, and in the library's %v", name, got, want)
			}
		}
		close(over)
		for _, c := range []*zk.Conn{theirs, ours, other} {
			c.Close()
		}
	})
}
