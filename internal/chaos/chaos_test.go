//go:build linux

// What a run with faults is made of: client processes, lanes of faults, and checks; and the run on a sound ZooKeeper.
package chaos_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
)

var (
	chaosFor     = flag.Duration("chaos.for", 20*time.Second, "how `long` there are faults")
	chaosCaching = flag.Duration("chaos.caching", 0, "for how `long` the clients keep a node that nobody needs; then each session is nearly alone for a while")
	chaosSeed    = flag.Uint64("chaos.seed", 0, "the `seed` of the faults and of the clients; 0: a random one")
)

const (
	processes      = 3
	contendersEach = 17 // in each process
	sessionTimeout = 4 * time.Second
	leeway         = 5 * time.Minute // for a busy machine
)

// chaos is one run: the client processes, the faults, and what the clients have reported.
type chaos struct {
	*testing.T
	seed     uint64
	admin    *zk.Conn
	root     string // the node that has the locks, the registers and the logs
	clients  []*clientProcess
	sessions int           // of each process
	patience time.Duration // for the round after the last fault

	mu      sync.Mutex // guards what follows
	records []record
	faults  []pastFault
}

type clientProcess struct {
	cmd        *exec.Cmd
	in         io.Writer     // takes commands, see obey
	firstRound chan struct{} // gets a value when a contender's first round is over
	ended      chan error
}

// newChaos starts client processes, and waits for their first round. Process i reaches the servers by addresses[i].
func newChaos(t *testing.T, seed uint64, config clientConfig, addresses [processes][]string) *chaos {
	root := "/chaos-" + strconv.FormatUint(seed, 36) + "-" + strconv.FormatInt(now(), 36)
	c := &chaos{T: t, seed: seed, sessions: len(config.Ordinary), root: root}
	ctx, cancel := context.WithTimeout(t.Context(), leeway)
	defer cancel()
	c.admin = testenv.Must(zkconn.Connect(ctx, config.Zoo, 40*time.Second))(t)
	t.Cleanup(c.admin.Close)
	nodes := []string{c.root}
	for _, path := range paths {
		nodes = append(nodes, c.root+"/register-"+path, c.root+"/log-"+path)
	}
	for _, node := range nodes {
		testenv.Must(c.admin.Create(node, []byte("{}"), 0, zk.WorldACL(zk.PermAll)))(t)
	}
	self := testenv.Must(os.Executable())(t) // TestMain runs it as a client process
	for i := range processes {
		own := config
		own.Process, own.Servers, own.Root, own.Seed = i, addresses[i], c.root, seed
		text, _ := json.Marshal(own)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), clientEnv+"="+string(text))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Stderr = os.Stderr
		in := testenv.Must(cmd.StdinPipe())(t)
		out := testenv.Must(cmd.StdoutPipe())(t)
		require.NoError(t, cmd.Start())
		p := &clientProcess{cmd: cmd, in: in, firstRound: make(chan struct{}, contendersEach), ended: make(chan error, 1)}
		c.clients = append(c.clients, p)
		t.Cleanup(func() { cmd.Process.Kill() })
		go func() {
			c.collect(out, p, fmt.Sprintf("process %d", i))
			p.ended <- cmd.Wait()
		}()
	}

	began := time.Now()
	for _, p := range c.clients {
		for range contendersEach {
			select {
			case <-p.firstRound:
			case err := <-p.ended:
				t.Fatalf("a client process has ended: %v", err)
			}
		}
	}
	const slowly = 3 // times as slow as without faults the last round may be
	c.patience = leeway + slowly*time.Since(began)
	return c
}

// collect keeps the records of a client process, whose name is that of records without an owner.
func (c *chaos) collect(out io.Reader, p *clientProcess, name string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			r = record{Kind: "problem", How: fmt.Sprintf("it said %q", lines.Text())}
		}
		if r.Kind == "first round" {
			p.firstRound <- struct{}{}
			continue
		}
		r.Owner = cmp.Or(r.Owner, name)
		c.mu.Lock()
		c.records = append(c.records, r)
		c.mu.Unlock()
	}
}

