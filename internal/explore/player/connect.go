package player

import (
	"context"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/go-zookeeper/zk"
)

// Connect is zk.Connect, except that it allocates no buffer of 1.5 MB: zk.Connect does so before it
// reads the option for a smaller one. To clear that buffer would take a third of the time of a
// schedule. The goroutines of the client are the library's own.
func Connect(servers []string, timeout time.Duration, options ...func(*zk.Conn)) (*zk.Conn, error) {
	c := new(zk.Conn)
	fields := reflect.ValueOf(c).Elem()
	fields.Set(reflect.ValueOf(blank()).Elem()) // a copy, whose channels and maps must be its own
	set := func(field, to reflect.Value) {      // also an unexported one
		reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(to)
	}
	for i := range fields.NumField() {
		switch f := fields.Field(i); {
		case f.Kind() == reflect.Chan && !f.IsNil():
			set(f, reflect.MakeChan(f.Type(), f.Cap())) // in the bubble of the schedule
		case f.Kind() == reflect.Map && !f.IsNil():
			set(f, reflect.MakeMap(f.Type()))
		}
	}

	hosts := zk.NewDNSHostProvider()
	zk.WithHostProvider(hosts)(c)
	for _, option := range options {
		option(c)
	}
	if err := hosts.Init(zk.FormatServers(servers)); err != nil {
		return nil, err
	}
	setTimeouts(c, int32(timeout/time.Millisecond))
	go func() {
		loop(c, context.Background())
		flushRequests(c, zk.ErrClosing)
		invalidateWatches(c, zk.ErrClosing)
	}()
	return c, nil
}

// blank returns a client that zk.Connect has made and not started.
var blank = sync.OnceValue(func() (made *zk.Conn) {
	zk.Connect([]string{"nowhere"}, 0, zk.WithHostProvider(noHosts{}), zk.WithMaxConnBufferSize(0), func(c *zk.Conn) { made = c })
	return made
})

type noHosts struct{ zk.HostProvider }

func (noHosts) Init([]string) error { return zk.ErrNoServer } // so zk.Connect returns before it starts its goroutines

//go:linkname setTimeouts github.com/go-zookeeper/zk.(*Conn).setTimeouts
func setTimeouts(c *zk.Conn, milliseconds int32)

//go:linkname loop github.com/go-zookeeper/zk.(*Conn).loop
func loop(c *zk.Conn, ctx context.Context)

//go:linkname flushRequests github.com/go-zookeeper/zk.(*Conn).flushRequests
func flushRequests(c *zk.Conn, err error)

//go:linkname invalidateWatches github.com/go-zookeeper/zk.(*Conn).invalidateWatches
func invalidateWatches(c *zk.Conn, err error)
