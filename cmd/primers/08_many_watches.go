package main

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// manyWatches is the program of primer 8: one wait for the events of several watches.
func manyWatches(p *programRun) {
	a, b := p.client(), p.client()
	parent(a, p.path)

	// Each watch has a channel of its own. A goroutine for each passes its event on; the
	// channel has room for all, so none of them waits for a receiver.
	const guests = 3
	events := make(chan zk.Event, guests)
	for i := range guests {
		node := fmt.Sprintf("%s/guest-%d", p.path, i)
		created(a.Create(node, nil, zk.FlagEphemeral, everybody))
		_, _, watch, err := b.GetW(node)
		must(err)
		go func() { events <- <-watch }()
	}
	for _, i := range []int{1, 0} { // guest 2 stays for what follows
		must(a.Delete(fmt.Sprintf("%s/guest-%d", p.path, i), -1))
		event := <-events
		p.say("b's event: %v %v", event.Type, event.Path)
	}

	// Two watches of one client on one node are one watch at the server, which sends one
	// event, and the client gives it to both channels.
	_, _, watch, err := b.GetW(p.path + "/guest-2")
	must(err)
	must(a.Delete(p.path+"/guest-2", -1))
	p.say("on both channels: %v, %v", (<-events).Type, (<-watch).Type)
}
