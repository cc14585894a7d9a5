//go:build docker

// Package docker runs real ZooKeeper servers in containers: for the command with,
// whose command finds their addresses in ZK, and for tests that break servers. It
// is built with the tag docker only: its libraries are two thirds of all that the
// module needs. No package that users import leads here, and none of their tests:
// go mod tidy of a user ignores tags, and would fetch all that.
package docker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"

	"example.com/zklock/internal/ensemble"
)

const (
	defaultImage = "zookeeper:3.9" // the official one
	// ownerLabel holds the number of the process that started a container, so
	// that a later process can remove what a killed one has left.
	ownerLabel = "zklock.owner"

	daemonTimeout = 30 * time.Second // for the daemon to answer
	stallTimeout  = time.Minute      // without progress of a pull
	startTimeout  = 10 * time.Minute // for the servers to serve: a JVM each, and an election
)

// Servers are one server, or an ensemble. All methods may be called from any
// goroutine.
type Servers struct {
	docker  *client.Client
	nodes   []*Node
	network *testcontainers.DockerNetwork // nil for a single server
	label   string
}

// A Node is one server, which tests can break. Each method returns when
// Docker has carried it out; the consequences, such as an election, take
// longer.
type Node struct {
	name      string
	addr      string // on this machine
	container testcontainers.Container
	docker    *client.Client
	network   string // id; "" for a single server
}

// String is the node's name on its network: zoo1, zoo2, …
func (n *Node) String() string { return n.name }

// Addr is the address for clients, host:port. It stays the same when the node
// is started again.
func (n *Node) Addr() string { return n.addr }

// Mode is standalone, leader or follower. For a node that does not serve it
// is an error.
func (n *Node) Mode(ctx context.Context) (string, error) {
	_, mode, err := ensemble.Ask(ctx, n.addr)
	return mode, err
}

// Kill ends the server's process at once. Start starts it again with its
// data.
func (n *Node) Kill(ctx context.Context) error {
	_, err := n.docker.ContainerKill(ctx, n.container.GetContainerID(), client.ContainerKillOptions{Signal: "KILL"})
	return n.wrap("kill", err)
}

// Start starts a node that was killed.
func (n *Node) Start(ctx context.Context) error {
	_, err := n.docker.ContainerStart(ctx, n.container.GetContainerID(), client.ContainerStartOptions{})
	return n.wrap("start", err)
}

// Pause freezes the server: its connections stay open and nothing answers.
func (n *Node) Pause(ctx context.Context) error {
	_, err := n.docker.ContainerPause(ctx, n.container.GetContainerID(), client.ContainerPauseOptions{})
	return n.wrap("pause", err)
}

// Unpause lets a paused server continue.
func (n *Node) Unpause(ctx context.Context) error {
	_, err := n.docker.ContainerUnpause(ctx, n.container.GetContainerID(), client.ContainerUnpauseOptions{})
	return n.wrap("unpause", err)
}

func (n *Node) wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, n.name, err)
	}
	return nil
}

// Nodes are the servers, in the order of their addresses.
func (s *Servers) Nodes() []*Node { return s.nodes }

// Addrs are the addresses for clients, host:port each.
func (s *Servers) Addrs() []string {
	addrs := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		addrs[i] = n.addr
	}
	return addrs
}

// String names the image, the version and the number of servers.
func (s *Servers) String() string { return s.label }

