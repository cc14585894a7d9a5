//go:build unix

package clients_test

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

const zkCli = "/usr/share/zookeeper/bin/zkCli.sh"

// A shell is one zkCli.sh and the test that types at it.
type shell struct {
	*process
	events []string // of watches, as far as they were read: "NodeDeleted /path"
}

var (
	shellConnected = regexp.MustCompile(`^WatchedEvent state:SyncConnected type:None `)
	shellEvent     = regexp.MustCompile(`^WatchedEvent state:SyncConnected type:(\w+) path:(.*)$`)
	shellVersion   = regexp.MustCompile(`^ZooKeeper CLI version: `)
	anyLine        = regexp.MustCompile(``)
)

// startShell runs a shell and waits until it is connected, and has said
// whatever it says by way of greeting, which may be before that or after.
func (g *game) startShell() *shell {
	g.Helper()
	faster := "JVMFLAGS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
	sh := &shell{process: g.start([]string{faster}, zkCli, "-server", g.addr)}
	testenv.Must(sh.nextLine(shellConnected))(g)
	testenv.Must(sh.run(""))(g)
	return sh
}

// line returns the next line of the shell. Events of watches may come at any time,
// in the middle of other lines: they are put aside.
func (sh *shell) line() (string, error) {
	for {
		line, err := sh.nextLine(anyLine)
		if err != nil {
			return "", err
		}
		switch event := shellEvent.FindStringSubmatch(line); {
		case event != nil:
			sh.events = append(sh.events, event[1]+" "+event[2])
		case line != "" && line != "WATCHER::":
			return line, nil
		}
	}
}

// run types a command and returns the shell's answer. That may be empty: so its
// version is asked for as well, and ends the answer.
func (sh *shell) run(command string) ([]string, error) {
	io.WriteString(sh.stdin, command+"\nversion\n")
	var answer []string
	for {
		line, err := sh.line()
		if err != nil {
			return nil, fmt.Errorf("after %q: %w", command, err)
		}
		if shellVersion.MatchString(line) {
			return answer, nil
		}
		answer = append(answer, line)
	}
}

func TestZkCliDoesWhatAUserTypes(t *testing.T) {
	needs(t, map[string]string{zkCli: "zookeeper", "/usr/bin/java": "default-jre-headless"})
	testenv.Embedded(t, "is about the embedded server alone")
	g := &game{T: t, srv: zkserver.Run(t)}
	g.addr = g.srv.Addr()
	sh := g.startShell()
	// stat stands for the eleven lines of a stat.
	for _, step := range []struct{ command, want string }{
		{"create /s one", "Created /s"},
		{"create /s two", "Node already exists: /s"},
		{"create /no/parent", "Node does not exist: /no/parent"},
		{"get /s", "one"},
		{"get -s /s", "one|stat"},
		{"get -w /s", "one"},
		{"set -s -v 0 /s two", "stat"},
		{"set -v 0 /s three", "version No is not valid : /s"},
		{"stat /s", "stat"},
		{"create -s /s/q-", "Created /s/q-0000000000"},
		{"create -s -e /s/q-", "Created /s/q-0000000001"},
		{"create -e /s/e mine", "Created /s/e"},
		{"create /s/e/child", "Ephemerals cannot have children: /s/e/child"},
		{"create -c /s/box", "Created /s/box"},
		{"ls /s", "[box, e, q-0000000000, q-0000000001]"},
		{"ls -R /s", "/s|/s/box|/s/e|/s/q-0000000000|/s/q-0000000001"},
		{"getAllChildrenNumber /s", "4"},
		{"getEphemerals /s/q", "[/s/q-0000000001]"},
		{"addWatch -m PERSISTENT_RECURSIVE /s", ""},
		{"set /s/e his", ""},
		{"create /s/new", "Created /s/new"},
		{"removewatches /s", ""},
		{"delete /s/new", ""},
		{"getAcl /s", "'world,'anyone|: cdrwa"},
		{"addauth digest ann:secret", ""},
		{"setAcl /s/box auth::r", ""},
		{"sync /s", "Sync is OK"},
		{"config", ""},
		{"delete /s", "Node not empty: /s"},
		{"delete -v 7 /s/box", "version No is not valid : /s/box"},
		{"delete /s/box", ""},
		{"delete /s/box", "Node does not exist: /s/box"},
		{"deleteall /s/q-0000000000", ""},
	} {
		answer := testenv.Must(sh.run(step.command))(t)
		got := strings.Join(answer, "|")
		got = statLines.ReplaceAllString(got, "stat")
		require.Equal(t, step.want, got, "%s", step.command)
	}
	require.Equal(t, []string{"NodeDataChanged /s", "NodeDataChanged /s/e", "NodeCreated /s/new", "PersistentWatchRemoved /s"}, sh.events)

	who := testenv.Must(sh.run("whoami"))(t)
	require.ElementsMatch(t, []string{"Auth scheme: User", "ip: 127.0.0.1", "digest: ann"}, who)

	// The shell prints which session owns an ephemeral node. The node goes with
	// the shell.
	stat := testenv.Must(sh.run("stat /s/e"))(t)
	require.Contains(t, stat, fmt.Sprintf("ephemeralOwner = %#x", g.srv.Sessions()[0].ID))
	require.Equal(t, []string{"e", "q-0000000001"}, g.srv.Children("/s"))
	say(g.processes, "quit") // at the mere end of its input it leaves its session behind
	g.leave()
	require.Empty(t, g.srv.Children("/s"))
}

var statLines = regexp.MustCompile(`cZxid = 0x[0-9a-f]+\|ctime = [^|]+\|mZxid = 0x[0-9a-f]+\|mtime = [^|]+\|pZxid = 0x[0-9a-f]+\|` +
	`cversion = \d+\|dataVersion = \d+\|aclVersion = \d+\|ephemeralOwner = 0x[0-9a-f]+\|dataLength = \d+\|numChildren = \d+`)
