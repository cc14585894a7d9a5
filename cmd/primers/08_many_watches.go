package main

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// manyWatches is the program of primer 8: one wait for the events of several
// watches.
func manyWatches(p *programRun) error {
	a, b, err := p.two()
	if err != nil {
		return err
	}
	if err := parent(a, p.path); err != nil {
		return err
	}

	// Each watch has a channel of its own. A goroutine for each passes its event on; the
	// channel has room for all, so none of them waits for a receiver.
	const guests = 3
	events := make(chan zk.Event, guests)
	for i := range guests {
		node := fmt.Sprintf("%s/guest-%d", p.path, i)
		if _, err := a.Create(node, nil, zk.FlagEphemeral, everybody); err != nil {
			return err
		}
		_, _, one, err := b.GetW(node)
		if err != nil {
			return err
		}
		go func() { events <- <-one }()
	}
	for _, i := range []int{1, 0} {
		if err := a.Delete(fmt.Sprintf("%s/guest-%d", p.path, i), -1); err != nil {
			return err
		}
		event := <-events
		p.say("b's event: %v %v", event.Type, event.Path)
	}

	// Two watches of one client on one node are one watch at the server, which sends one
	// event, and the client gives it to both channels.
	_, _, one, err := b.GetW(p.path + "/guest-2")
	if err != nil {
		return err
	}
	if err := a.Delete(p.path+"/guest-2", -1); err != nil {
		return err
	}
	p.say("on both channels: %v, %v", (<-events).Type, (<-one).Type)
	return nil
}
