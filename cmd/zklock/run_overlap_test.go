//go:build linux

// Trials of run in real time: whatever happens to the first command, the next one begins after its end. The first has a
// runner, which is zklock in a process of its own, and two guards. Each of these ends the command when the lease ends.
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
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
)

var (
	overlapN       = flag.Int("overlap.n", 1, "trials of each fault in TestTwoCommandsNeverRunAtOnce; give -parallel, too")
	overlapSession = flag.Duration("overlap.session", 4*time.Second, "the session timeout of its trials")
)

func pastLease() time.Duration { return *overlapSession * 3 / 2 } // far longer than a lease that nobody renews lasts

// stamps returns the first and the last time in a file that a command stamps; zero if there is none yet.
func stamps(file string) (first, last time.Time) {
	text, _ := os.ReadFile(file)
	if lines := bytes.Fields(text); len(lines) > 0 {
		var from, to int64
		fmt.Sscan(string(lines[0])+" "+string(lines[len(lines)-1]), &from, &to)
		first, last = time.Unix(0, from), time.Unix(0, to)
	}
	return first, last
}

// A trial is a command that runs under the lock while another one waits for it.
type trial struct {
	*testing.T
	server         *servers.ZooKeeper // nil: it is that of other tests
	line           *proxy.Proxy       // to the server, of the first
	first, next    string             // the files that the two stamp
	runner, second *program           // of the first command and of the second
	guards         []int              // of the first
}

func (tr *trial) send(s syscall.Signal, pids ...int) {
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil {
			testenv.Spoiled(tr.T, "a process of the first command has ended before the fault: "+err.Error())
		}
	}
}

// A fault is what happens to the first command.
type fault struct {
	name         string
	do           func(*trial)
	ends         bool // the lease ends by that; otherwise the command must go on
	mustRunOn    bool // although the lease ends, the command must run until then
	ofTheServers bool // it needs a server of its own
}

func (tr *trial) pid() int { return tr.runner.Process.Pid }

var faults = []fault{
	{name: "network cut", ends: true, mustRunOn: true, do: func(tr *trial) { tr.line.Silence(proxy.ToServer, proxy.ToClient) }},
	{name: "network cut, and soon healed", do: func(tr *trial) {
		tr.line.Silence(proxy.ToServer, proxy.ToClient) // CutOff would cost the client's pause of 1 s, too
		time.Sleep(*overlapSession / 8)                 // of real time: the server's, shorter than what a lease outlasts
		tr.line.Heal()
	}},
	{name: "runner killed", ends: true, do: func(tr *trial) { tr.send(syscall.SIGKILL, tr.pid()) }},
	{name: "runner stopped", ends: true, do: func(tr *trial) { tr.send(syscall.SIGSTOP, tr.pid()) }},
	{name: "first guard killed", do: func(tr *trial) { tr.send(syscall.SIGKILL, tr.guards[0]) }},
	{name: "guards stopped, and later continued", do: func(tr *trial) {
		tr.send(syscall.SIGSTOP, tr.guards...)
		time.Sleep(pastLease()) // of real time: the processes and the server are real
		tr.send(syscall.SIGCONT, tr.guards...)
	}},
	{name: "second guard killed", do: func(tr *trial) { tr.send(syscall.SIGKILL, tr.guards[1]) }},
	{name: "runner and first guard killed", ends: true, do: func(tr *trial) { tr.send(syscall.SIGKILL, tr.pid(), tr.guards[0]) }},
	{name: "runner and first guard stopped", ends: true, do: func(tr *trial) { tr.send(syscall.SIGSTOP, tr.pid(), tr.guards[0]) }},
	{name: "runner and second guard killed", ends: true, do: func(tr *trial) { tr.send(syscall.SIGKILL, tr.guards[1], tr.pid()) }},
	{name: "runner and second guard stopped", ends: true, do: func(tr *trial) { tr.send(syscall.SIGSTOP, tr.guards[1], tr.pid()) }},
	{name: "runner stopped, first guard killed", ends: true, do: func(tr *trial) {
		tr.send(syscall.SIGSTOP, tr.pid())
		tr.send(syscall.SIGKILL, tr.guards[0])
	}},
	{name: "guards stopped, network cut", ends: true, do: func(tr *trial) {
		tr.send(syscall.SIGSTOP, tr.guards...)
		tr.line.Silence(proxy.ToServer, proxy.ToClient)
	}},
	{name: "server stopped", ends: true, ofTheServers: true, do: func(tr *trial) {
		tr.server.Pause(tr)
		time.Sleep(pastLease()) // of real time, as above: by then nobody has renewed it
		_, last := stamps(tr.first)
		require.Greater(tr, time.Since(last), *overlapSession/8, "the command has outlived the lease")
		tr.server.Continue(tr)
	}},
}

