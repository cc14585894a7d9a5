//go:build docker

package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"

	"github.com/moby/moby/client"
)

// Deafen drops every packet that comes to the node from another one, silently:
// connections stay open. It does so until Heal, or until the node is started
// again. Where both nodes are deafened to each other, they are cut from each
// other, and only from each other.
//
// The rule is in the network namespace of the node's container, so it goes with
// the container. It takes root, or sudo without a password, on the machine of
// the Docker daemon.
func (n *Node) Deafen(ctx context.Context, from *Node) error {
	return n.deafen(ctx, from)
}

// DeafenToData is Deafen, but the node receives acknowledgements of what it
// sends, so that it can send more; and after Heal it soon receives what was
// dropped, because the other one tries again at equal intervals.
func (n *Node) DeafenToData(ctx context.Context, from *Node) error {
	if err := from.inside(ctx, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/tcp_thin_linear_timeouts"); err != nil {
		return err
	}
	return n.deafen(ctx, from, "-p", "tcp", "-m", "length", "--length", "65:")
}

func (n *Node) deafen(ctx context.Context, from *Node, only ...string) error {
	_, ip, err := from.where(ctx)
	if err == nil && !ip.IsValid() {
		err = errors.New("it is on no network")
	}
	if err != nil {
		return fmt.Errorf("cut %s from %s: %w", n.name, from.name, err)
	}
	return n.iptables(ctx, append([]string{"-A", "INPUT", "-s", ip.String(), "-j", "DROP"}, only...)...)
}

// DeafenToClients drops the packets that clients send to the node, until Heal.
func (n *Node) DeafenToClients(ctx context.Context) error {
	return n.iptables(ctx, "-A", "INPUT", "-p", "tcp", "--dport", "2181", "-j", "DROP")
}

// MuteToClients drops the packets that the node sends to clients, until Heal.
func (n *Node) MuteToClients(ctx context.Context) error {
	return n.iptables(ctx, "-A", "OUTPUT", "-p", "tcp", "--sport", "2181", "-j", "DROP")
}

// Heal ends what Deafen, DeafenToClients and MuteToClients have begun. For a
// node that does not run there is nothing to end.
func (n *Node) Heal(ctx context.Context) error {
	if pid, _, err := n.where(ctx); err != nil || pid == 0 {
		return n.wrap("heal", err)
	}
	return n.iptables(ctx, "-F")
}

// where returns the number of the node's process, 0 if it does not run, and
// the node's address for its peers.
func (n *Node) where(ctx context.Context) (pid int, ip netip.Addr, err error) {
	inspected, err := n.docker.ContainerInspect(ctx, n.container.GetContainerID(), client.ContainerInspectOptions{})
	if err != nil {
		return 0, ip, err
	}
	c := inspected.Container
	for _, endpoint := range c.NetworkSettings.Networks {
		if endpoint.NetworkID == n.network {
			ip = endpoint.IPAddress
		}
	}
	return c.State.Pid, ip, nil
}

func (n *Node) iptables(ctx context.Context, rule ...string) error {
	return n.inside(ctx, append([]string{"iptables", "-w"}, rule...)...)
}

// inside runs a command of this machine in the node's network.
func (n *Node) inside(ctx context.Context, command ...string) error {
	pid, _, err := n.where(ctx)
	if err == nil && pid == 0 {
		err = errors.New("it does not run")
	}
	if err != nil {
		return n.wrap("cut", err)
	}
	args := append([]string{"nsenter", "-t", strconv.Itoa(pid), "-n"}, command...)
	if os.Getuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return n.wrap("cut", err)
}
