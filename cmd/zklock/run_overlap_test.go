//go:build linux

package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/when"
)

var (
	overlapN       = flag.Int("overlap.n", 1, "how many trials TestTwoCommandsNeverRunAtOnce makes of each fault; give -parallel, too")
	overlapSession = flag.Duration("overlap.session", 4*time.Second, "the session timeout of its trials")
)

// stamps returns the first and the last time in such a file; zero if there is none yet.
func stamps(t *testing.T, file string) (first, last time.Time) {
	text, _ := os.ReadFile(file)
	lines := bytes.Fields(text)
	if len(lines) == 0 {
		return first, last
	}
	at := func(line []byte) time.Time {
		n, err := strconv.ParseInt(string(line), 10, 64)
		require.NoError(t, err)
		return time.Unix(0, n)
	}
	return at(lines[0]), at(lines[len(lines)-1])
}

// A trial is a command that runs under the lock while another one waits for it.
type trial struct {
	*testing.T
	line           *proxy.Proxy // to the server, of the first
	runner, second *program
	leader         int
	guards         []int
}

func (tr *trial) send(s syscall.Signal, pids ...int) {
	for _, pid := range pids {
		require.NoError(tr, syscall.Kill(pid, s))
	}
}

// A fault is what happens to the first command.
type fault struct {
	name string
	do   func(*trial)
	ends bool // the lease ends by that; otherwise the command must go on
}

func (tr *trial) pid() int { return tr.runner.Process.Pid }

var faults = []fault{
	{"network cut", func(tr *trial) { tr.line.Silence(proxy.ToServer, proxy.ToClient) }, true},
	{"network cut, and soon healed", func(tr *trial) {
		tr.line.Silence(proxy.ToServer, proxy.ToClient) // CutOff would cost the client's pause of 1 s, too
		time.Sleep(*overlapSession / 8)                 // of real time: the server's, shorter than what a lease outlasts
		tr.line.Heal()
	}, false},
	{"runner killed", func(tr *trial) { tr.send(syscall.SIGKILL, tr.pid()) }, true},
	{"runner stopped", func(tr *trial) { tr.send(syscall.SIGSTOP, tr.pid()) }, true},
	{"first guard killed", func(tr *trial) { tr.send(syscall.SIGKILL, tr.guards[0]) }, false},
	{"guards stopped, and later continued", func(tr *trial) {
		tr.send(syscall.SIGSTOP, tr.guards...)
		time.Sleep(*overlapSession * 3 / 2) // in which a lease that nobody renews would have ended
		tr.send(syscall.SIGCONT, tr.guards...)
	}, false},
	{"second guard killed", func(tr *trial) { tr.send(syscall.SIGKILL, tr.guards[1]) }, false},
	{"runner and first guard killed", func(tr *trial) { tr.send(syscall.SIGKILL, tr.pid(), tr.guards[0]) }, true},
	{"runner and first guard stopped", func(tr *trial) { tr.send(syscall.SIGSTOP, tr.pid(), tr.guards[0]) }, true},
	{"runner and second guard killed", func(tr *trial) { tr.send(syscall.SIGKILL, tr.guards[1], tr.pid()) }, true},
	{"runner and second guard stopped", func(tr *trial) { tr.send(syscall.SIGSTOP, tr.guards[1], tr.pid()) }, true},
	{"runner stopped, first guard killed", func(tr *trial) {
		tr.send(syscall.SIGSTOP, tr.pid())
		tr.send(syscall.SIGKILL, tr.guards[0])
	}, true},
	{"guards stopped, network cut", func(tr *trial) {
		tr.send(syscall.SIGSTOP, tr.guards...)
		tr.line.Silence(proxy.ToServer, proxy.ToClient)
	}, true},
}

// begin starts the two commands. The first has a shell around it, as most have.
func begin(t *testing.T, server string, conn *zk.Conn, path, first, second string) *trial {
	tr := &trial{T: t, line: proxy.New(t, server)}
	self, err := os.Executable()
	require.NoError(t, err)
	run := func(server, file string) *program {
		return start(t, "run", "-zk", server, "-session", overlapSession.String(), path, "--",
			"sh", "-c", "trap '' TERM INT HUP QUIT; \"$0\" "+stampVerb+" \"$1\" & while :; do wait; done", self, file)
	}
	queued := func(n int) {
		require.Eventually(t, func() bool {
			names, _, err := conn.Children(path)
			return err == nil && len(names) == n
		}, time.Minute, 5*time.Millisecond)
	}
	tr.runner = run(tr.line.Addr(), first)
	appears(t, first)
	for _, pid := range children(t, tr.pid()) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), "__guard") {
			tr.guards = append(tr.guards, pid)
		} else {
			tr.leader = pid
		}
	}
	t.Cleanup(tr.goOn)
	slices.Sort(tr.guards) // in the order in which they were started
	require.Len(t, tr.guards, 2)
	queued(1)
	tr.second = run(server, second)
	queued(2)
	time.Sleep(rand.N(*overlapSession)) // so that the fault meets each part of the lease's cycle
	return tr
}