// begin starts the two commands. The first has a shell around it, as most have.
func begin(t *testing.T, server string, own *servers.ZooKeeper, conn *zk.Conn) *trial {
	path, dir := fmt.Sprintf("/overlap-%d", rand.Int64()), t.TempDir()
	tr := &trial{T: t, server: own, line: proxy.New(t, server)}
	tr.first, tr.next = filepath.Join(dir, "first"), filepath.Join(dir, "next")
	const stampInBackground = "trap '' TERM INT HUP QUIT; \"$0\" " + stampVerb + " \"$1\" & while :; do wait; done"
	run := func(server, file string) *program {
		return start(t, "run", "-zk", server, "-session", overlapSession.String(), path, "--",
			"sh", "-c", stampInBackground, testenv.Must(os.Executable())(t), file)
	}
	awaitQueue := func(n int) {
		for began, names := time.Now(), []string(nil); len(names) != n; time.Sleep(50 * time.Millisecond) { // of real time
			tr.requireAlive()
			require.Less(t, time.Since(began), patience, "%d in the queue", n)
			names, _, _ = conn.Children(path) // polled: nothing tells of a real process that ends
		}
	}
	tr.runner = run(tr.line.Addr(), tr.first)
	waitForFile(t, tr.first)
	for _, pid := range tr.runner.family(t) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), "__guard") {
			tr.guards = append(tr.guards, pid)
		}
	}
	t.Cleanup(tr.continueAll)
	slices.Sort(tr.guards) // in the order in which they were started
	require.Len(t, tr.guards, 2)
	awaitQueue(1)
	tr.second = run(server, tr.next)
	awaitQueue(2)
	time.Sleep(rand.N(*overlapSession)) // so that the fault meets each part of the lease's cycle
	tr.requireAlive()
	return tr
}

// requireAlive checks that the runner runs. If it has lost the lock because the machine stopped, the trial is repeated.
func (tr *trial) requireAlive() {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tr.pid()))
	if isZombie := strings.Contains(string(text), ") Z "); !isZombie {
		return
	}
	tr.runner.Wait()
	said := tr.runner.stderr.String()
	if strings.Contains(said, "the lock was lost") || strings.Contains(said, "the lease had less than -grace") {
		testenv.Spoiled(tr.T, "the lease was not renewed in time")
	}
	tr.Fatal("it was killed while the lease was good; zklock says:", said, tr.runner.ProcessState)
}

// requireStamp checks that the first command runs: it makes another stamp.
func (tr *trial) requireStamp() {
	now := time.Now()
	for last := now; !last.After(now); time.Sleep(20 * time.Millisecond) { // only its file tells what it does
		tr.requireAlive()
		require.Less(tr, time.Since(now), patience, "it writes no stamp")
		_, last = stamps(tr.first)
	}
}

func (tr *trial) continueAll() {
	for _, pid := range append(tr.guards, tr.pid()) {
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// requireNoOverlap checks that the first command was dead before the second began, and that nothing is left.
func (tr *trial) requireNoOverlap() {
	begins := func() bool { first, _ := stamps(tr.next); return !first.IsZero() }
	longest := 5**overlapSession + time.Minute // far longer than a session outlasts its client, for a busy machine
	require.Eventually(tr, begins, longest, 5*time.Millisecond)
	time.Sleep(200 * time.Millisecond) // ten stamps: a first command that still runs writes some of them
	_, last := stamps(tr.first)
	begun, _ := stamps(tr.next)
	tr.Log("between the two commands:", begun.Sub(last))
	require.Positive(tr, begun.Sub(last), "two commands ran at once")

	tr.second.Process.Signal(syscall.SIGTERM) // which the command ignores: run kills it at a second signal
	tr.second.Process.Signal(syscall.SIGINT)  // another one: two that are alike may be taken for one
	require.Equal(tr, 128+int(syscall.SIGKILL), tr.second.awaitStatus(tr.T))
	tr.continueAll()
	tr.line.Heal()
	tr.runner.Wait()
	waitForEnd(tr.T, tr.runner.family(tr.T)...)
	require.Empty(tr, tr.second.family(tr.T))
}

// TestTwoCommandsNeverRunAtOnce, whatever happens to the first, and a command whose lease is good
// is not killed. It needs a real server, which ends a session late, and not early.
func TestTwoCommandsNeverRunAtOnce(t *testing.T) {
	zoo := locktest.Real(t)
	if zoo == nil {
		t.Skip("in real time, on a real server: ZK=host:port")
	}
	testenv.NotRaced(t, "it runs other processes")
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			server, own := zoo.Servers()[0], (*servers.ZooKeeper)(nil)
			if f.ofTheServers {
				own = servers.ZooKeepers(t, 1)[0]
				server = own.Addr
			}
			conn := connected(t, server)
			for i := range *overlapN {
				play := func(t *testing.T) {
					tr := begin(t, server, own, conn)
					f.do(tr)
					if f.mustRunOn {
						time.Sleep(*overlapSession / 8) // of real time; the lease had 7/24 of it left, or more: now a sixth
						tr.requireStamp()
					}
					if !f.ends {
						time.Sleep(pastLease()) // in which the lease is renewed
						tr.requireStamp()
						begun, _ := stamps(tr.next)
						require.Zero(t, begun)
						tr.send(syscall.SIGKILL, tr.pid())
					}
					tr.requireNoOverlap()
				}
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					if !f.ofTheServers { // all trials with this server would be stopped together
						t.Parallel()
					}
					testenv.Again(t, play)
				})
			}
		})
	}
}
