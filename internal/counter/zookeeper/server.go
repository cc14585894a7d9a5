// Package zookeeper plays locks on ZooKeeper for the counter benchmark. The requests are counted on the wire.
package zookeeper

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
)

// Settings are what the runs have in common.
type Settings struct {
	Path  string          // the znode to work under
	Limit time.Duration   // of a run; 0: none
	RTT   time.Duration   // the round trip time that is put between the clients and the server
	Say   func(i18n.Text) // tells the user what is being done
	Work  func(int) error // what a contender does while it holds the lock; nil: it counts, and no more
	Step  func()          // what a contender does after each Unlock; nil: nothing

	Program   string // plays long holds in a process of its own: PlayHold; "": they are not played
	Processes int    // how many contend for the same locks, all with the same Flags; 0: this one is alone
	Flags     string
}

// A Server is the ZooKeeper that the locks are measured on, with a node for this benchmark.
type Server struct {
	Settings
	zoo     *ensemble.Ensemble
	admin   *zk.Conn     // makes and removes the nodes around the locks
	root    string       // the parent of all nodes of this benchmark
	runs    atomic.Int64 // so far: each has a path of its own
	group   *group       // nil: this process is alone
	warming sync.Once    // says once that the server is warmed up
}

const (
	connectTimeout = time.Minute      // for a server that answered once to open a session
	cleanTimeout   = 30 * time.Second // for a clean-up
	sessionTimeout = 30 * time.Second // for which a machine may stop, and for which a killed process counts as present
)

// Open connects to a server and makes the node. With several processes it waits until all of them are there.
func Open(ctx context.Context, zoo *ensemble.Ensemble, settings Settings) (*Server, error) {
	s := &Server{Settings: settings, zoo: zoo}
	connectCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var err error
	if s.admin, err = zoo.Connect(connectCtx, ensemble.Options{SessionTimeout: sessionTimeout}); err != nil {
		return nil, err
	}
	if s.Processes > 0 {
		s.group = newGroup(ctx, s)
		s.root, err = s.group.meet()
		err = s.endOfGroup(err)
	} else {
		s.root = s.Path + "/" + rand.Text()[:8] // its own, should two benchmarks run at once
		if err = create(s.admin, s.root, ""); err != nil {
			err = i18n.Errorf("-path: create %s: %w", s.root, err)
		}
	}
	if err != nil {
		return nil, s.Close(err)
	}
	return s, nil
}

// Close removes all nodes that were made, and disconnects. It returns err, with what went wrong.
func (s *Server) Close(err error) error {
	defer s.admin.Close()
	if s.group == nil {
		return errors.Join(err, s.bounded(s.clean))
	}
	if s.admin.State() != zk.StateHasSession {
		s.group.end(nil)
		return err // no server is there for a clean-up; the next group of processes removes what is left
	}
	return errors.Join(err, s.bounded(s.group.leave))
}

func (s *Server) Zoo() *ensemble.Ensemble { return s.zoo }

// endOfGroup is called with the error of a step, or nil. If the processes no longer run together, the reason for that
// takes the place of the error, which follows from it. An error about two holders stays.
func (s *Server) endOfGroup(err error) error {
	if err == nil || s.group == nil || errors.Is(err, errTwoProcesses) || errors.Is(err, counter.ErrTwoHolders) {
		return err
	}
	return cmp.Or(context.Cause(s.group.ctx), err)
}

// madeHere is the data of the nodes above those of the runs. A process that leaves such a node empty removes it.
const madeHere = "made by bench"

// create makes a node, and all above it, unless they are there.
func create(admin *zk.Conn, node, data string) error {
	_, err := admin.Create(node, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNoNode) {
		if err = create(admin, path.Dir(node), madeHere); err == nil {
			return create(admin, node, data)
		}
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// removeEmpty removes a node and those above it that create made for one below them, as far as they are empty.
func removeEmpty(admin *zk.Conn, node string) error {
	for ; node != "/"; node = path.Dir(node) {
		data, _, err := admin.Get(node)
		if err == nil && string(data) == madeHere {
			err = admin.Delete(node, -1)
		} else if err == nil {
			return nil
		}
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clean removes all nodes that were made. Those above the root stay if they have other children.
func (s *Server) clean() error {
	if err := s.remove(s.root); err != nil {
		return err
	}
	return removeEmpty(s.admin, path.Dir(s.root))
}

// bounded runs a clean-up, and waits for it no longer than cleanTimeout.
func (s *Server) bounded(cleanUp func() error) error {
	done := make(chan error, 1)
	go func() { done <- cleanUp() }()
	select {
	case err := <-done:
		if err != nil {
			return i18n.Errorf("left behind: %s: %w", s.root, err)
		}
		return nil
	case <-time.After(cleanTimeout):
		return i18n.Errorf("left behind: %s: no answer from %v within %v", s.root, s.zoo, cleanTimeout)
	}
}

// remove removes a node and all below it.
func (s *Server) remove(node string) error {
	children, _, err := s.admin.Children(node)
	if err = ignoreNoNode(err); err != nil {
		return err
	}
	// All at once: Curator's process may have left thousands.
	errs := make([]error, len(children))
	var wg sync.WaitGroup
	for i, child := range children {
		wg.Go(func() { errs[i] = s.remove(node + "/" + child) })
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	return ignoreNoNode(s.admin.Delete(node, -1))
}

// ignoreNoNode returns the error of a request for a node, or nil if the error is that there is no such node.
func ignoreNoNode(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}
