package ensemble

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
)

const (
	defaultImage = "zookeeper:3.9" // the official one
	// ownerLabel says which process a container is for, so that the next one
	// can remove what a process that was killed has left.
	ownerLabel = "zklock.owner"

	daemonTimeout = 5 * time.Second  // for a daemon to answer
	stallTimeout  = 15 * time.Second // without a word from the registry
	startTimeout  = time.Minute      // for the servers to serve: a JVM each, and an election
)

// A Node is one server of an ensemble in Docker, which tests can break. All
// methods return when the deed is done; what the servers make of it, such as
// an election, takes longer.
type Node struct {
	name      string
	addr      string // on this machine
	container testcontainers.Container
	docker    *client.Client
	network   string // id; "" for a single server
}

// Addr is where clients reach the node, host:port. It stays the same when
// the node is started again.
func (n *Node) Addr() string { return n.addr }

// Mode is what the node says it is: standalone, leader or follower. A node
// that does not serve is an error.
func (n *Node) Mode(ctx context.Context) (string, error) {
	_, mode, err := ask(ctx, n.addr)
	return mode, err
}

// Kill ends the server's process at once; Start starts it again with its
// data.
func (n *Node) Kill(ctx context.Context) error {
	_, err := n.docker.ContainerKill(ctx, n.container.GetContainerID(), client.ContainerKillOptions{Signal: "KILL"})
	return n.wrap("kill", err)
}

// Stop asks the server to end, and kills it if it does not within a second.
func (n *Node) Stop(ctx context.Context) error {
	second := 1
	_, err := n.docker.ContainerStop(ctx, n.container.GetContainerID(), client.ContainerStopOptions{Timeout: &second})
	return n.wrap("stop", err)
}

// Start starts a node that was killed or stopped.
func (n *Node) Start(ctx context.Context) error {
	_, err := n.docker.ContainerStart(ctx, n.container.GetContainerID(), client.ContainerStartOptions{})
	return n.wrap("start", err)
}

// Pause freezes the server: its connections stay open and nothing answers.
func (n *Node) Pause(ctx context.Context) error {
	_, err := n.docker.ContainerPause(ctx, n.container.GetContainerID(), client.ContainerPauseOptions{})
	return n.wrap("pause", err)
}

// Unpause lets a paused server go on.
func (n *Node) Unpause(ctx context.Context) error {
	_, err := n.docker.ContainerUnpause(ctx, n.container.GetContainerID(), client.ContainerUnpauseOptions{})
	return n.wrap("unpause", err)
}

// CutOff takes the node off the network, from its peers and its clients
// alike, until Rejoin. A single server cannot be cut off.
func (n *Node) CutOff(ctx context.Context) error {
	if n.network == "" {
		return fmt.Errorf("cut off %s: a single server has no peers", n.name)
	}
	_, err := n.docker.NetworkDisconnect(ctx, n.network, client.NetworkDisconnectOptions{Container: n.container.GetContainerID(), Force: true})
	return n.wrap("cut off", err)
}

// Rejoin puts a node back on the network.
func (n *Node) Rejoin(ctx context.Context) error {
	_, err := n.docker.NetworkConnect(ctx, n.network, client.NetworkConnectOptions{
		Container:      n.container.GetContainerID(),
		EndpointConfig: &network.EndpointSettings{Aliases: []string{n.name}},
	})
	return n.wrap("rejoin", err)
}

func (n *Node) wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, n.name, err)
	}
	return nil
}

// Nodes are the servers of an ensemble that was opened with "docker" or
// "docker:3"; none for the others.
func (e *Ensemble) Nodes() []*Node { return e.nodes }

