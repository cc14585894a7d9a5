package docker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Deafen drops every packet that comes to the node from another one, silently: connections stay open. It lasts until
// Heal, or until the node is started again. Two nodes that are deafened to each other are cut from no other node.
//
// The rule goes with the node's container. It takes root, or sudo without a password, where the Docker daemon runs.
func (n *Node) Deafen(ctx context.Context, from *Node) error { return n.deafen(ctx, from) }

// DeafenToData is Deafen, but the node receives acknowledgements of what it sends, so that it can send more. After Heal
// it soon receives what was dropped: with tcp_thin_linear_timeouts the other one tries again at equal intervals.
func (n *Node) DeafenToData(ctx context.Context, from *Node) error {
	if err := from.inside(ctx, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/tcp_thin_linear_timeouts"); err != nil {
		return err
	}
	const longerThanAnAck = "65:" // bytes
	return n.deafen(ctx, from, "-p", "tcp", "-m", "length", "--length", longerThanAnAck)
}

func (n *Node) deafen(ctx context.Context, from *Node, only ...string) error {
	return n.iptables(ctx, append([]string{"-A", "INPUT", "-s", from.ip, "-j", "DROP"}, only...)...)
}

// DeafenToClients drops the packets that clients send to the node, until Heal.
func (n *Node) DeafenToClients(ctx context.Context) error {
	return n.iptables(ctx, "-A", "INPUT", "-p", "tcp", "--dport", "2181", "-j", "DROP")
}

// MuteToClients drops the packets that the node sends to clients, until Heal.
func (n *Node) MuteToClients(ctx context.Context) error {
	return n.iptables(ctx, "-A", "OUTPUT", "-p", "tcp", "--sport", "2181", "-j", "DROP")
}

// Heal ends what Deafen, DeafenToClients and MuteToClients have begun. A node that does not run has nothing to end.
func (n *Node) Heal(ctx context.Context) error {
	if n.sandbox == "" {
		return nil
	}
	return n.iptables(ctx, "-F")
}

func (n *Node) iptables(ctx context.Context, rule ...string) error {
	return n.inside(ctx, append([]string{"iptables", "-w"}, rule...)...)
}

// inside runs a command of this machine in the node's network.
func (n *Node) inside(ctx context.Context, command ...string) error {
	args := append([]string{"nsenter", "--net=" + n.sandbox}, command...)
	if os.Getuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return n.wrap("cut", err)
}
