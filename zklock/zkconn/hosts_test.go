// Tests of how servers are found by their names: look-ups, addresses that change, and the order of the tries.
package zkconn

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// stubLookUp has names looked up by f for the rest of a test.
func stubLookUp(t *testing.T, f func(ctx context.Context, host string) ([]string, error)) {
	usual := lookupHost
	lookupHost = f
	t.Cleanup(func() { lookupHost = usual })
}

func noSuchHost(host string) error {
	return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func TestANameThatDoesNotExistDoesNotHideTheOthers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		stubLookUp(t, func(_ context.Context, host string) ([]string, error) {
			if host == "gone" {
				return nil, noSuchHost(host)
			}
			return []string{"192.0.2.1", "2001:db8::1"}, nil
		})
		line := &bubble.Line{Server: zkserver.Run(t)}
		began := time.Now()
		var log testenv.Buffer
		servers := []string{"gone:2181", " zk:2182\n"}
		conn := testenv.Must(Connect(within(t, time.Minute), servers, sessionTimeout, WithDialer(line.Dial), logTo(&log)))(t)
		defer conn.Close()
		require.Zero(t, time.Since(began))
		require.Subset(t, []string{"192.0.2.1:2182", "[2001:db8::1]:2182"}, []string{conn.Server()})
		require.Len(t, line.Dialed(), 1)
		for range 3 {
			line.Server.Cut(conn.SessionID())
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, 1, strings.Count(log.String(), `a server's name has no address" server=gone:2181 err="lookup gone: no such host"`), &log)
		require.NotContains(t, log.String(), "server=zk")
	})
}

// Connect waits for all other names together, and not for each of them: many that are looked up slowly, one after the
// other, would keep it from an address that it has, and so would a name server that hangs.
func TestConnectWaitsForAllOtherNamesTogether(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		takes := map[string]time.Duration{"zk0": 0, "zk1": lookUpWait * 9 / 10, "zk2": lookUpWait * 18 / 10}
		stubLookUp(t, func(_ context.Context, host string) ([]string, error) {
			time.Sleep(takes[host])
			return []string{"192.0.2.1"}, nil
		})
		began := time.Now()
		open(t, []string{"zk0:2181", "zk1:2181", "zk2:2181"}, zk.WithDialer(zkserver.Run(t).Dial))
		require.Equal(t, lookUpWait, time.Since(began))
		time.Sleep(lookUpLimit) // until the last look-up ends
	})
}

func TestConnectEndsWithCtxAndSaysWhatBecameOfTheName(t *testing.T) {
	for want, lookUp := range map[string]func() ([]string, error){
		"(zk:2181: its addresses are being looked up)": func() ([]string, error) {
			time.Sleep(time.Minute) // it does not look at ctx
			return nil, context.Canceled
		},
		"(zk:2181: lookup zk: server misbehaving)": func() ([]string, error) {
			return nil, &net.DNSError{Err: "server misbehaving", Name: "zk", IsTemporary: true}
		},
		"(192.0.2.1:2181: connection refused)": func() ([]string, error) { return []string{"192.0.2.1"}, nil },
	} {
		bubble.Test(t, func(t *testing.T) {
			stubLookUp(t, func(context.Context, string) ([]string, error) { return lookUp() })
			began := time.Now()
			_, err := Connect(within(t, 450*time.Millisecond), []string{"zk:2181"}, sessionTimeout, WithDialer(func(string, string, time.Duration) (net.Conn, error) {
				return nil, errors.New("connection refused")
			}))
			require.LessOrEqual(t, time.Since(began), 450*time.Millisecond+time.Second)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "zkconn: connect to zk:2181: no session after ")
			require.ErrorContains(t, err, want)
			time.Sleep(time.Minute) // until the look-up ends
		})
	}
}

// A slowProvider looks its names up for long, and does not know of a ctx.
type slowProvider struct{ zk.HostProvider }

func (p slowProvider) Init(servers []string) error {
	time.Sleep(3 * time.Second)
	return p.HostProvider.Init(servers)
}