// A fault is something that goes wrong for some time.
type fault struct {
	name       string
	begin, end func(ctx context.Context) error
	lasts      time.Duration // from begin to end
}

// A pastFault is a fault that is over. Its times are those of the records.
type pastFault struct {
	Lane, Name string
	Start, End int64
}

// A lane makes one fault after another.
type lane struct {
	name  string
	next  func(*rand.Rand) fault
	after func()        // called after each fault; may be nil
	pause time.Duration // the longest, between two faults
}

// play makes faults in all lanes at once, for a time, and then for up to leeway longer until shows returns true.
func (c *chaos) play(d time.Duration, shows func() bool, lanes ...lane) {
	ctx, began := c.Context(), time.Now()
	over := func() bool {
		took := time.Since(began)
		return took > d+leeway || took > d && shows()
	}
	var wg sync.WaitGroup
	for i, l := range lanes {
		rng := rand.New(rand.NewPCG(c.seed, uint64(i)))
		wg.Go(func() {
			for !over() && ctx.Err() == nil {
				c.makeFault(ctx, l.name, l.next(rng))
				if l.after != nil {
					l.after()
				}
				time.Sleep(time.Duration(rng.Int64N(int64(l.pause)))) // the time of a fault is random, too
			}
		})
	}
	wg.Wait()
}

// finish lets each contender lock once more, and returns when all clients have been closed.
func (c *chaos) finish() {
	c.Logf("no more faults; each contender must get both locks within %v", c.patience.Round(time.Millisecond))
	began, last := time.Now(), now()+int64(c.patience)
	for _, p := range c.clients {
		fmt.Fprintf(p.in, "finish %d\n", last)
	}
	for i, p := range c.clients {
		select {
		case err := <-p.ended:
			assert.NoError(c, err, "process %d", i)
		case <-time.After(c.patience + 4*leeway): // Shutdown of each Mutex may take one leeway
			p.cmd.Process.Signal(syscall.SIGQUIT) // the process prints its stacks
			c.Errorf("process %d does not end", i)
			<-p.ended
		}
	}
	c.Logf("after %v all had got both locks, and had closed their clients", time.Since(began).Round(time.Millisecond))
}

// makeFault begins a fault, ends it, and keeps it for the history.
func (c *chaos) makeFault(ctx context.Context, inLane string, f fault) {
	begin := now()
	c.Logf("%s for %v", f.name, f.lasts.Round(time.Millisecond))
	err := f.begin(ctx)
	if err == nil {
		time.Sleep(f.lasts)
	}
	if f.end != nil {
		err = errors.Join(err, f.end(ctx))
	}
	if err != nil {
		c.Logf("%s: %v", f.name, err) // the server may not run, for example
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, pastFault{inLane, f.name, begin, now()})
}

// clientFault stops a process, or has it cut or end one of its sessions.
func (c *chaos) clientFault(rng *rand.Rand) fault {
	n := rng.IntN(processes)
	p := c.clients[n]
	ofSession := func(verb string) fault {
		command := fmt.Sprintf("%s %d", verb, rng.IntN(c.sessions))
		send := func(context.Context) error { return testenv.Err(fmt.Fprintln(p.in, command)) }
		return fault{name: fmt.Sprintf("process %d: %s", n, command), begin: send}
	}
	switch rng.IntN(4) {
	case 0:
		signal := func(s syscall.Signal) func(context.Context) error {
			return func(context.Context) error { return p.cmd.Process.Signal(s) }
		}
		return fault{name: fmt.Sprintf("process %d is stopped", n),
			begin: signal(syscall.SIGSTOP), end: signal(syscall.SIGCONT), lasts: clientFaultLasts(rng)}
	case 1:
		return ofSession("expire")
	default: // twice as likely as each of the others
		return ofSession("cut")
	}
}

