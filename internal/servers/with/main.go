// Command with runs a command with servers that it starts before and ends afterwards:
//
//	go run ./internal/servers/with zookeeper redis -- go test ./...
//
// The servers are zookeeper, postgres, mariadb, redis, etcd and docker. The command finds them by
// the environment variables ZK, POSTGRES, MARIADB, REDIS and ETCD; SQL is PostgreSQL or MariaDB,
// of both the one that is named last.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"example.com/zklock/internal/servers"
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

// run returns the exit status of the command, or an error of ours.
func run(ctx context.Context, args []string) (status int, err error) {
	at := slices.Index(args, "--")
	if at < 0 || at+1 == len(args) {
		return 2, errors.New("want SERVER... -- COMMAND...")
	}
	started, err := servers.Begin(ctx, args[:at]...)
	if err != nil {
		return 1, err
	}
	defer started.End()
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
