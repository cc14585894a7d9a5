// Package docker runs real ZooKeeper servers in containers, by the command docker: for internal/servers/with, which
// gives their addresses to a command in the environment variable ZK, and for tests that break servers.
package docker

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/servers"
)

const (
	defaultImage = "zookeeper:3.9" // the official one
	// ownerLabel holds the number of the process that started a container: a later one removes what a killed one has left.
	ownerLabel = "zklock.owner"

	daemonTimeout = 30 * time.Second // for the daemon to answer
	startTimeout  = 10 * time.Minute // for the servers to serve: a JVM each, and an election
)

// Servers are one server, or an ensemble. All methods may be called from any goroutine.
type Servers struct {
	nodes   []*Node
	network string // "" for a single server
	label   string
}

// A Node is one server, which tests can break. Each method returns when Docker has carried it out; the consequences,
// such as an election, take longer. Those that break or mend a node are called by one goroutine at a time.
type Node struct {
	name      string
	addr      string // on this machine
	container string

	// Known since the node was started, so that a cut takes no time to ask.
	sandbox string // the file of its network namespace; "" while its process does not run
	ip      string // by which its peers reach it
}

// String is the node's name on its network: zoo1, zoo2, …
func (n *Node) String() string { return n.name }

// Addr is the address for clients, host:port. It stays the same when the node is started again.
func (n *Node) Addr() string { return n.addr }

// Mode is standalone, leader or follower. For a node that does not serve it is an error.
func (n *Node) Mode(ctx context.Context) (string, error) {
	_, mode, err := ensemble.Ask(ctx, n.addr)
	return mode, err
}

// Kill ends the server's process at once. Start starts it again with its data.
func (n *Node) Kill(ctx context.Context) error {
	n.sandbox = ""
	return n.docker(ctx, "kill")
}

// Start starts a node that was killed.
func (n *Node) Start(ctx context.Context) error {
	if err := n.docker(ctx, "start"); err != nil {
		return err
	}
	out, err := docker(ctx, "inspect", "--format={{.NetworkSettings.SandboxKey}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", n.container)
	if err == nil {
		_, err = fmt.Sscan(out, &n.sandbox, &n.ip)
	}
	return n.wrap("start", err)
}

// Pause freezes the server: its connections stay open and nothing answers.
func (n *Node) Pause(ctx context.Context) error { return n.docker(ctx, "pause") }

// Unpause lets a paused server continue.
func (n *Node) Unpause(ctx context.Context) error { return n.docker(ctx, "unpause") }

// docker runs a subcommand of docker on the node's container.
func (n *Node) docker(ctx context.Context, subcommand string) error {
	_, err := docker(ctx, subcommand, n.container)
	return n.wrap(subcommand, err)
}

func (n *Node) wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, n.name, err)
	}
	return nil
}

// docker runs the command docker, and returns what it prints. An error is one line.
func docker(ctx context.Context, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("docker %s: %w: %s", args[0], err, strings.Join(strings.Fields(stderr.String()), " "))
	}
	return strings.TrimSpace(string(out)), err
}

// Nodes are the servers, in the order of their addresses.
func (s *Servers) Nodes() []*Node { return s.nodes }

// Addrs are the addresses for clients, host:port each.
func (s *Servers) Addrs() (addrs []string) {
	for _, n := range s.nodes {
		addrs = append(addrs, n.addr)
	}
	return addrs
}

// String names the image, the version and the number of servers.
func (s *Servers) String() string { return s.label }

