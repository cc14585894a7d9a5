//go:build unix

package clients_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

const zkCli = "/usr/share/zookeeper/bin/zkCli.sh"

var (
	// shellGreets matches what zkCli.sh says whatever is typed. A line of an event may be in the middle of an answer.
	shellGreets = regexp.MustCompile(`(?m)^((SLF4J: |Connecting to |Welcome to |JLine |WATCHER::|WatchedEvent ).*)?\n`)
	shellEvent  = regexp.MustCompile(`(?m)^WatchedEvent state:SyncConnected type:(Node|Persistent)(\w+) path:(.*)$`)
	// shellStat matches the eleven lines of a stat.
	shellStat = regexp.MustCompile(`(?s)cZxid = 0x[0-9a-f]+\nctime = [^\n]+\nmZxid = .*?\nnumChildren = \d+`)
)

func TestZkCliDoesWhatAUserTypes(t *testing.T) {
	needs(t, map[string]string{zkCli: "zookeeper", "/usr/bin/java": "default-jre-headless"})
	testenv.Embedded(t, "is about the embedded server alone")
	srv := zkserver.Run(t)
	var typed, answers []string
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
		{"whoami", "Auth scheme: User|ip: 127.0.0.1|digest: ann"},
		{"ls /s", "[e, q-0000000001]"},
		{"quit", ""}, // at the mere end of its input it leaves its session behind
	} {
		typed = append(typed, step.command)
		if step.want != "" {
			answers = append(answers, strings.Split(step.want, "|")...)
		}
	}
	shell := exec.CommandContext(t.Context(), zkCli, "-server", srv.Addr())
	shell.Env = append(shell.Environ(), "JVMFLAGS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC") // starts faster
	shell.Stdin = strings.NewReader(strings.Join(typed, "\n") + "\n")
	said := string(testenv.Must(shell.CombinedOutput())(t))
	require.Equal(t, answers, strings.Split(strings.TrimSpace(shellStat.ReplaceAllString(shellGreets.ReplaceAllString(said, ""), "stat")), "\n"))
	var events []string
	for _, event := range shellEvent.FindAllStringSubmatch(said, -1) {
		events = append(events, event[2]+" "+event[3])
	}
	require.Equal(t, []string{"DataChanged /s", "DataChanged /s/e", "Created /s/new", "WatchRemoved /s"}, events)
	require.Empty(t, srv.Sessions())
	require.Empty(t, srv.Children("/s"), "an ephemeral node goes with the shell")
}