// Leader is the node that leads now. A single server leads.
func (s *Servers) Leader(ctx context.Context) (*Node, error) {
	for _, n := range s.nodes {
		if mode, err := n.Mode(ctx); err == nil && (mode == "leader" || mode == "standalone") {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no server of %v leads", s)
}

type quietLogger struct{}

func (quietLogger) Printf(string, ...any) {}

// Open starts n servers and returns when all of them serve. Their image is the
// one that the environment variable ZK_IMAGE names, by default the official
// zookeeper:3.9; they have the sample configuration: tickTime 2000, initLimit
// 10, syncLimit 5, and the lines that ZK_CONFIG adds, such as
// enableEagerACLCheck=true. Close must be called.
func Open(ctx context.Context, n int) (_ *Servers, err error) {
	image := cmp.Or(os.Getenv("ZK_IMAGE"), defaultImage)
	tclog.SetDefault(quietLogger{})
	docker, err := client.NewClientWithOpts(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	s := &Servers{docker: docker}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := haveImage(ctx, docker, image); err != nil {
		return nil, err
	}
	removeStale(ctx, docker)

	labels := map[string]string{ownerLabel: strconv.Itoa(os.Getpid())}
	networkID := ""
	if n > 1 {
		s.network, err = tcnetwork.New(ctx, tcnetwork.WithLabels(labels))
		if err != nil {
			return nil, fmt.Errorf("docker: network: %w", err)
		}
		networkID = s.network.ID
	}
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	errs := make([]error, n)
	nodes := make([]*Node, n)
	for i := range n {
		node := &Node{name: name(i), addr: net.JoinHostPort("127.0.0.1", ports[i]), docker: docker, network: networkID}
		wg.Go(func() {
			node.container, errs[i] = start(ctx, image, s.network, labels, i, n, ports[i])
			if node.container != nil {
				nodes[i] = node
			}
		})
	}
	wg.Wait()
	for _, node := range nodes {
		if node != nil { // there is a container to remove
			s.nodes = append(s.nodes, node)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("docker: start %s: %s", image, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	version, mode, err := s.serve(ctx)
	if err != nil {
		return nil, err
	}
	if n > 1 {
		mode = fmt.Sprintf("ensemble of %d", n)
	}
	s.label = fmt.Sprintf("docker %s (ZooKeeper %s, %s)", image, version, mode)
	return s, nil
}

// start starts server i + 1 of n.
func start(
	ctx context.Context, image string, joined *testcontainers.DockerNetwork, labels map[string]string, i, n int, port string,
) (testcontainers.Container, error) {
	req := testcontainers.ContainerRequest{
		Image:        image,
		ExposedPorts: []string{"2181/tcp"},
		Labels:       maps.Clone(labels), // testcontainers writes into it
		Files: []testcontainers.ContainerFile{
			{Reader: strings.NewReader(configFile(n)), ContainerFilePath: "/conf/zoo.cfg", FileMode: 0o644},
			{Reader: strings.NewReader(strconv.Itoa(i+1) + "\n"), ContainerFilePath: "/data/myid", FileMode: 0o644},
		},
		HostConfigModifier: func(h *container.HostConfig) {
			// On loopback alone, and the same port after a restart.
			h.PortBindings = network.PortMap{network.MustParsePort("2181/tcp"): {
				{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: port},
			}}
		},
	}
	if n > 1 {
		req.Networks = []string{joined.Name}
		req.NetworkAliases = map[string][]string{joined.Name: {name(i)}}
	}
	return testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{ContainerRequest: req, Started: true})
}

// name is the host name of server i + 1.
func name(i int) string { return fmt.Sprintf("zoo%d", i+1) }

func configFile(n int) string {
	var b bytes.Buffer
	b.WriteString("tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=/data\nclientPort=2181\nmaxClientCnxns=0\n" +
		"admin.enableServer=false\n4lw.commands.whitelist=srvr,ruok\n")
	if n > 1 {
		for i := range n {
			fmt.Fprintf(&b, "server.%d=%s:2888:3888\n", i+1, name(i))
		}
	}
	fmt.Fprintln(&b, os.Getenv("ZK_CONFIG"))
	return b.String()
}

// serve waits until every node serves. It returns what the last one says of
// itself.
func (s *Servers) serve(ctx context.Context) (version, mode string, err error) {
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

// haveImage returns nil if there is a daemon and it has the image, if need be
// after a pull.
func haveImage(ctx context.Context, docker *client.Client, image string) error {
	pingCtx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	if _, err := docker.Ping(pingCtx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fmt.Errorf("docker: no daemon answers at %s: start it, or set DOCKER_HOST (%w)", docker.DaemonHost(), err)
	}
	if _, err := docker.ImageInspect(ctx, image); err == nil {
		return nil
	}
	// A pull that makes progress may take any time; one that makes none is
	// given up.
	pullCtx, cancelPull := context.WithCancel(ctx)
	defer cancelPull()
	watchdog := time.AfterFunc(stallTimeout, cancelPull)
	defer watchdog.Stop()
	pull, err := docker.ImagePull(pullCtx, image, client.ImagePullOptions{})
	if err == nil {
		defer pull.Close()
		for _, readErr := range pull.JSONMessages(pullCtx) {
			watchdog.Reset(stallTimeout)
			err = errors.Join(err, readErr)
		}
	}
	if err == nil {
		_, err = docker.ImageInspect(ctx, image)
	}
	if err != nil {
		return fmt.Errorf("docker: image %s is not here and cannot be pulled: "+
			"without a registry, run internal/servers/docker/build-image and set ZK_IMAGE as it says (%s)", image, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// removeStale removes the containers and networks of processes that have ended.
func removeStale(ctx context.Context, docker *client.Client) {
	dead := func(labels map[string]string) bool {
		pid, err := strconv.Atoi(labels[ownerLabel])
		if err != nil {
			return false
		}
		owner, err := os.FindProcess(pid)
		return err == nil && errors.Is(owner.Signal(syscall.Signal(0)), os.ErrProcessDone)
	}
	filters := make(client.Filters).Add("label", ownerLabel)
	if list, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters}); err == nil {
		for _, c := range list.Items {
			if dead(c.Labels) {
				docker.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			}
		}
	}
	if list, err := docker.NetworkList(ctx, client.NetworkListOptions{Filters: filters}); err == nil {
		for _, nw := range list.Items {
			if dead(nw.Labels) {
				docker.NetworkRemove(ctx, nw.ID, client.NetworkRemoveOptions{})
			}
		}
	}
}

// freePorts picks n unused ports of loopback. They are below those that systems
// give away, so that nobody gets the port of a node by chance: before the node
// starts, or while it is killed or cut off, and its clients go on dialing it.
func freePorts(n int) (ports []string, err error) {
	const from, to = 26_000, 30_000
	for range 1000 {
		port := strconv.Itoa(from + rand.IntN(to-from))
		l, listenErr := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if listenErr != nil {
			err = listenErr
			continue
		}
		defer l.Close() // together, so that none is picked twice
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("docker: no %d ports from %d on are free: %w", n, from, err)
}

// Close removes the containers and their network, whatever their state.
func (s *Servers) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // what is left fails the next step of a busy machine
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range s.nodes {
		wg.Go(func() {
			s.docker.ContainerRemove(ctx, n.container.GetContainerID(), client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		})
	}
	wg.Wait()
	if s.network != nil {
		s.docker.NetworkRemove(ctx, s.network.ID, client.NetworkRemoveOptions{})
	}
	s.docker.Close()
}
