package explore_test

import (
	"net"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/testenv"
)

// TestAClientIsAsTheLibraryMakesIt compares a client of player.Connect with one of zk.Connect, field by field.
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
		other := testenv.Must(player.Connect(servers, timeout, zk.WithDialer(dial), zk.WithLogInfo(false)))(t)
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
