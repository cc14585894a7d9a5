package zklock_test

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// connect opens a session on a server inside the program. With a ZooKeeper of your own it is
//
//	conn, err := zkconn.Connect(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"}, 10*time.Second)
//
// In a test it is one line: see package zklocktest.
func connect() (conn *zk.Conn, stop func()) {
	srv := zkserver.New()
	anyAddress := []string{"127.0.0.1"} // srv.Dial leads each to the server
	conn = must(zkconn.Connect(context.Background(), anyAddress, 40*time.Second, zkconn.WithDialer(srv.Dial)))
	return conn, func() {
		conn.Close()
		srv.Close()
	}
}

// open is what each of the other examples begins with: a client, and a lock of its path.
func open(path string, options ...zklock.Option) (conn *zk.Conn, m *zklock.Mutex, stop func()) {
	conn, end := connect()
	m = must(zklock.New(conn, path, options...))
	return conn, m, func() {
		m.Shutdown(context.Background()) // before the client is closed
		end()
	}
}

// must returns the value of a call that does not fail in these examples.
func must[V any](value V, err error) V {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleMutex_Lock() {
	conn, stop := connect()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	stock, err := zklock.New(conn, "/locks/stock") // one per process, shared by its goroutines
	if err != nil {
		log.Fatal(err)
	}
	defer stock.Shutdown(context.Background()) // before stop closes the client
	order := zklock.NewOwner("order 1")        // one per line of work

	lease, err := stock.Lock(ctx, order)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("order 1 holds the lock")

	// The same owner may lock again; the lock is released with the last Unlock.
	again := must(stock.Lock(ctx, order))
	fmt.Println("it is the same lock:", lease.Token() == again.Token())
	fmt.Println(again.Unlock(ctx), lease.Unlock(ctx))

	// Output:
	// order 1 holds the lock
	// it is the same lock: true
	// <nil> <nil>
}

func ExampleMutex_TryLock() {
	_, cleanup, stop := open("/locks/cleanup")
	defer stop()
	ctx := context.Background()
	lease := must(cleanup.TryLock(ctx, zklock.NewOwner("the first")))
	defer lease.Unlock(ctx)

	_, err := cleanup.TryLock(ctx, zklock.NewOwner("the second"))
	if errors.Is(err, zklock.ErrHeld) {
		fmt.Println("somebody else cleans up")
	}

	// Output:
	// somebody else cleans up
}

func ExampleMutex_Do() {
	_, stock, stop := open("/locks/stock")
	defer stop()
	items := 3
	err := stock.Do(context.Background(), zklock.NewOwner("order 1"),
		func(ctx context.Context, _ *zklock.Lease) error {
			// Pass ctx on: it ends when the lock is lost.
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			items--
			return nil
		})
	fmt.Println(items, err)

	// Output:
	// 2 <nil>
}

func ExampleMutex_Participants() {
	_, stock, stop := open("/locks/stock", zklock.WithData([]byte("shop 7")))
	defer stop()
	ctx := context.Background()
	lease := must(stock.Lock(ctx, zklock.NewOwner("order 1")))
	for _, p := range must(stock.Participants(ctx)) {
		fmt.Printf("%d: %s of %s\n", p.Position, p.Owner, p.Data)
	}
	fmt.Println(lease.Unlock(ctx))

	// Output:
	// 0: order 1 of shop 7
	// <nil>
}

// A holder that works for long releases the lock when it is asked.
func ExampleMutex_Revoke() {
	_, index, stop := open("/locks/index")
	defer stop()
	ctx := context.Background()
	lease := must(index.Lock(ctx, zklock.NewOwner("rebuild")))
	released := make(chan error)
	go func() {
		<-lease.RevokeRequested() // in its loop, where it can stop
		released <- lease.Unlock(ctx)
	}()

	queue := must(index.Participants(ctx))
	fmt.Println(queue[0].Owner, "is asked to let go:", index.Revoke(ctx, queue[0]))
	fmt.Println("it has:", <-released)

	// Output:
	// rebuild is asked to let go: <nil>
	// it has: <nil>
}

// Stats is published as a variable of package expvar, at /debug/vars.
func ExampleMutex_Stats() {
	_, stock, stop := open("/locks/stock")
	defer stop()
	ctx := context.Background()
	expvar.Publish("stock lock", expvar.Func(func() any { return stock.Stats() }))

	for range 3 {
		check(stock.Do(ctx, nil, func(context.Context, *zklock.Lease) error { return nil }))
	}
	var shown map[string]int64
	check(json.Unmarshal([]byte(expvar.Get("stock lock").String()), &shown))
	fmt.Println("acquired:", shown["Acquired"], "lost:", shown["Lost"], "waiting:", shown["Waiting"])

	// Output:
	// acquired: 3 lost: 0 waiting: 0
}

// A resource is fenced: it refuses writers whose lock somebody else has got in the meantime.
type resource struct {
	highest int64
	value   string
}

func (r *resource) write(token int64, value string) error {
	if token < r.highest {
		return fmt.Errorf("refused %q: its token is too low", value)
	}
	r.highest, r.value = token, value
	return nil
}

func ExampleLease_Token() {
	_, mutex, stop := open("/locks/register")
	defer stop()
	ctx := context.Background()
	var r resource
	var tokens []int64
	for _, name := range []string{"the first", "the second"} {
		check(mutex.Do(ctx, zklock.NewOwner(name), func(_ context.Context, l *zklock.Lease) error {
			tokens = append(tokens, l.Token())
			return r.write(l.Token(), name)
		}))
	}
	// A write of the first holder, which has been on its way all the time.
	fmt.Println(r.write(tokens[0], "the first, late"))
	fmt.Println(r.value)

	// Output:
	// refused "the first, late": its token is too low
	// the second
}

// A Guard fences data in the same ZooKeeper.
func ExampleLease_Guard() {
	conn, config, stop := open("/locks/config")
	defer stop()
	ctx := context.Background()
	must(conn.Create("/config", nil, 0, zk.WorldACL(zk.PermAll)))
	var guards []*zklock.Guard
	for _, name := range []string{"first", "second"} {
		check(config.Do(ctx, nil, func(ctx context.Context, l *zklock.Lease) error {
			g, err := l.Guard(ctx, "/config/guard")
			if err != nil {
				return err
			}
			guards = append(guards, g)
			_, err = g.Set(ctx, "/config", []byte(name), -1)
			return err
		}))
	}
	// A write of the first holder, which has been on its way all the time.
	_, err := guards[0].Set(ctx, "/config", []byte("first, late"), -1)
	fmt.Println(errors.Is(err, zklock.ErrFenced))
	data, _, _ := conn.Get("/config")
	fmt.Printf("%s\n", data)

	// Output:
	// true
	// second
}

func ExampleLease_Lost() {
	conn, stock, stop := open("/locks/stock")
	defer stop()
	ctx := context.Background()
	lease := must(stock.Lock(ctx, zklock.NewOwner("order 1")))

	// Somebody deletes the node. It may as well be the session that expires.
	check(conn.Delete(lease.Node(), -1))

	select {
	case <-lease.Lost():
		fmt.Println("stop, the lock is lost")
	case <-time.After(time.Minute):
		fmt.Println("the work is done")
	}
	if err := lease.Unlock(ctx); errors.Is(err, zklock.ErrLost) {
		fmt.Println("what was done must be looked at")
	}

	// Output:
	// stop, the lock is lost
	// what was done must be looked at
}

// Only a client that has the password may contend.
func ExampleWithACL() {
	conn, stock, stop := open("/locks/stock", zklock.WithACL(zk.DigestACL(zk.PermAll, "shop", "secret")))
	defer stop()
	ctx := context.Background()
	check(conn.AddAuth("digest", []byte("shop:secret")))
	lease := must(stock.Lock(ctx, zklock.NewOwner("order 1")))
	defer lease.Unlock(ctx)
	acl, _, err := conn.GetACL("/locks/stock")
	check(err)
	user, _, _ := strings.Cut(acl[0].ID, ":") // the hash of the password follows
	fmt.Println(acl[0].Scheme, user)

	// Output:
	// digest shop
}
