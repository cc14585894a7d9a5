package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// TestTheNodesOfTheRealLibrariesAreNamed: Curator's, kazoo's, go-zookeeper's and ours.
func TestTheNodesOfTheRealLibrariesAreNamed(t *testing.T) {
	testenv.Landing(t, "runs clients that we did not write: Curator, kazoo")
	const jars, python = "/usr/share/java/", "/usr/bin/python3"
	for file, debian := range map[string]string{
		jars + "curator-recipes.jar": "libcurator-recipes-java", "/usr/bin/javac": "default-jdk-headless",
		"/usr/lib/python3/dist-packages/kazoo": "python3-kazoo",
	} {
		if _, err := os.Stat(file); err != nil {
			testenv.Missing(t, "not installed: Debian's "+debian)
		}
	}
	_, addr, conn := onServer(t)
	var path []string
	for _, jar := range strings.Fields("curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-nop") {
		path = append(path, jars+jar+".jar")
	}
	for _, args := range [][]string{
		{"java", "-cp", strings.Join(path, ":"), filepath.Join("testdata", "Holders.java"), addr},
		{python, filepath.Join("testdata", "holders.py"), addr},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stderr = os.Stderr
		in := testenv.Must(cmd.StdinPipe())(t)
		require.NoError(t, cmd.Start())
		defer cmd.Wait()
		defer in.Close()
	}
	go zk.NewLock(conn, "/q", zk.WorldACL(zk.PermAll)).Lock() // it ends with the client, in an error
	m := testenv.Must(zklock.New(connected(t, addr), "/q"))(t)
	go m.Lock(t.Context(), nil)
	var queue string
	defer func() { t.Log(queue) }()
	for _, kind := range []string{
		"zklock", "zk.Lock", "Curator mutex", "Curator read lock", "Curator write lock", "Curator latch", "kazoo lock", "kazoo read lock",
	} {
		require.Eventually(t, func() bool {
			queue = "\n" + queueOf(t, "/q")
			return strings.Contains(queue, "\n"+kind+" ")
		}, patience, 50*time.Millisecond, kind)
	}
	require.Equal(t, 8, strings.Count(queue, "\n"))
	require.Eventually(t, func() bool {
		return strings.HasPrefix(queueOf(t, "/semaphore"), "Curator semaphore ") && strings.HasSuffix(queueOf(t, "/semaphore"), " *")
	}, patience, 50*time.Millisecond)
}
