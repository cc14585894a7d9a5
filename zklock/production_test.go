package zklock_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

var productionPages = []string{"../docs/production.md", "../docs/production.zh-CN.md"}

// A branch is where clients with a session timeout use a lock in virtual time.
type branch struct {
	*table
	timeout time.Duration
	tap     *wiretap.Tap
}

// client opens a client, and the line to its server.
func (s *branch) client() (*zk.Conn, *bubble.Line) {
	line := &bubble.Line{Server: s.srv}
	conn, err := zkconn.Connect(context.Background(), three, s.timeout,
		zkconn.WithZK(zk.WithMaxConnBufferSize(1<<16)), zkconn.WithDialer(s.tap.Dialer(line.Dial)))
	require.NoError(s, err)
	s.Cleanup(conn.Close)
	return conn, line
}

// lock holds the lock at a path, or waits for it, aside.
func (s *branch) lock(conn *zk.Conn, path string) <-chan locked {
	m := testenv.Must(zklock.New(conn, path))(s)
	return queues(m)
}

// idle counts the requests and pings per second while nothing happens.
func (s *branch) idle() float64 {
	time.Sleep(2 * s.timeout)
	const periods = 12
	before := s.tap.Counts()
	time.Sleep(periods * s.timeout)
	return float64(sum(s.tap.Counts().Since(before).Requests)) / (periods * s.timeout).Seconds()
}

func TestProductionSaysWhatASessionTimeoutCosts(t *testing.T) {
	testenv.NotRaced(t, "it plays hundreds of locks")
	var rows strings.Builder
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, 30 * time.Second} {
		on := func(play func(s *branch)) {
			onTable(t, func(tb *table) { play(&branch{tb, timeout, wiretap.New()}) })
		}
		least, most := time.Hour, time.Duration(0)
		for phase := range 8 {
			on(func(s *branch) {
				holder, line := s.client()
				<-s.lock(holder, top)
				other, _ := s.client()
				next := s.lock(other, top)
				time.Sleep(timeout + timeout*time.Duration(phase)/8)
				line.Down.Store(true)
				s.srv.Cut(holder.SessionID())
				began := time.Now()
				<-next
				least, most = min(least, time.Since(began)), max(most, time.Since(began))
			})
		}
		var session, holder, holders, waiter float64
		on(func(s *branch) {
			conn, _ := s.client()
			session = s.idle()
			s.lock(conn, top)
			holder = s.idle() - session
			for i := range 99 {
				s.lock(conn, fmt.Sprintf("%s-%d", top, i))
			}
			holders = s.idle() - session
		})
		on(func(s *branch) {
			come := func(n int) {
				for range n {
					conn, _ := s.client()
					s.lock(conn, top)
				}
			}
			come(10)
			before := s.idle()
			come(20)
			waiter = (s.idle() - before) / 20
		})
		var stops time.Duration
		on(func(s *branch) { // what the leader does
			conn, _ := s.client()
			m := testenv.Must(zklock.New(conn, top))(s)
			ctx, stop := context.WithCancel(context.Background())
			done := aside(func() error {
				return m.Do(ctx, nil, func(ctx context.Context, _ *zklock.Lease) error { <-ctx.Done(); return nil })
			})
			time.Sleep(timeout)
			silence := s.srv.Hold(func(zkserver.Request) bool { return true }).Every()
			began := time.Now()
			stop()
			require.NoError(s, <-done)
			m.Shutdown(limited(s.table, 5*time.Second))
			conn.Close()
			stops = time.Since(began)
			silence.Release()
		})
		fmt.Fprintf(&rows, "| %v | %v | %.1f–%.1f s | %.2f | %.2f | %.0f | %.2f | %.1f s |\n", timeout, timeout/2,
			least.Seconds(), most.Seconds(), session, session+holder, session+holders, waiter, stops.Seconds())
	}
	site.HoldsBoth(t, "docs/production.md", "session timeouts", i18n.Same(rows.String()))
}

// TestProductionHasEveryError: both editions have each exported error of zklock and zkconn,
// and each other text in the table is part of a message.
func TestProductionHasEveryError(t *testing.T) {
	library := testenv.Must(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-zookeeper/zk").Output())(t)
	sources := context.DeadlineExceeded.Error()
	for _, file := range []string{"/conn.go", "/constants.go"} {
		text := testenv.Must(os.ReadFile(strings.TrimSpace(string(library)) + file))(t)
		sources += string(text)
	}
	var names []string
	for _, dir := range []string{".", "zkconn", "internal/client"} {
		entries := testenv.Must(os.ReadDir(dir))(t)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			text := testenv.Must(os.ReadFile(dir + "/" + e.Name()))(t)
			sources += string(text)
			if dir == "internal/client" {
				continue
			}
			file := testenv.Must(parser.ParseFile(token.NewFileSet(), e.Name(), text, parser.SkipObjectResolution))(t)
			ast.Inspect(file, func(n ast.Node) bool {
				if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].IsExported() && strings.HasPrefix(v.Names[0].Name, "Err") {
					names = append(names, file.Name.Name+"."+v.Names[0].Name)
				}
				return true
			})
		}
	}
	require.Contains(t, names, "zklock.ErrLost")
	for _, page := range productionPages {
		text := testenv.Must(os.ReadFile(page))(t)
		table := string(text[bytes.LastIndex(text, []byte("\n## ")):])
		for _, name := range names {
			require.True(t, strings.Contains(table, "\n| `"+name+"` |"), "%s: the table of errors lacks %s", page, name)
		}
		for _, row := range regexp.MustCompile("(?m)^\\| `([^|]*?) \\|").FindAllStringSubmatch(table, -1) {
			for i, said := range strings.Split(row[1], "`") {
				if i%2 == 0 && !strings.HasPrefix(said, "zklock.Err") && said != "Lock" && said != "Unlock" && said != "Shutdown" {
					require.True(t, strings.Contains(sources, said), "%s: no message has the text %q", page, said)
				}
			}
		}
	}
}

// TestProductionHasEveryCount: both editions name each field of Stats.
func TestProductionHasEveryCount(t *testing.T) {
	for _, page := range productionPages {
		text := testenv.Must(os.ReadFile(page))(t)
		for _, f := range reflect.VisibleFields(reflect.TypeFor[zklock.Stats]()) {
			row := regexp.MustCompile("(?m)^\\| `zklock_[a-z_]+` \\| [a-z]+ \\| `" + f.Name + "`")
			require.True(t, row.Match(text), "%s: the table of metrics lacks %s", page, f.Name)
		}
	}
}