// check fails the test, and keeps the history, unless all of these hold:
//   - after the last fault every contender gets both locks, within what this machine needs for that, and some minutes;
//   - no two leases of a path are valid at once, each by its own Lost;
//   - of two leases of a path, the later one has the higher token;
//   - the register has counted each write exactly once, and none with a token lower than one before it;
//   - nothing is left.
func (c *chaos) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	c.Logf("%v", c.counts())
	assert.Equal(c, *chaosCaching > 0, c.counts()["lease by a cached node"] > 0)
	for _, r := range c.records {
		if r.Kind == "problem" {
			problem("%s %s: %s", r.Owner, r.Path, r.How)
		}
	}
	for _, path := range paths {
		judgeLeases(c.leases(path), problem)
		c.checkRegister(path, problem)
		if left := c.left(path); left != nil {
			problem("left under %s: %v", path, left)
		}
	}
	if len(problems) == 0 && !c.Failed() {
		return
	}
	for _, p := range problems[:min(len(problems), 20)] {
		c.Errorf("%s", p)
	}
	c.Errorf("%d problems with seed %d; %s", len(problems), c.seed, c.writeHistory())
}

func (c *chaos) counts() map[string]int {
	counts := make(map[string]int)
	for _, r := range c.records {
		counts[strings.TrimSpace(r.Kind+" "+strings.SplitN(r.How, ":", 2)[0])]++
		if r.Cached {
			counts["lease by a cached node"]++
		}
	}
	return counts
}

// leased reports whether each path had a lease between the first fault and the last.
func (c *chaos) leased() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	faulty := func(r record) bool { return !r.Calm }
	return slices.ContainsFunc(c.leases(paths[0]), faulty) && slices.ContainsFunc(c.leases(paths[1]), faulty)
}

// judgeLeases reports what is wrong with the leases of one path, which are in the order of their tokens.
func judgeLeases(leases []record, problem func(string, ...any)) {
	if !slices.ContainsFunc(leases, func(r record) bool { return !r.Calm }) {
		problem("there is no lease between the first fault and the last: this run shows nothing")
	}
	// A lease has four instants: Call, Begin, SeenOpen and End. It was valid from Begin to SeenOpen.
	var last, openLast, calledLast record // of the leases so far: the last; those whose SeenOpen and Call are the latest
	for _, lease := range leases {
		switch {
		case last.Token == lease.Token:
			problem("two leases with one token: %+v and %+v", last, lease)
		case lease.Begin <= openLast.SeenOpen: // of a lower token
			problem("two hold the lock at once, or a token does not grow, for %v: %+v and %+v",
				time.Duration(min(openLast.SeenOpen, lease.SeenOpen)-lease.Begin), openLast, lease)
		case lease.Begin < calledLast.Call:
			problem("a token does not grow: %+v, and later %+v", lease, calledLast)
		}
		last = lease
		if lease.SeenOpen >= openLast.SeenOpen {
			openLast = lease
		}
		if lease.Call >= calledLast.Call {
			calledLast = lease
		}
	}
}

// left returns the nodes under a lock's path when all clients have been closed, and their sessions have ended.
func (c *chaos) left(path string) []string {
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		names, _, err := c.admin.Children(c.root + "/" + path)
		if len(names) == 0 && (err == nil || errors.Is(err, zk.ErrNoNode)) {
			return nil
		}
		if time.Now().After(deadline) {
			return append(names, fmt.Sprint(err))
		}
	}
}

// leases returns the leases of a path in the order of their tokens.
func (c *chaos) leases(path string) (leases []record) {
	leases = slices.DeleteFunc(slices.Clone(c.records), func(r record) bool { return r.Kind != "lease" || r.Path != path })
	slices.SortStableFunc(leases, func(a, b record) int { return cmp.Compare(a.Token, b.Token) })
	return leases
}

