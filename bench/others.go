package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/bench/internal/spec"
	"example.com/zklock/internal/language"
)

// others are the locks of docs/other-locks: the articles' locks that are not on
// ZooKeeper, and etcd's. Their clients and embedded servers would double what go
// run ./bench downloads, so this program has only their names. When -locks names
// one, it builds a second program with the build tag others, and with the tag
// etcd if -etcd is given, and runs that.
var others = []contestant{
	{name: "sqlrow", system: "SQL", tag: "others"},
	{name: "sqlversion", system: "SQL", tag: "others"},
	{name: "sqlforupdate", system: "SQL", tag: "others"},
	{name: "redis", system: "Redis", tag: "others"},
	{name: "etcd", system: "etcd", tag: "etcd"},
}

// server is the one that it is to run on; none on ZooKeeper.
func (c contestant) server() spec.Server { return spec.Server{System: c.system, Spec: c.spec} }

// flag names its server; "" on ZooKeeper.
func (c contestant) flag() string { return strings.ToLower(c.system) }

// arenas open the servers of others; each is there if this program was built
// with its tag.
var arenas = map[string]func(ctx context.Context, spec string) (arena, error){}

// An arena is a kind of lock on an open server.
type arena interface {
	String() string // the server, and what it does before it answers
	// begin makes n contenders, and all that their run needs.
	begin(ctx context.Context, n int) ([]otherLocker, error)
	// sent is how many requests have been sent so far, to the server's knowledge.
	sent() int64
	// end removes what begin has made.
	end(ctx context.Context) error
	// close removes what opening has made, and closes the client.
	close(ctx context.Context) error
}

// A stock is an arena whose contenders add to a count that the server keeps: it is not a
// lock, and is not tried.
type stock interface {
	count(ctx context.Context) (int, error)
}

// A watchedArena has a client that waits long for a server that goes away in the
// middle.
type watchedArena interface {
	// answers sends a request that is not counted, and waits for spec.AnswerTimeout.
	answers(ctx context.Context) error
}

// An otherLocker is one contender.
type otherLocker interface {
	contender
	Attempts() int64
}

// labelled is a server with a name of its own: label=spec.
var labelled = regexp.MustCompile(`^([a-zA-Z0-9-]+)=(.+)$`)

// onServers returns the locks with each of others once for each of its servers.
// If there are several, the names have the server's label.
func onServers(locks []contestant, servers map[string]string) (all []contestant, err error) {
	for _, c := range locks {
		if c.system == "" {
			all = append(all, c)
			continue
		}
		flag := c.flag()
		specs := []string{servers[flag]} // etcd's commas are between the servers of one cluster
		if flag != "etcd" {
			specs = strings.Split(servers[flag], ",")
		}
		for i, spec := range specs {
			label := fmt.Sprint(i + 1)
			if m := labelled.FindStringSubmatch(spec); m != nil {
				label, spec = m[1], m[2]
			}
			if i > 0 && strings.Contains(spec, "@") && !strings.Contains(spec, "://") && flag != "etcd" {
				return nil, language.Errorf("-%s: the part after comma %d is not an address; in a password a comma is written %%2C",
					"-%s：第 %d 个逗号之后的部分不是地址；密码里的逗号要写成 %%2C", flag, i)
			}
			if spec == "" && flag != "etcd" {
				return nil, language.Errorf("-%s: it names no server", "-%s：没有写出服务器", flag)
			}
			on := c
			on.spec = spec
			if spec == "" || arenas[c.name] != nil {
				on.open = elsewhere(c.name)
			}
			if len(specs) > 1 {
				on.name += "/" + label
			}
			if slices.ContainsFunc(all, func(c contestant) bool { return c.name == on.name }) {
				return nil, language.Errorf("-%s: %s is named twice", "-%s：%s 写了两次", flag, label)
			}
			all = append(all, on)
		}
	}
	for _, c := range all {
		if err := c.server().Check(); err != nil {
			return nil, language.Errorf("-%s: %w", "-%s：%v", c.flag(), err)
		}
	}
	return all, nil
}
