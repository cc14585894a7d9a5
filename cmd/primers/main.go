// Command primers runs the small programs of the primers in docs/exercises/primers: what ZooKeeper offers for an
// exercise, without the lock. Each program is one file, to be read and changed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock/zkconn"
)

// programs are those of the exercises with the same numbers.
var programs = map[int]func(p *programRun){
	1: oneNode, 2: queue, 3: neighbour, 4: owners, 5: deadline,
	6: lostReply, 7: versions, 8: manyWatches, 9: twoKinds, 10: terms,
}

func main() {
	reads := i18n.Of("")
	if err := command(os.Args[1:], os.Stdout, os.Stderr, &reads); err != nil {
		fmt.Fprintln(os.Stderr, "primers:", i18n.TextOf(err).In(reads))
		os.Exit(i18n.Status(err))
	}
}

// command runs the program that the arguments name. The help and the errors are in the
// reader's language; what a program prints is the same for all readers.
func command(args []string, out, help io.Writer, reads *i18n.Language) error {
	flags := flag.NewFlagSet("primers", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	servers := flags.String("zk", "127.0.0.1:2181", i18n.FlagUsage("`address` of the ZooKeeper, or several: host:port,host:port"))
	flags.Var(reads, "lang", i18n.Usage)
	usage := i18n.Textf("Runs the program of a primer: go run ./cmd/primers 1\n\n%s", needed)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(help, "%s\n\n%s", usage.In(*reads), reads.Help(flags))
		return nil
	} else if err != nil {
		return i18n.Misusef("%w", i18n.WrongFlag(flags, err))
	}
	number, _ := strconv.Atoi(flags.Arg(0))
	if programs[number] == nil || flags.NArg() != 1 {
		return i18n.Misusef("%s", usage)
	}
	return run(number, strings.Split(*servers, ","), out)
}

var needed = i18n.Text("It needs a ZooKeeper; this serves one in another terminal: go run ./cmd/zklock serve 127.0.0.1:2181")

// run runs a program and removes what it has left at the server.
func run(number int, servers []string, out io.Writer) (err error) {
	p := &programRun{servers: servers, out: out, path: fmt.Sprintf("/primer-%d", number)}
	defer p.close()
	conn, err := p.connect()
	if err != nil {
		return i18n.Errorf("%w\n%s", err, needed)
	}
	if err := remove(conn, p.path); err != nil { // what an earlier run has left
		return err
	}
	defer remove(conn, p.path)
	defer func() {
		r := recover()
		if f, ok := r.(failure); ok {
			err = f.error
		} else if r != nil {
			panic(r)
		}
	}()
	programs[number](p)
	return nil
}

type failure struct{ error }

func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// created ends the program if a create, whose results these are, has failed.
func created(_ string, err error) { must(err) }

// A programRun is one run of a program.
type programRun struct {
	servers []string
	out     io.Writer
	path    string // below which it makes its nodes
	clients []*zk.Conn
}

// patience is the time that a server has to answer at first; the tests change it.
var patience = 10 * time.Second

// client opens a client: a session of its own, as another process would have.
func (p *programRun) client() *zk.Conn {
	conn, err := p.connect()
	must(err)
	return conn
}

func (p *programRun) connect() (*zk.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := zkconn.Connect(ctx, p.servers, 10*time.Second)
	if err == nil {
		p.clients = append(p.clients, conn)
	}
	return conn, err
}

func (p *programRun) close() {
	for _, conn := range p.clients {
		conn.Close()
	}
}

func (p *programRun) say(line string, args ...any) { fmt.Fprintf(p.out, line+"\n", args...) }

// everybody may do everything with a node that is made with it.
var everybody = zk.WorldACL(zk.PermAll)

// parent makes a node that stays when its maker has gone.
func parent(conn *zk.Conn, path string) {
	if _, err := conn.Create(path, nil, zk.FlagPersistent, everybody); err != zk.ErrNodeExists {
		must(err)
	}
}

func remove(conn *zk.Conn, path string) error {
	children, _, err := conn.Children(path)
	if err == zk.ErrNoNode {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := remove(conn, path+"/"+child); err != nil {
			return err
		}
	}
	if err := conn.Delete(path, -1); err != zk.ErrNoNode {
		return err
	}
	return nil
}

// arrived looks whether an event has come. The server sends a client its events and its replies in one order, so a
// request whose reply has come has no older event behind it.
func arrived(conn *zk.Conn, events <-chan zk.Event) string {
	conn.Exists("/")
	select {
	case e, open := <-events:
		if !open {
			return "no event, and the channel is closed"
		}
		return e.Type.String()
	default:
		return "no event"
	}
}
