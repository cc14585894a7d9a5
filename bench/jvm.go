package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/wiretap"
)

//go:embed curator/CuratorCounter.java
var curatorSource []byte

const debianJars = "/usr/share/java/"

// curatorPath is the class path of Debian's Curator. It includes what the jars need but do not name.
var curatorPath = strings.Join([]string{
	debianJars + "curator-recipes.jar", debianJars + "curator-framework.jar", debianJars + "curator-client.jar",
	debianJars + "zookeeper.jar", debianJars + "zookeeper-jute.jar", debianJars + "guava.jar",
	debianJars + "slf4j-api.jar", debianJars + "slf4j-nop.jar",
}, string(os.PathListSeparator))

// A jvm is a Java process that runs CuratorCounter.java. That file describes what the process reads and prints.
type jvm struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	lines    chan string    // what it prints; closed when it has ended
	stderr   *bytes.Buffer  // may be read when it has ended
	dir      string         // of the source, which java compiles itself
	versions string         // of Curator and Java
	used     wiretap.Counts // what the run that was counted has sent and received
}

// startJVM starts a JVM with the Curator of CLASSPATH, or else Debian's. If something is missing, it is a CannotRun.
func startJVM(ctx context.Context) (*jvm, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, counter.CannotRun{Why: i18n.Errorf("java is not on PATH (Debian: default-jdk-headless)")}
	}
	classPath := cmp.Or(os.Getenv("CLASSPATH"), curatorPath)
	if _, err := os.Stat(debianJars + "curator-recipes.jar"); err != nil && classPath == curatorPath {
		return nil, counter.CannotRun{Why: i18n.Errorf("no Curator (Debian: libcurator-recipes-java; or set CLASSPATH)")}
	}

	j := &jvm{lines: make(chan string), stderr: new(bytes.Buffer)}
	if j.dir, err = os.MkdirTemp("", "zklock-curator-"); err != nil {
		return nil, err
	}
	source := filepath.Join(j.dir, "CuratorCounter.java")
	if err := os.WriteFile(source, curatorSource, 0o600); err != nil {
		os.RemoveAll(j.dir)
		return nil, err
	}
	j.cmd = exec.Command(java, "-cp", classPath, source)
	j.cmd.Stderr = j.stderr
	stdout, err := j.cmd.StdoutPipe()
	if err == nil {
		j.stdin, err = j.cmd.StdinPipe()
	}
	if err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		os.RemoveAll(j.dir)
		return nil, counter.CannotRun{Why: err}
	}

	go func() {
		for in := bufio.NewScanner(stdout); in.Scan(); {
			j.lines <- in.Text()
		}
		j.cmd.Wait()
		close(j.lines)
	}()
	line, err := j.readLine(ctx)
	if err != nil {
		j.end()
		if ctx.Err() == nil {
			err = counter.CannotRun{Why: err}
		}
		return nil, err
	}
	j.versions = strings.TrimPrefix(line, "ready ")
	return j, nil
}

// readLine returns the next line that the JVM prints. If ctx ends before, it kills the JVM with all its threads.
func (j *jvm) readLine(ctx context.Context) (string, error) {
	select {
	case line, ok := <-j.lines:
		if !ok {
			return "", j.died()
		}
		return line, nil
	case <-ctx.Done():
		j.cmd.Process.Kill()
		return "", context.Cause(ctx)
	}
}

// died returns an error that says why the JVM has ended, as far as the JVM has printed that.
func (j *jvm) died() error {
	j.end()
	said := j.stderr.String()
	if strings.Contains(said, "jdk.compiler") {
		const noCompiler = "java has no compiler with it (Debian: default-jdk-headless)"
		return i18n.Errorf("java: %s", noCompiler)
	}
	if _, after, ok := strings.Cut(said, "error: "); ok {
		said = after // without the place in the source, which is removed
	}
	said, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
	said = said[:min(len(said), 70)] // it goes into a row of the table
	return i18n.Errorf("java: %s", cmp.Or(said, j.cmd.ProcessState.String()))
}

// end kills the JVM if it still runs: it holds nothing that matters now. The server ends its sessions when their time
// is up, and their nodes are removed with all others.
func (j *jvm) end() {
	j.stdin.Close()
	j.cmd.Process.Kill()
	for range j.lines {
	}
	os.RemoveAll(j.dir)
}
