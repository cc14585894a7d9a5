//go:build unix

// Tests of two libraries' locks on one path, which fill the tables of docs/sharing-a-path.md.
package clients_test

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// locks are those of docs/sharing-a-path.md.
var locks = []struct {
	name    string // in a command "open"
	title   i18n.Text
	program string // that has the lock, in testdata/pairs
	library string // zklock's name for it: the Library of its Participant
}{
	{name: "zklock", title: i18n.Same("zklock"), program: "go", library: "zklock"},
	{name: "zk.Lock", title: i18n.Same("`zk.Lock`"), program: "go", library: "zk.Lock"},
	{name: "samuel", title: "samuel's `zk.Lock`", program: "go", library: "zk.Lock"},
	{name: "curator-mutex", title: "Curator mutex", program: "java", library: "Curator mutex"},
	{name: "curator-semaphore-mutex", title: "Curator semaphore mutex", program: "java", library: "Curator semaphore"},
	{name: "curator-read", title: "Curator read lock", program: "java", library: "Curator read lock"},
	{name: "curator-write", title: "Curator write lock", program: "java", library: "Curator write lock"},
	{name: "kazoo-lock", title: i18n.Same("kazoo `Lock`"), program: "python", library: "kazoo lock"},
	{name: "kazoo-lock-extra", title: "kazoo `Lock` with `-lock-`", program: "python", library: "kazoo lock"},
	{name: "kazoo-read", title: i18n.Same("kazoo `ReadLock`"), program: "python", library: "kazoo read lock"},
	{name: "kazoo-write", title: i18n.Same("kazoo `WriteLock`"), program: "python", library: "kazoo lock"},
	{name: "kazoo-semaphore", title: i18n.Same("kazoo `Semaphore`"), program: "python", library: "kazoo semaphore"},
	{name: "zookeeper", title: i18n.Same("ZooKeeper `WriteLock`"), program: "java", library: "ZooKeeper WriteLock"},
	{name: "zookeeper-c", title: "ZooKeeper's C recipe", program: "python", library: "ZooKeeper WriteLock"},
}

// inChinese has the texts of the cells: of the second lock of a pair, and, in the last two columns, of a lock's parent.
var inChinese = map[string]string{
	"waits": "等待", "waits, also for empty folders": "等待，也等空容器", "**passes**": "**越过**",
	"**fails**": "**出错**", "**fails**, leaves its node": "**出错**，留下节点",
	"not played": "没有试", "container": "容器", "ordinary": "普通节点", "goes on": "照常", "": "",
}

// startLocks starts the programs that have the locks. Each says its versions, and then answers
// commands on its standard input, with "NAME VERB done" or "NAME VERB failed WHY":
//
//	open NAME KIND PATH SERVERS S   makes a lock with a session of its own, with a timeout of S seconds
//	lock NAME                       answers when the lock is acquired
//	unlock NAME
//	count NAME COUNTER N            adds 1 under the lock, N times, by writes that fail if the counter has changed
//	close NAME                      closes the session
func startLocks(t *testing.T, addr string) map[string]*process {
	const folder, packages = "testdata/pairs/", "/usr/lib/python3/dist-packages/"
	needsPackages(t, ofCurator)
	needsPackages(t, map[string]string{python: "python3", packages + "kazoo": "python3-kazoo"})
	dir := t.TempDir()
	addOurs(t, dir, map[string]string{"main.go": folder + "locks.go", "go.sum": "../../go.sum", "go.mod": "../../go.mod"},
		"-module=locks", "-require=github.com/samuel/go-zookeeper@v0.0.0-20190923202752-2cc03de413da")
	run(t, dir, "go", "build", "-mod=mod", "-o", "locks", ".")
	if testenv.AtLength() {
		run(t, dir, "sh", testenv.Must(filepath.Abs(folder+"recipe.sh"))(t))
	}
	return map[string]*process{
		"go":     start(t, filepath.Join(dir, "locks"), addr),
		"java":   start(t, "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", curatorPath, folder+"Locks.java", addr), // starts faster
		"python": start(t, python, folder+"locks.py", addr, filepath.Join(dir, "recipe")),
	}
}

// A contender is a lock in one of the programs, by its name there.
type contender struct {
	*process
	name string
}

