package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/when"
)

// This builds the second program and runs it, with nothing but Go.
func TestOtherLocksCountRightOnEmbeddedServers(t *testing.T) {
	when.NotRaced(t, "it runs another program")
	when.Embedded(t, "has servers of its own")
	beside(t)
	status, stdout, stderr := bench(t, "-locks", "predecessor,others", "-n", "5,20")
	require.Zero(t, status, stderr)
	for _, n := range []string{"5", "20"} {
		for _, lock := range []string{"predecessor", "sqlrow", "sqlversion", "sqlforupdate", "redis"} {
			require.Regexp(t, `(?m)^`+lock+` +`+n+` +`+n+` +[0-9.]+ ms +- +[0-9.]+ +[0-9.]+ `, stdout, "attempts and requests")
		}
		require.Regexp(t, `(?m)^etcd +`+n+` +cannot run: it has no embedded server; name one that is running, -etcd host:port`, stdout)
		require.Regexp(t, `(?m)^sqlforupdate +`+n+` .* 1\.0 +4\.0 `, stdout, "a queue at the server: one attempt each")
	}
	if _, ok := programs.Load("[] [others]"); !ok {
		require.NotNil(t, arenas["sqlrow"], "they are in a program that has their tag")
	}
	require.Contains(t, stdout, "sqlrow: SQLite 3.")
	require.Contains(t, stdout, "attempts: how many times a contender asked for the lock")
}

func TestOtherServersThatAreNotThereAreOneLine(t *testing.T) {
	when.NotRaced(t, "it runs another program")
	when.Embedded(t, "no server is there")
	beside(t)
	program, err := whole()
	require.NoError(t, err)
	for flag, spec := range map[string]string{"-redis": "127.0.0.1:1", "-sql": "postgres://zklock:secret@127.0.0.1:1/x"} {
		lock := map[string]string{"-redis": "redis", "-sql": "sqlrow"}[flag]
		status, stdout, stderr := execute(t, program, "-locks", lock, "-n", "5", flag, spec)
		require.Equal(t, exitFailure, status)
		require.NotContains(t, stdout, lock)
		oneLine(t, stderr, "bench: "+flag+": ")
		require.Contains(t, stderr, "127.0.0.1:1")
		require.NotContains(t, stderr, "secret")
	}
}

// What the servers' clients are not needed for is said before they are built.
func TestAServerThatIsNotThereIsSaidBeforeTheBuild(t *testing.T) {
	if arenas["redis"] != nil {
		t.Skip("this program has the other locks, and builds none")
	}
	set(t, &build, func(context.Context, []string, []string, string) (string, error) {
		return "", errors.New("built")
	})
	for args, want := range map[string]string{
		"-locks redis -redis 127.0.0.1:1":                          "bench: -redis: dial tcp 127.0.0.1:1: ",
		"-locks redis -redis redis://:secret@127.0.0.1:1":          "bench: -redis: dial tcp 127.0.0.1:1: ",
		"-locks sqlrow -sql postgres://zklock:secret@127.0.0.1:1/": "bench: -sql: dial tcp 127.0.0.1:1: ",
		"-locks sqlrow -sql sqlite:/no/such/folder/x":              "bench: -sql: stat /no/such/folder: ",
		"-locks etcd -etcd 127.0.0.1:1":                            "bench: -etcd: dial tcp 127.0.0.1:1: ",
		"-locks redis":                                             "bench: -locks: built",
	} {
		status, stdout, stderr := runWithOutput(t.Context(), append(strings.Fields(args), "-n", "5")...)
		require.Equal(t, exitFailure, status)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
		require.NotContains(t, stderr, "secret")
	}
}

func TestFlagsOfOtherLocks(t *testing.T) {
	cfg, err := parseFlags(strings.Fields("-locks sqlrow,naive -sql disk=sqlite:a.db,memory=embedded,embedded"), new(bytes.Buffer))
	require.NoError(t, err)
	require.Equal(t, []string{"sqlrow/disk", "sqlrow/memory", "sqlrow/3", "naive"}, namesOf(cfg.locks))
	require.Equal(t, "sqlite:a.db", cfg.locks[0].spec)

	cfg, err = parseFlags(strings.Fields("-locks etcd -etcd a:1,b:2"), new(bytes.Buffer))
	require.NoError(t, err)
	require.Equal(t, "a:1,b:2", cfg.locks[0].spec, "one cluster")

	for args, want := range map[string]string{
		"-sql embedded":                                 "-sql: -locks names no lock that runs there; add others",
		"-locks redis -redis a=x:1,a=y:2":               "-redis: a is named twice",
		"-locks sqlrow -sql postgres://u:se,cret@x:1/d": "-sql: the part after comma 1 is not an address; in a password a comma is written %2C",
		"-locks redis -redis x:1,":                      "-redis: it names no server",
		"-locks redis -redis nohost":                    "-redis: it is not host:port",
		"-locks redis -redis mysql://x/y":               "-redis: it is not on mysql",
		"-locks sqlrow -sql x.db":                       "-sql: it is not a database",
		"-locks sqlrow -sql mysql://u:se%cret@x/y":      "-sql: it is not a URL",
		"-locks sqlrow -sql sqlite:":                    "-sql: it names no file",
		"-locks etcd -etcd nohost":                      "-etcd: it is not host:port",
		"-locks redis,others":                           "-locks: redis is named twice",
		"-locks redis -join -zk 127.0.0.1:2181":         "-join: it is for locks on ZooKeeper",
		"-locks sqlrow,redis,nosuch -redis 127.0.0.1:1": `-locks: no lock is called "nosuch"`,
	} {
		_, err := parseFlags(strings.Fields(args), new(bytes.Buffer))
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "cret")
	}
}
