package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
)

type Child struct {
	Name       string
	Data       []byte
	Unreadable bool // the client may not read the data
	Stat       *zk.Stat
}

// ReadChildren returns those children of a node whose names are wanted, read side by side. It
// begins with a sync: the client's server may be behind the one through which a child was made.
func (c *Client) ReadChildren(stop <-chan struct{}, node string, wanted func(name string) bool) (all []Child, err error) {
	if err := c.Sync(stop); err != nil {
		return nil, err
	}
	names, _, err := c.Children(stop, node)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if wanted(name) {
			all = append(all, Child{Name: name})
		}
	}
	const atOnce = 100
	errs, slots := make([]error, len(all)), make(chan struct{}, atOnce)
	var reading sync.WaitGroup
	for i := range all {
		slots <- struct{}{}
		reading.Go(func() {
			errs[i] = c.read(stop, node+"/"+all[i].Name, &all[i])
			<-slots
		})
	}
	reading.Wait()
	hasGone := func(child Child) bool { return child.Stat == nil }
	return slices.DeleteFunc(all, hasGone), cmp.Or(errs...)
}

// read fills in a child. Stat is nil if the node has gone.
func (c *Client) read(stop <-chan struct{}, path string, child *Child) (err error) {
	child.Data, child.Stat, err = c.Get(stop, path)
	child.Unreadable = errors.Is(err, zk.ErrNoAuth)
	there := !errors.Is(err, zk.ErrNoNode)
	if child.Unreadable {
		exists := func() (err error) { there, child.Stat, err = c.conn.Exists(path); return err } // needs no permission
		err = c.insist(stop, anyServer, exists)
	}
	if !there {
		child.Stat = nil
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