func (c contender) send(verb string, args ...string) {
	io.WriteString(c.stdin, strings.Join(append([]string{verb, c.name}, args...), " ")+"\n")
}

// answer returns the answer to a command, or "" if there is none within a time.
func (c contender) answer(verb string, within time.Duration) string {
	return c.line(c.name+" "+verb+" ", within)
}

func (c contender) mustDo(t *testing.T, verb string, args ...string) {
	require.Empty(t, c.do(verb, args...))
}

// do sends a command, and returns why it has not been done; "" if it has.
func (c contender) do(verb string, args ...string) (why string) {
	c.send(verb, args...)
	if answer := c.answer(verb, patience); answer != "done" {
		return fmt.Sprintf("%s %s: %q in %v", c.name, verb, answer, c.out.String())
	}
	return ""
}

const session = 30 * time.Second                           // the timeout of a session that is not to expire
const shortPause, longPause = time.Second, 5 * time.Second // in which a lock that does not wait is acquired

type pair struct{ first, second int } // two locks of the list that meet on a path

// open makes a lock of the list, in a program.
func open(t *testing.T, programs map[string]*process, i int, path, name, addr string, timeout time.Duration) contender {
	c := contender{programs[locks[i].program], path[strings.LastIndex(path, "/")+1:] + name}
	c.mustDo(t, "open", locks[i].name, path, addr, fmt.Sprint(timeout.Seconds()))
	return c
}

// play returns the cell of the table for two locks.
//
//  1. The first is locked. With expires, its line to the server is then cut.
//  2. The second is asked for. It passes if it gets the lock within the pause, in which the first still holds.
//  3. The first is unlocked or, with expires, its session ends. The second must get the lock now.
//
// why is not empty if the first did not hold: on a busy machine its session may have been too short.
func (p pair) play(t *testing.T, addr string, conn *zk.Conn, path string, programs map[string]*process,
	expires bool, pause time.Duration) (cell, why string) {
	server, _, _ := strings.Cut(addr, ",")
	line, timeout := proxy.New(t, server), session
	if expires {
		timeout = 5 * pause
	}
	first := open(t, programs, p.first, path, "/1", line.Addr(), timeout)
	second := open(t, programs, p.second, path, "/2", addr, session)
	defer first.send("close")
	defer second.send("close")

	if why := first.do("lock"); why != "" {
		return "", why
	}

	library, queuePath := locks[p.first].library, path
	if library == "Curator semaphore" {
		queuePath += "/leases"
	}
	queue := testenv.Must(testenv.Must(zklock.New(conn, queuePath))(t).Participants(t.Context()))(t)
	if len(queue) == 0 && expires {
		return "", "the session of the first has expired"
	}
	require.Equal(t, []any{1, library, true}, []any{len(queue), queue[0].Library, queue[0].Holds})
	if expires {
		line.CutOff()
	}

	second.send("lock")
	cell, answer := "**passes**", second.answer("lock", pause)
	if !expires {
		first.mustDo(t, "unlock")
	}
	hasGone := func() bool { _, _, err := conn.Get(queue[0].Node); return err == zk.ErrNoNode }
	require.Eventually(t, hasGone, patience, 100*time.Millisecond)
	if answer == "" {
		cell, answer = "waits", second.answer("lock", pause)
	}
	if answer == "" {
		removeFolders(t, conn, path)
		cell, answer = "waits, also for empty folders", second.answer("lock", patience)
	}
	if answer == "done" {
		second.mustDo(t, "unlock")
	} else {
		cell = "**fails**"
	}

	for _, child := range childrenOf(t, conn, path) {
		if _, stat, err := conn.Exists(path + "/" + child); err == nil && stat.EphemeralOwner > 0 {
			cell += ", leaves its node"
		}
	}
	return cell, ""
}

func childrenOf(t *testing.T, conn *zk.Conn, path string) []string {
	conn.Sync(path) // of an ensemble, our server may be behind
	children, _, err := conn.Children(path)
	require.Contains(t, []error{nil, zk.ErrNoNode}, err)
	return children
}

// removeFolders removes empty nodes, as the server removes containers after a minute.
func removeFolders(t *testing.T, conn *zk.Conn, path string) {
	for _, child := range childrenOf(t, conn, path) {
		if _, stat, err := conn.Exists(path + "/" + child); err == nil && stat.EphemeralOwner <= 0 {
			conn.Delete(path+"/"+child, -1)
		}
	}
}