// runs checks that the first command runs: it makes another stamp.
func (tr *trial) runs(file string) {
	now := time.Now()
	for end := now.Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // looks again: another process stamps
		if _, last := stamps(tr.T, file); last.After(now) {
			return
		}
		if time.Now().After(end) {
			tr.runner.Wait()
			tr.Fatal("it was killed while the lease was good; zklock says:", tr.runner.stderr.String(), tr.runner.ProcessState)
		}
	}
}

// goOn continues what was stopped.
func (tr *trial) goOn() {
	for _, pid := range append(tr.guards, tr.pid()) {
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// finish checks that the first command was dead before the second began, returns the time in
// between, and that nothing is left.
func (tr *trial) finish(first, second string) (spare time.Duration) {
	require.Eventually(tr, func() bool { begun, _ := stamps(tr.T, second); return !begun.IsZero() }, 5**overlapSession+time.Minute, 5*time.Millisecond)
	time.Sleep(200 * time.Millisecond) // ten stamps: a first command that still runs writes some of them
	_, last := stamps(tr.T, first)
	begun, _ := stamps(tr.T, second)
	spare = begun.Sub(last)
	require.Positive(tr, spare, "two commands ran at once")

	others := children(tr.T, tr.second.Process.Pid)
	tr.second.Process.Signal(syscall.SIGTERM)
	tr.second.Process.Signal(syscall.SIGINT) // another one: two that are alike may be taken for one
	require.Equal(tr, 128+int(syscall.SIGKILL), tr.second.status(tr.T))
	tr.goOn()
	tr.line.Heal()
	tr.runner.Wait()
	ended(tr.T, slices.Concat(tr.guards, others, []int{tr.leader})...)
	return spare
}

// TestTwoCommandsNeverRunAtOnce, whatever happens to the first, and a command whose lease is good
// is not killed. It needs a real server, which ends a session late, and not early.
func TestTwoCommandsNeverRunAtOnce(t *testing.T) {
	zoo := locktest.Real(t)
	if zoo == nil {
		t.Skip("in real time, on a real server: ZK=host:port")
	}
	when.NotRaced(t, "it runs other processes")
	server := zoo.Servers()[0]
	conn := connected(t, server)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var spares []time.Duration
			t.Cleanup(func() {
				slices.Sort(spares)
				if len(spares) > 0 {
					t.Logf("%s, %d trials: between the two commands %v to %v", f.name, len(spares),
						spares[0].Round(time.Millisecond), spares[len(spares)-1].Round(time.Millisecond))
				}
			})
			for i := range *overlapN {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					t.Parallel()
					path, dir := fmt.Sprintf("/overlap-%d", rand.Int64()), t.TempDir()
					first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
					tr := begin(t, server, conn, path, first, second)
					began := time.Now()
					f.do(tr)
					if f.ends && f.name == "network cut" {
						time.Sleep(*overlapSession / 4) // a lease has a third of it left, or more
						tr.runs(first)
					}
					if !f.ends {
						time.Sleep(*overlapSession * 3 / 2) // in which a lease that nobody renews would have ended
						tr.runs(first)
						begun, _ := stamps(t, second)
						require.Zero(t, begun)
						tr.send(syscall.SIGKILL, tr.pid())
					}
					spare := tr.finish(first, second)
					require.Less(t, time.Since(began), 6**overlapSession+time.Minute)
					mu.Lock()
					spares = append(spares, spare)
					mu.Unlock()
				})
			}
		})
	}
}

// TestTwoCommandsNeverRunAtOnceIfTheServerStops, and goes on later than the session timeout.
func TestTwoCommandsNeverRunAtOnceIfTheServerStops(t *testing.T) {
	if locktest.Real(t) == nil {
		t.Skip("in real time, on a real server: ZK=host:port")
	}
	when.NotRaced(t, "it runs other processes")
	zoo := servers.ZooKeepers(t, 1)[0]
	conn := connected(t, zoo.Addr)
	var trials []*trial
	dir := t.TempDir()
	file := func(name string, i int) string { return filepath.Join(dir, fmt.Sprint(name, i)) }
	for i := range *overlapN {
		trials = append(trials, begin(t, zoo.Addr, conn, fmt.Sprint("/overlap-", i), file("first", i), file("second", i)))
	}
	zoo.Pause(t)
	time.Sleep(*overlapSession * 3 / 2) // every lease has ended by then
	for i := range trials {
		_, last := stamps(t, file("first", i))
		require.Greater(t, time.Since(last), *overlapSession/8, "the command has outlived the lease")
	}
	zoo.Continue(t)
	for i, tr := range trials {
		t.Log(tr.finish(file("first", i), file("second", i)).Round(time.Millisecond), "between the two commands")
	}
}