// Leader returns the node that leads now; a single server does.
func (s *Servers) Leader(ctx context.Context) (*Node, error) {
	for _, n := range s.nodes {
		if mode, err := n.Mode(ctx); err == nil && (mode == "leader" || mode == "standalone") {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no server of %v leads", s)
}

// Open starts an ensemble of a size, or one server, and returns when all serve. Their image is the one that the
// environment variable ZK_IMAGE names, by default the official zookeeper:3.9; they have the sample configuration:
// tickTime 2000, initLimit 10, syncLimit 5, and the lines that ZK_CONFIG adds, such as enableEagerACLCheck=true. Close
// must be called.
func Open(ctx context.Context, size int) (_ *Servers, err error) {
	image := cmp.Or(os.Getenv("ZK_IMAGE"), defaultImage)
	if err := haveImage(ctx, image); err != nil {
		return nil, err
	}
	removeStale(ctx)

	s := &Servers{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	label := fmt.Sprintf("--label=%s=%d", ownerLabel, os.Getpid())
	if size > 1 {
		if s.network, err = docker(ctx, "network", "create", label, "zklock-"+rand.Text()); err != nil {
			return nil, err
		}
	}
	for i := range size {
		addr, err := servers.FreeAddr()
		if err != nil {
			return nil, err
		}
		node := &Node{name: hostName(i), addr: addr}
		args := []string{"create", label, "--publish=" + addr + ":2181"}
		if size > 1 {
			args = append(args, "--network="+s.network, "--network-alias="+node.name)
		}
		if node.container, err = docker(ctx, append(args, image)...); err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, node)
	}

	var wg sync.WaitGroup
	errs := make([]error, size)
	for i, node := range s.nodes {
		wg.Go(func() { errs[i] = node.begin(ctx, i, size) })
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	version, mode, err := s.awaitService(ctx)
	if err != nil {
		return nil, err
	}
	if size > 1 {
		mode = fmt.Sprintf("ensemble of %d", size)
	}
	s.label = fmt.Sprintf("docker %s (ZooKeeper %s, %s)", image, version, mode)
	return s, nil
}

// begin gives node i of an ensemble of a size its settings, and starts it.
func (n *Node) begin(ctx context.Context, i, size int) error {
	dir, err := os.MkdirTemp("", "zklock-docker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for inside, text := range map[string]string{"/conf/zoo.cfg": configFile(size), "/data/myid": strconv.Itoa(i+1) + "\n"} {
		file := filepath.Join(dir, filepath.Base(inside))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		if _, err := docker(ctx, "cp", file, n.container+":"+inside); err != nil {
			return err
		}
	}
	return n.Start(ctx)
}

// hostName is the host name of node i; its server's id is i + 1.
func hostName(i int) string { return fmt.Sprintf("zoo%d", i+1) }

func configFile(size int) string {
	text := "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=/data\nclientPort=2181\nmaxClientCnxns=0\n" +
		"admin.enableServer=false\n4lw.commands.whitelist=srvr,ruok\n"
	if size > 1 {
		for i := range size {
			text += fmt.Sprintf("server.%d=%s:2888:3888\n", i+1, hostName(i))
		}
	}
	return text + os.Getenv("ZK_CONFIG") + "\n"
}

// awaitService waits until every node serves. It returns the version and the mode of the last one.
func (s *Servers) awaitService(ctx context.Context) (version, mode string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, n := range s.nodes {
		for {
			if version, mode, err = ensemble.Ask(ctx, n.addr); err == nil {
				break
			}
			select {
			case <-time.After(100 * time.Millisecond): // no event says that a server serves
			case <-ctx.Done():
				return "", "", fmt.Errorf("docker: %s does not serve within %v: %w", n.name, startTimeout, err)
			}
		}
	}
	return version, mode, nil
}

// haveImage returns nil if there is a daemon and it has the image, if need be after a pull.
func haveImage(ctx context.Context, image string) error {
	daemonCtx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	if _, err := docker(daemonCtx, "version"); err != nil {
		return fmt.Errorf("docker: no daemon answers: start it, or set DOCKER_HOST (%w)", err)
	}
	if _, err := docker(ctx, "image", "inspect", image); err == nil {
		return nil
	}
	if _, err := docker(ctx, "pull", image); err != nil {
		return fmt.Errorf("docker: image %s is not here and cannot be pulled: "+
			"without a registry, run internal/servers/docker/build-image and set ZK_IMAGE as it says (%w)", image, err)
	}
	return nil
}

// removeStale removes the containers and networks of processes that have ended.
func removeStale(ctx context.Context) {
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "--all"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"network", "ls"}, []string{"network", "rm"}},
	} {
		lines, _ := docker(ctx, append(kind.list, "--filter=label="+ownerLabel, "--format={{.ID}} {{.Label \""+ownerLabel+"\"}}")...)
		for line := range strings.Lines(lines) {
			var id string
			var pid int
			if _, err := fmt.Sscan(line, &id, &pid); err != nil {
				continue
			}
			owner, err := os.FindProcess(pid)
			if err == nil && errors.Is(owner.Signal(syscall.Signal(0)), os.ErrProcessDone) {
				docker(ctx, append(kind.remove, id)...)
			}
		}
	}
}

// Close removes the containers and their network, whatever their state.
func (s *Servers) Close() {
	// Long, for a busy machine: what is left would fail the next command.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	remove := []string{"rm", "--force", "--volumes"}
	for _, n := range s.nodes {
		remove = append(remove, n.container)
	}
	docker(ctx, remove...)
	if s.network != "" {
		docker(ctx, "network", "rm", s.network)
	}
}