// checkRegister reports what is wrong with the register of a path.
func (c *chaos) checkRegister(path string, problem func(string, ...any)) {
	var names []string
	var data []byte
	// It may take some tries: the client may notice only now that a fault has broken its connection.
	require.Eventually(c, func() bool {
		_, err := c.admin.Sync(c.root)
		if err == nil {
			names, _, err = c.admin.Children(c.root + "/log-" + path)
		}
		if err == nil {
			data, _, err = c.admin.Get(c.root + "/register-" + path)
		}
		return err == nil
	}, leeway, 100*time.Millisecond)
	var r register
	require.NoError(c, json.Unmarshal(data, &r))
	c.Logf("register %s: %d writes", path, r.Count)
	others := func(r record) bool { return r.Kind != "write" || r.Path != path }
	judgeRegister(r, names, slices.DeleteFunc(slices.Clone(c.records), others), problem)
}

// judgeRegister reports what is wrong with a register, given the names in its log and what the writers say.
func judgeRegister(r register, names []string, writes []record, problem func(string, ...any)) {
	slices.Sort(names)
	written := make(map[string]bool)
	highest := int64(0)
	for i, name := range names {
		var count int
		var token int64
		var nonce string
		if _, err := fmt.Sscanf(name, "%08d-%016x-%s", &count, &token, &nonce); err != nil || count != i+1 {
			problem("write %d is %q (if all that is wrong are two writes of one number, the servers have lost acknowledged ones: docs/production.md)", i+1, name)
		}
		if token < highest {
			problem("write %d has the token %d, after %d", count, token, highest)
		}
		highest = max(highest, token)
		written[nonce] = true
	}
	for _, w := range writes {
		if w.How != "unknown" && (w.How == "acknowledged") != written[w.Nonce] {
			problem("in the log: %v, of the write %+v", written[w.Nonce], w)
		}
	}
	if r.Count != len(names) {
		problem("the register has counted %d, and there were %d writes", r.Count, len(names))
	}
}

// writeHistory writes the faults and the records to a file, and returns where it is.
func (c *chaos) writeHistory() string {
	dir := c.ArtifactDir()
	if f := flag.Lookup("test.artifacts"); f == nil || f.Value.String() != "true" {
		dir = os.TempDir() // without -artifacts, the test's own folder goes with the test
	}
	var history strings.Builder
	enc := json.NewEncoder(&history)
	for _, f := range c.faults {
		enc.Encode(f)
	}
	for _, r := range c.records {
		enc.Encode(r)
	}
	file := filepath.Join(dir, fmt.Sprintf("chaos-%d-%s.jsonl", c.seed, filepath.Base(c.Name())))
	if err := os.WriteFile(file, []byte(history.String()), 0o644); err != nil {
		return err.Error()
	}
	return "history: " + file
}

// removeServers removes the servers that tests have started in Docker.
var removeServers = func() {}

func TestMain(m *testing.M) {
	ensemble.AnswerTimeout = time.Minute // for a server on a busy machine
	if os.Getenv(clientEnv) != "" {
		client := &process{finish: make(chan struct{}), out: json.NewEncoder(os.Stdout)}
		if err := client.run(); err != nil {
			log.Fatalf("process %d: %v", client.Process, err)
		}
		os.Exit(0)
	}
	status := m.Run()
	removeServers()
	os.Exit(status)
}

// requireFirst checks that the first problem that a judge finds contains want or, if want is "", that it finds none.
func requireFirst(t *testing.T, want string, judge func(problem func(format string, args ...any))) {
	var problems []string
	judge(func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) })
	if want == "" {
		require.Empty(t, problems)
		return
	}
	require.NotEmpty(t, problems)
	require.Contains(t, problems[0], want)
}

