// Command with runs a command with servers that it starts before and ends afterwards.
//
//	go run ./internal/servers/with zookeeper redis -- go test ./...
//
// The servers are zookeeper, postgres, mariadb, redis and etcd. The command finds them by the environment variables ZK,
// POSTGRES, MARIADB, REDIS and ETCD. SQL has the value of POSTGRES or MARIADB, whichever server is named last.
//
// There are ZooKeepers in containers, too: docker is one, docker:3 is an ensemble of three. Their image is the one that
// ZK_IMAGE names, by default the official zookeeper:3.9. The daemon must run; dockerd starts one if none does:
//
//	go run ./internal/servers/with dockerd docker:3 -- go test ./zklock
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/servers/docker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
	}
	os.Exit(status)
}

// sizes has the numbers of servers of the ensembles in containers.
var sizes = map[string]int{"docker": 1, "docker:1": 1, "docker:3": 3}

// run returns the exit status of the command, or an error of ours.
func run(ctx context.Context, args []string) (status int, err error) {
	at := slices.Index(args, "--")
	if at < 0 || at+1 == len(args) {
		return 2, errors.New("want SERVER... -- COMMAND...")
	}
	inDocker := 0 // how many ZooKeepers run in containers
	for _, name := range args[:at] {
		inDocker = max(inDocker, sizes[name])
	}
	names := slices.DeleteFunc(slices.Clone(args[:at]), func(name string) bool { return sizes[name] > 0 }) // the others
	started, err := servers.Begin(ctx, names...)
	if err != nil {
		return 1, err
	}
	defer started.End()
	if inDocker > 0 { // the daemon runs now: Begin may have started it
		zoo, err := docker.Open(ctx, inDocker)
		if err != nil {
			return 1, err
		}
		defer zoo.Close()
		fmt.Fprintln(os.Stderr, zoo)
		started.Env = append(started.Env, "ZK="+strings.Join(zoo.Addrs(), ","))
	}
	cmd := exec.CommandContext(ctx, args[at+1], args[at+2:]...)
	cmd.Env = append(os.Environ(), started.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err = cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
