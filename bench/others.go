package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// others are the locks of docs/other-locks: the articles' locks that are not on
// ZooKeeper, and etcd's. Their clients and embedded servers would double what go
// run ./bench downloads, so this program has only their names. When -locks names
// one, it builds a second program with the build tag others, and with the tag
// etcd if -etcd is given, and runs that.
var others = []contestant{
	{name: "sqlrow", other: &other{flag: "sql", tag: "others"}},
	{name: "sqlversion", other: &other{flag: "sql", tag: "others", counts: true}},
	{name: "sqlforupdate", other: &other{flag: "sql", tag: "others"}},
	{name: "redis", other: &other{flag: "redis", tag: "others"}},
	{name: "etcd", other: &other{flag: "etcd", tag: "etcd"}},
}

// arenas open the servers of others; each is there if this program was built
// with its tag.
var arenas = map[string]func(ctx context.Context, spec string) (arena, error){}

// other has the fields of a contestant that is not on ZooKeeper.
type other struct {
	flag   string // names its server
	tag    string // the build tag that it needs
	counts bool   // the count is kept on the server, and the contender adds to it: it is not a lock
	kind   string // the contestant's name, without the server's
	spec   string // of its server; "" if it has none
}

// An arena is a kind of lock on an open server.
type arena interface {
	String() string // the server, and what it does before it answers
	// begin makes n contenders, and all that their run needs.
	begin(ctx context.Context, n int) ([]otherLocker, error)
	// count is the count that the server has kept, for those that count there.
	count(ctx context.Context) (int, error)
	// sent is how many requests have been sent so far, to the server's knowledge.
	sent() int64
	// end removes what begin has made.
	end(ctx context.Context) error
	// close removes what opening has made, and closes the client.
	close(ctx context.Context) error
}

// answerTimeout is the time that a server of a watchedArena may take to answer.
const answerTimeout = 5 * time.Second

// A watchedArena has a client that waits long for a server that goes away in the
// middle.
type watchedArena interface {
	// answers sends a request that is not counted, and waits for answerTimeout.
	answers(ctx context.Context) error
}

// An otherLocker is one contender.
type otherLocker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	Attempts() int64
}

// labelled is a server with a name of its own: label=spec.
var labelled = regexp.MustCompile(`^([a-zA-Z0-9-]+)=(.+)$`)

// onServers returns the locks with each of others once for each of its servers.
// If there are several, the names have the server's label.
func onServers(locks []contestant, servers map[string]string) (all []contestant, err error) {
	for _, c := range locks {
		if c.other == nil {
			all = append(all, c)
			continue
		}
		specs := strings.Split(servers[c.other.flag], ",")
		if c.other.flag == "etcd" {
			specs = specs[:1] // its commas are between the servers of one cluster
			specs[0] = servers["etcd"]
		}
		for i, spec := range specs {
			label := fmt.Sprint(i + 1)
			if m := labelled.FindStringSubmatch(spec); m != nil {
				label, spec = m[1], m[2]
			}
			if i > 0 && strings.Contains(spec, "@") && !strings.Contains(spec, "://") && c.other.flag != "etcd" {
				return nil, fmt.Errorf("-%s: the part after comma %d is not an address; in a password a comma is written %%2C", c.other.flag, i)
			}
			if spec == "" && c.other.flag != "etcd" {
				return nil, fmt.Errorf("-%s: it names no server", c.other.flag)
			}
			o := *c.other
			o.kind, o.spec = c.name, spec
			on := c
			on.other = &o
			if len(specs) > 1 {
				on.name += "/" + label
			}
			if slices.ContainsFunc(all, func(c contestant) bool { return c.name == on.name }) {
				return nil, fmt.Errorf("-%s: %s is named twice", c.other.flag, label)
			}
			all = append(all, on)
		}
	}
	return all, nil
}

// openArenas opens the servers of the locks, so that a wrong address or password
// ends the benchmark before it begins.
func (b *benchmark) openArenas(ctx context.Context) error {
	b.arenas = make(map[string]arena)
	for _, c := range b.cfg.locks {
		if c.other == nil || c.other.spec == "" {
			continue
		}
		a, err := arenas[c.other.kind](ctx, c.other.spec)
		if err != nil {
			return errors.Join(fmt.Errorf("-%s: %w", c.other.flag, err), b.closeArenas())
		}
		b.arenas[c.name] = a
	}
	return nil
}

// serverOf is the server that a lock runs on.
func (b *benchmark) serverOf(c contestant) string {
	if a := b.arenas[c.name]; a != nil {
		return a.String()
	}
	if c.other != nil {
		return c.other.kind // without a server
	}
	return b.zoo.String()
}

func (b *benchmark) closeArenas() (err error) {
	for _, c := range b.cfg.locks {
		if a := b.arenas[c.name]; a != nil {
			ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
			if e := a.close(ctx); e != nil && err == nil {
				err = fmt.Errorf("left behind on %v: %w", a, e)
			}
			cancel()
		}
	}
	return err
}