// readCells reads the cells of the page's table, whose first three lines and first column are its head.
func readCells(t *testing.T) map[pair]string {
	all := map[pair]string{}
	_, table, _, _ := site.Cut(site.Read(t, "docs/sharing-a-path.md"), "pairs")
	behind := func(head int, all []string) []string { return all[min(head, len(all)):] }
	for i, row := range behind(3, strings.Split(table, "\n")) {
		for j, cell := range behind(1, strings.Split(row, " | ")) {
			all[pair{i, j}] = strings.TrimSuffix(cell, " |")
		}
	}
	return all
}

func rowOf(cells ...i18n.Text) i18n.Text { return i18n.Textf("| %s |\n", i18n.Join(cells, " | ")) }

// tableOf is a table between two empty lines.
func tableOf(columns int, rows []i18n.Text) i18n.Text {
	line := i18n.Same(strings.Repeat("|---", columns) + "|\n")
	return i18n.Textf("\n%s\n", i18n.Join(slices.Insert(rows, 1, line), ""))
}

// holdCells compares both tables with the cells, and with each other, or writes them.
func holdCells(t *testing.T, all map[pair]string) {
	head := []i18n.Text{"holds ↓, comes second →"}
	for _, l := range locks {
		head = append(head, l.title)
	}
	table := []i18n.Text{rowOf(append(head, "makes its parent", "when that has gone")...)}
	short := []i18n.Text{rowOf("library", "zklock comes second", "zklock holds, it comes second", "beside zklock")}
	cellOf := func(i, j int) i18n.Text {
		cell := all[pair{i, j}]
		require.Contains(t, inChinese, cell)
		return i18n.Both(cell, inChinese[cell])
	}
	for i, l := range locks {
		row := []i18n.Text{i18n.Textf("**%s**", l.title)}
		for j := range len(locks) + 2 {
			row = append(row, cellOf(i, j))
		}
		verdict := i18n.Text("**not safe**")
		if cellOf(i, 0).String() == "waits" && cellOf(0, i).String() == "waits" {
			verdict = "safe"
		}
		table, short = append(table, rowOf(row...)), append(short, rowOf(l.title, cellOf(i, 0), cellOf(0, i), verdict))
	}
	const page = "docs/sharing-a-path.md"
	site.HoldsBoth(t, page, "pairs", tableOf(len(locks)+3, table))
	site.HoldsBoth(t, page, "beside zklock", tableOf(4, short))
}

// The two editions have the same table, and the short table has the cells of the long one.
func TestTheTableOfPairsIsTheSameInBothLanguages(t *testing.T) { holdCells(t, readCells(t)) }

// The page's table says what two locks do on one path, on the server that ZK names: each with zklock, and at length
// all.
func TestPairs(t *testing.T) {
	addr, conn, root := newSharedTest(t)
	programs := startLocks(t, addr)
	versions := ""
	for _, program := range []string{"go", "java", "python"} {
		versions += "- " + programs[program].line("", patience) + "\n"
	}
	site.HoldsBoth(t, "docs/sharing-a-path.md", "versions", i18n.Same("\n"+versions+"\n"))
	onPage, recipe := readCells(t), len(locks)-1 // the recipe is there at length only
	var mu sync.Mutex                            // guards result and played
	result, played := readCells(t), map[pair]string{}
	t.Run("all", func(t *testing.T) {
		for i, first := range locks {
			for j, second := range locks {
				// The recipe in C fails on a name without a "-".
				if j == recipe && (strings.HasPrefix(first.name, "kazoo") || first.name == "curator-semaphore-mutex") {
					result[pair{i, j}] = "not played"
					continue
				}
				withZklock := i == 0 || j == 0
				if (!withZklock || max(i, j) == recipe) && !testenv.AtLength() {
					continue
				}
				for how, expires := range map[string]bool{"is released": false, "expires": true} {
					t.Run(first.name+" "+second.name+" "+how, func(t *testing.T) {
						t.Parallel()
						p, path := pair{i, j}, fmt.Sprint(root, "/", i, ".", j, ".", expires)
						cell, why := p.play(t, addr, conn, path, programs, expires, shortPause)
						if cell != onPage[p] { // the pause may have been too short for a busy machine
							cell, why = p.play(t, addr, conn, path+".again", programs, expires, longPause)
						}
						require.Empty(t, why)
						mu.Lock()
						defer mu.Unlock()
						if was, again := played[p]; again {
							require.Equal(t, was, cell, "a release and an expiry give different cells")
						}
						result[p], played[p] = cell, cell
					})
				}
			}
		}
	})
	holdCells(t, result)
}