// Leader is the node that leads now; for a single server, that.
func (e *Ensemble) Leader(ctx context.Context) (*Node, error) {
	for _, n := range e.nodes {
		if mode, err := n.Mode(ctx); err == nil && (mode == "leader" || mode == "standalone") {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no server of %v leads", e)
}

type quietLogger struct{}

func (quietLogger) Printf(string, ...any) {}

// openDocker starts n servers.
func openDocker(ctx context.Context, n int) (_ *Ensemble, err error) {
	image := cmp.Or(os.Getenv("ZK_IMAGE"), defaultImage)
	tclog.SetDefault(quietLogger{})
	docker, err := client.NewClientWithOpts(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	e := &Ensemble{dial: net.DialTimeout, docker: docker}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if err := haveImage(ctx, docker, image); err != nil {
		return nil, err
	}
	removeStale(ctx, docker)

	labels := map[string]string{ownerLabel: strconv.Itoa(os.Getpid())}
	networkID := ""
	if n > 1 {
		e.network, err = tcnetwork.New(ctx, tcnetwork.WithLabels(labels))
		if err != nil {
			return nil, fmt.Errorf("docker: network: %w", err)
		}
		networkID = e.network.ID
	}
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	errs := make([]error, n)
	e.nodes = make([]*Node, n)
	for i := range n {
		node := &Node{name: fmt.Sprintf("zoo%d", i+1), addr: net.JoinHostPort("127.0.0.1", ports[i]), docker: docker, network: networkID}
		e.servers = append(e.servers, node.addr)
		wg.Go(func() {
			req := testcontainers.ContainerRequest{
				Image:        image,
				ExposedPorts: []string{"2181/tcp"},
				Labels:       labels,
				Files: []testcontainers.ContainerFile{
					{Reader: strings.NewReader(configFile(n)), ContainerFilePath: "/conf/zoo.cfg", FileMode: 0o644},
					{Reader: strings.NewReader(strconv.Itoa(i+1) + "\n"), ContainerFilePath: "/data/myid", FileMode: 0o644},
				},
				HostConfigModifier: func(h *container.HostConfig) {
					// On loopback alone, and the same port after a restart.
					h.PortBindings = network.PortMap{network.MustParsePort("2181/tcp"): {
						{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: ports[i]},
					}}
				},
			}
			if n > 1 {
				req.Networks = []string{e.network.Name}
				req.NetworkAliases = map[string][]string{e.network.Name: {node.name}}
			}
			node.container, errs[i] = testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{ContainerRequest: req, Started: true})
			if node.container != nil {
				e.nodes[i] = node
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("docker: start %s: %s", image, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if err := e.serve(ctx); err != nil {
		return nil, err
	}
	version, mode, err := ask(ctx, e.servers[0])
	if err != nil {
		return nil, err
	}
	if n > 1 {
		mode = fmt.Sprintf("ensemble of %d", n)
	}
	e.label = fmt.Sprintf("docker %s (ZooKeeper %s, %s)", image, version, mode)
	return e, nil
}

func configFile(n int) string {
	var b bytes.Buffer
	b.WriteString("tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=/data\nclientPort=2181\nmaxClientCnxns=0\n" +
		"admin.enableServer=false\n4lw.commands.whitelist=srvr,ruok\n")
	if n > 1 {
		for i := range n {
			fmt.Fprintf(&b, "server.%d=zoo%d:2888:3888\n", i+1, i+1)
		}
	}
	return b.String()
}

// serve waits until every node serves.
func (e *Ensemble) serve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, n := range e.nodes {
		for {
			_, err := n.Mode(ctx)
			if err == nil {
				break
			}
			select {
			case <-time.After(100 * time.Millisecond): // there is nothing to be told by
			case <-ctx.Done():
				return fmt.Errorf("docker: %s does not serve within %v: %w", n.name, startTimeout, err)
			}
		}
	}
	return nil
}

// haveImage makes sure that there is a daemon, and that it has the image.
func haveImage(ctx context.Context, docker *client.Client, image string) error {
	pingCtx, cancel := context.WithTimeout(ctx, daemonTimeout)
	defer cancel()
	if _, err := docker.Ping(pingCtx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fmt.Errorf("docker: no daemon answers at %s: start it, or set DOCKER_HOST (%w)", docker.DaemonHost(), err)
	}
	if _, err := docker.ImageInspect(ctx, image); err == nil {
		return nil
	}
	// A registry that says nothing is as good as none, however long a pull may
	// take that makes progress.
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
		return fmt.Errorf("docker: image %s is not here and cannot be pulled: without a registry, run internal/ensemble/build-image and set ZK_IMAGE as it says (%s)",
			image, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// removeStale removes what processes have left that are no more.
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

// freePorts picks n ports of loopback that nobody uses.
func freePorts(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // together, so that none is picked twice
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports, nil
}

// closeDocker removes the containers and their network, whatever the state
// they are in.
func (e *Ensemble) closeDocker() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range e.nodes {
		if n != nil {
			wg.Go(func() {
				e.docker.ContainerRemove(ctx, n.container.GetContainerID(), client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			})
		}
	}
	wg.Wait()
	if e.network != nil {
		e.docker.NetworkRemove(ctx, e.network.ID, client.NetworkRemoveOptions{})
	}
	e.docker.Close()
}