func TestConnectEndsWithCtxThoughAHostProviderOfTheCallersDoesNot(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		began, slow := time.Now(), WithZK(zk.WithHostProvider(slowProvider{zk.NewDNSHostProvider()}))
		_, err := Connect(within(t, 100*time.Millisecond), servers, sessionTimeout, slow, WithDialer(srv.Dial))
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Minute) // until it has ended
		require.Empty(t, srv.Sessions())
	})
}

func TestConnectFailsAtOnceIfNoNameExists(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		stubLookUp(t, func(_ context.Context, host string) ([]string, error) { return nil, noSuchHost(host) })
		began := time.Now()
		_, err := Connect(t.Context(), []string{"zk1", "zk2:2181"}, sessionTimeout)
		require.Zero(t, time.Since(began))
		var dns *net.DNSError
		require.ErrorAs(t, err, &dns)
		require.ErrorContains(t, err, "lookup zk1: no such host")
		require.ErrorContains(t, err, "lookup zk2: no such host")
		require.NotContains(t, err.Error(), "\n")
	})
}

func TestConnectWaitsForANameServer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var lookUps atomic.Int32
		stubLookUp(t, func(_ context.Context, host string) ([]string, error) {
			if lookUps.Add(1) < 3 {
				return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
			}
			return []string{"192.0.2.1"}, nil
		})
		began := time.Now()
		open(t, []string{"zk:2181"}, zk.WithDialer(zkserver.Run(t).Dial))
		require.Equal(t, 2*lookUpPause, time.Since(began))
	})
}

// A client that reconnects twice while a look-up of its name hangs does not begin another one.
func TestANameIsLookedUpOnceAtATime(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var lookUps atomic.Int32
		stubLookUp(t, func(ctx context.Context, host string) ([]string, error) {
			if lookUps.Add(1) > 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []string{"192.0.2.1"}, nil
		})
		conn := open(t, []string{"zk:2181"}, zk.WithDialer(srv.Dial))
		for range 2 { // within the time of one look-up
			srv.Cut(conn.SessionID())
			time.Sleep(lookUpLimit / 2)
			require.Equal(t, zk.StateHasSession, conn.State())
		}
		require.EqualValues(t, 2, lookUps.Load())
		time.Sleep(lookUpLimit) // until it ends
	})
}

// A client finds servers that have moved, as pods of Kubernetes do, after Connect's ctx has ended.
func TestServersThatHaveMovedAreFound(t *testing.T) {
	for name, servers := range map[string][]string{
		"one name, one address":                       {"zk0:2181"},
		"a name for each of three":                    {"zk0:2181", "zk1:2181", "zk2:2181"},
		"one name for all three":                      {"zk:2181"},
		"one name for all three, and a fixed address": {"zk:2181", "198.51.100.1:2181"},
	} {
		bubble.ServeCase(t, name, func(t *testing.T, srv *zkserver.Server) {
			var moved atomic.Bool // to 203.0.113
			stubLookUp(t, func(ctx context.Context, host string) ([]string, error) {
				prefix := "192.0.2."
				if moved.Load() {
					prefix = "203.0.113."
				}
				time.Sleep(10 * time.Millisecond)
				if host == "zk" {
					return []string{prefix + "0", prefix + "1", prefix + "2"}, ctx.Err()
				}
				return []string{prefix + host[2:]}, ctx.Err()
			})
			conn := open(t, servers, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				if strings.HasPrefix(address, "203.0.113.") != moved.Load() {
					time.Sleep(timeout)
					return nil, errors.New("i/o timeout")
				}
				return srv.Dial(network, address, timeout)
			}))
			session := conn.SessionID()
			for range 2 {
				moved.Store(!moved.Load())
				cut := time.Now()
				srv.Cut(session)
				untilDone(t, func() error { _, _, err := conn.Get("/"); return err })
				require.Equal(t, session, conn.SessionID())
				const oldAddress, pause, polls = time.Second, time.Second, 50 * time.Millisecond // a dead one is tried first
				require.LessOrEqual(t, time.Since(cut), pause+oldAddress+againWatches+polls)
			}
		})
	}
}