// The judges find what is wrong with histories that are made up, and nothing in good ones.
func TestTheChecksFindWhatIsWrong(t *testing.T) {
	lease := func(token, call, begin, open, end int64) record { // the fields of a record, in its order
		return record{Kind: "lease", Owner: fmt.Sprintf("contender %d", token), Token: token,
			Call: call, Begin: begin, SeenOpen: open, End: end}
	}
	good := []record{lease(1, 0, 10, 20, 30), lease(2, 5, 21, 40, 50), lease(5, 7, 45, 60, 60)}
	for _, c := range []struct {
		what   string
		leases []record
		want   string // of the first problem
	}{
		{what: "good", leases: good},
		{what: "no lease", want: "shows nothing"},
		{what: "calm leases", leases: []record{{Token: 1, Begin: 1, SeenOpen: 2, End: 3, Calm: true}}, want: "shows nothing"},
		{what: "the second in while the first is valid", leases: []record{good[0], lease(2, 5, 19, 40, 50)}, want: "at once"},
		{what: "the third is in while the first is valid", want: "at once",
			leases: []record{lease(1, 0, 10, 50, 50), lease(2, 51, 52, 53, 54), lease(3, 5, 49, 60, 70)}},
		{what: "a lower token later", leases: []record{lease(1, 50, 60, 70, 80), lease(2, 5, 10, 20, 30)}, want: "does not grow"},
		{what: "a lower token later, of a session that was ended from outside", want: "does not grow",
			leases: []record{lease(1, 50, 60, 20, 80), lease(2, 5, 30, 40, 45)}},
		{what: "one token for two", leases: []record{good[0], lease(1, 30, 31, 32, 33)}, want: "one token"},
	} {
		t.Run(c.what, func(t *testing.T) {
			requireFirst(t, c.want, func(problem func(string, ...any)) { judgeLeases(c.leases, problem) })
		})
	}

	// A lease is valid until its SeenOpen, unless its session was ended from outside before: an expiry ends it at from.
	const whole = 80 // the lease's SeenOpen before it is excused
	for _, c := range []struct {
		what   string
		expiry expiry
		open   int64 // until when the lease, in the end, counts as valid
	}{
		{what: "its node was made before the end", expiry: expiry{from: 40, to: 60, zxid: 8}, open: 40},
		{what: "it began after the end was answered", expiry: expiry{from: 40, to: 41, zxid: 8}, open: 40},
		{what: "its node was made after the end", expiry: expiry{from: 40, to: 60, zxid: 7}, open: whole},
		{what: "it was over before the end", expiry: expiry{from: 91, to: 99, zxid: 8}, open: whole},
		{what: "the end is not answered yet", expiry: expiry{from: 40, to: math.MaxInt64}, open: 40},
		{what: "the answer was lost, and it began later", expiry: expiry{from: 40, to: 49}, open: whole},
	} {
		t.Run("excuse: "+c.what, func(t *testing.T) {
			const zxid, handedOn = 7, 3 // of its node, and how many times the lock was handed on
			r := lease(zxid<<passBits|handedOn, 10, 50, whole, 90)
			r.excuse([]*expiry{&c.expiry})
			require.Equal(t, c.open, r.SeenOpen)
			require.Equal(t, c.open != whole, r.How != "")
		})
	}

	// Each name has the number of the write, the token and the nonce.
	names := []string{"00000001-0000000000000007-A", "00000002-0000000000000007-B", "00000003-0000000000000009-C"}
	writes := []record{
		{Nonce: "A", How: "acknowledged"}, {Nonce: "B", How: "unknown"}, {Nonce: "C", How: "acknowledged"},
		{Nonce: "D", How: "refused"}, {Nonce: "E", How: "unknown"},
	}
	for _, c := range []struct {
		what, want string
		count      int
		names      []string
		more       []record // besides writes
	}{
		{what: "good", count: 3, names: names},
		{what: "a lost count", count: 2, names: names, want: "has counted 2"},
		{what: "a lost write", count: 3, names: names, more: []record{{Nonce: "F", How: "acknowledged"}}, want: "in the log: false"},
		{what: "a refused write that is there", count: 3, names: names, more: []record{{Nonce: "C", How: "refused"}}, want: "in the log: true"},
		{what: "a number twice", count: 3, want: "write 3 is", names: []string{names[0], names[1], "00000002-0000000000000009-C"}},
		{what: "a lower token later", count: 3, want: "has the token 6, after 7",
			names: []string{names[0], names[1], "00000003-0000000000000006-C"}},
	} {
		t.Run("register: "+c.what, func(t *testing.T) {
			requireFirst(t, c.want, func(problem func(string, ...any)) {
				judgeRegister(register{Count: c.count}, c.names, append(c.more, writes...), problem)
			})
		})
	}
}