// The page's table says which locks make a container, and what a lock does when its parent has gone.
func TestParentsThatGo(t *testing.T) {
	testenv.Long(t, "waits until the server has removed empty containers")
	addr, conn, root := newSharedTest(t)
	programs := startLocks(t, addr)
	counter := root + "/counter"
	testenv.Must(conn.Create(counter, []byte("0"), zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	var contenders []contender
	for i := range locks {
		c := open(t, programs, i, fmt.Sprint(root, "/", i), "", addr, session)
		c.mustDo(t, "lock")
		c.mustDo(t, "unlock")
		contenders = append(contenders, c)
	}
	time.Sleep(200 * time.Second) // containers go once a minute, and one lock makes three, one in the other
	now := readCells(t)
	for i, c := range contenders {
		made, gone := pair{i, len(locks)}, pair{i, len(locks) + 1} // the last two cells of the row
		now[made], now[gone] = "ordinary", "goes on"
		if err := conn.Delete(fmt.Sprint(root, "/", i), -1); err != nil {
			require.ErrorIs(t, err, zk.ErrNoNode)
			now[made] = "container"
		}
		c.send("count", counter, "1")
		if c.answer("count", patience) != "done" {
			now[gone] = "**fails**"
		}
	}
	holdCells(t, now)
}

// Locks that wait for each other, says the table, count together: each with zklock, all that wait for all, at length
// each pair.
func TestSafeLocksCountTogether(t *testing.T) {
	addr, conn, root := newSharedTest(t)
	programs := startLocks(t, addr)
	known, turns := readCells(t), 50
	if testenv.AtLength() {
		turns = 250
	}
	// ZooKeeper's own locks may wait forever if the node before theirs goes between two of their requests.
	waits := func(i, j int) bool { return known[pair{i, j}] == "waits" && locks[i].library != "ZooKeeper WriteLock" }
	safe := func(i, j int) bool { return waits(i, j) && waits(j, i) }
	var all []int      // the locks that wait for all, by their numbers in the list
	var groups [][]int // the locks that count together
	for i := range locks {
		for j := range i + 1 {
			withZklock := j == 0 && i != 0
			if (withZklock || testenv.AtLength()) && safe(i, j) && safe(i, i) && safe(j, j) {
				groups = append(groups, []int{j, i})
			}
		}
		if !slices.ContainsFunc(all, func(j int) bool { return !safe(i, j) }) {
			all = append(all, i)
		}
	}

	for n, group := range append(groups, all) {
		path, counter := fmt.Sprintf("%s/%d", root, n), fmt.Sprintf("%s/counter%d", root, n)
		for _, node := range []string{path, counter} {
			testenv.Must(conn.Create(node, []byte("1"), zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
		}
		first := open(t, programs, group[0], path, "/first", addr, session) // until all contenders are in the queue
		first.mustDo(t, "lock")
		var contenders []contender
		for k := range 4 * len(group) { // four contenders of each lock
			c := open(t, programs, group[k/4], path, fmt.Sprint("/", k), addr, session)
			c.send("count", counter, strconv.Itoa(turns))
			contenders = append(contenders, c)
		}
		queuesHere := !strings.Contains(locks[group[0]].name, "semaphore") // the queue of a semaphore is elsewhere
		allQueue := func() bool { return !queuesHere || len(childrenOf(t, conn, path)) == 1+len(contenders) }
		require.Eventually(t, allQueue, patience, 10*time.Millisecond)
		first.mustDo(t, "unlock")
		for _, c := range contenders {
			require.Equal(t, "done", c.answer("count", patience), c.name)
		}
		_, stat := testenv.Must2(conn.Get(counter))(t)
		require.EqualValues(t, turns*len(contenders), stat.Version)
		require.True(t, !queuesHere || len(childrenOf(t, conn, path)) == 0, "nodes are left")
	}
}