// The three known addresses are tried in turn. A fourth one that a look-up finds is tried before them.
func TestNewAddressesAreTriedFirstAndTheKnownOnesInTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		now := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}
		h := &hosts{ctx: t.Context(), client: newClient(sessionTimeout), lookupHost: func(context.Context, string) ([]string, error) { return now, nil }}
		require.NoError(t, h.Init([]string{"zk:1"}))
		next := func() string { server, _ := h.Next(); return server }
		order := []string{next(), next(), next()}
		require.Equal(t, order[0], next()) // a new round, which begins a look-up
		h.Connected()
		synctest.Wait() // the look-up ends, and has found nothing new
		now = []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}
		require.Equal(t, order[1], next()) // the connection is lost, which begins a look-up
		synctest.Wait()                    // it ends, and has found the fourth
		require.Equal(t, []string{"192.0.2.4:1", order[2], order[0], order[1]}, []string{next(), next(), next(), next()})
	})
}

func TestKnownAddressesStayIfALookUpFails(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var down atomic.Bool
		stubLookUp(t, func(_ context.Context, host string) ([]string, error) {
			if down.Load() {
				return nil, noSuchHost(host)
			}
			return []string{"192.0.2.1", "192.0.2.2"}, nil
		})
		line := &bubble.Line{Server: srv}
		conn := open(t, []string{"zk:2181"}, zk.WithDialer(line.Dial))
		session := conn.SessionID()
		down.Store(true)
		for range 4 {
			srv.Cut(session)
			time.Sleep(1100 * time.Millisecond) // more than the pause of a client that has tried all addresses
			require.Equal(t, zk.StateHasSession, conn.State())
			require.Equal(t, session, conn.SessionID())
		}
		require.Len(t, line.Dialed(), 5)
		require.NotEqual(t, line.Dialed()[0], line.Dialed()[1])
	})
}

// Names are looked up when a search for a server begins, and begins again from the start, and not for each address.
func TestNamesAreLookedUpOnceInARound(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		var lookUps atomic.Int32
		stubLookUp(t, func(_ context.Context, host string) ([]string, error) {
			lookUps.Add(1)
			return []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, nil
		})
		var refuse atomic.Int32
		conn := open(t, []string{"zk:2181"}, zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			if refuse.Add(-1) >= 0 {
				time.Sleep(time.Millisecond) // the look-up ends
				return nil, errors.New("connection refused")
			}
			return srv.Dial(network, address, timeout)
		}))
		require.EqualValues(t, 1, lookUps.Load())
		refuse.Store(2 + 3 + 3) // the other two addresses, and two rounds of all three; in the third round one serves
		srv.Cut(conn.SessionID())
		time.Sleep(10 * time.Second)
		require.Equal(t, zk.StateHasSession, conn.State())
		require.EqualValues(t, 1+1+3, lookUps.Load()) // Connect's, one when the search begins, and one for each round
	})
}

func TestAddressesNeedNoLookUp(t *testing.T) {
	stubLookUp(t, func(_ context.Context, host string) ([]string, error) {
		t.Errorf("%s is looked up", host)
		return nil, noSuchHost(host)
	})
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, []string{"192.0.2.1:2181", "[2001:db8::1]:2181", "[fe80::1%eth0]:2181", "192.0.2.2"}, zk.WithDialer(srv.Dial))
		for range 10 {
			srv.Cut(conn.SessionID())
			time.Sleep(3 * time.Second)
			require.Equal(t, zk.StateHasSession, conn.State())
		}
	})
}

func TestANameIsLookedUpByTheSystem(t *testing.T) {
	addr := zkserver.Run(t).Addr()
	_, port := testenv.Must2(net.SplitHostPort(addr))(t)
	open(t, []string{net.JoinHostPort("localhost", port)})
}

// A third of the session timeout is for the handshakes with all three addresses that one name has.
func TestPatienceIsDividedByAddressesAndNotByNames(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		stubLookUp(t, func(context.Context, string) ([]string, error) {
			return []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, nil
		})
		began := time.Now()
		open(t, []string{"zk:2181"}, zk.WithDialer(muteThenDial(2, srv.Dial, saysNothing)))
		const first = sessionTimeout / 3 / 3
		require.Equal(t, first+first*3/2, time.Since(began)) // the second address gets one and a half times as long
	})
}