// What check demands holds for three processes with 17 contenders each on two paths that are cut off and paused, for
// shorter and longer than their sessions. The ZooKeeper has no faults. Half of the sessions are of ordinary clients.
func TestChaosOfClients(t *testing.T) {
	t.Parallel()
	if os.Getenv("ZK") == "" {
		t.Skip("cuts processes off and pauses them longer than their sessions, in real time: needs a real server (set ZK)")
	}
	seed := cmp.Or(*chaosSeed, rand.Uint64())
	t.Logf("again: ZK=%s go test ./internal/chaos -run 'TestChaosOfClients$' -chaos.for %v -chaos.seed %d", os.Getenv("ZK"), *chaosFor, seed)
	zoo := strings.Split(os.Getenv("ZK"), ",")
	var proxies [processes][]*proxy.Proxy // of each process, one for each server
	var addresses [processes][]string     // of the proxies
	for i := range processes {
		for _, server := range zoo {
			p := proxy.New(t, server)
			proxies[i], addresses[i] = append(proxies[i], p), append(addresses[i], p.Addr())
		}
	}
	c := newChaos(t, seed, clientConfig{Zoo: zoo, Ordinary: []bool{false, true, false, true}, Caching: *chaosCaching}, addresses)
	sessionsOver := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.counts()["session over"]
	}
	proxyFault := func(rng *rand.Rand) fault {
		n := rng.IntN(processes)
		toAll := func(do func(*proxy.Proxy)) func(context.Context) error {
			return func(context.Context) error {
				for _, p := range proxies[n] {
					do(p)
				}
				return nil
			}
		}
		kinds := []fault{
			{name: "is cut off", begin: toAll((*proxy.Proxy).CutOff)},
			{name: "is cut off in silence", begin: toAll(func(p *proxy.Proxy) { p.Silence(proxy.ToServer, proxy.ToClient) })},
			{name: "is cut off towards the servers", begin: toAll(func(p *proxy.Proxy) { p.Silence(proxy.ToServer) })},
			{name: "is cut off from the servers", begin: toAll(func(p *proxy.Proxy) { p.Silence(proxy.ToClient) })},
		}
		f := kinds[rng.IntN(len(kinds))]
		f.name, f.end, f.lasts = fmt.Sprintf("process %d %s", n, f.name), toAll((*proxy.Proxy).Heal), clientFaultLasts(rng)
		return f
	}
	c.play(*chaosFor, func() bool { return c.leased() && sessionsOver() > 0 },
		lane{name: "lines", next: proxyFault, pause: time.Second},
		lane{name: "processes", next: c.clientFault, pause: time.Second})
	c.finish()
	c.check()
	require.NotZero(t, sessionsOver())
}

// clientFaultLasts returns how long a fault of a client lasts: in half of the cases 1.6 to 2.2 session timeouts, so
// that the session ends, for which the server looks every two seconds; in the others 0.1 to 0.9 of one.
func clientFaultLasts(rng *rand.Rand) time.Duration {
	tenth := int64(sessionTimeout / 10)
	if rng.IntN(2) == 0 {
		return time.Duration(16*tenth + rng.Int64N(6*tenth))
	}
	return time.Duration(tenth + rng.Int64N(8*tenth))
}
