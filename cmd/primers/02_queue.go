package main

import (
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// queue is the program of primer 2: names with numbers from the server, and a watch on a list of children.
func queue(p *programRun) {
	a, b := p.client(), p.client()
	parent(a, p.path)

	// The name ends in a hyphen, and the server appends ten digits.
	flags := int32(zk.FlagEphemeralSequential)
	first, err := a.Create(p.path+"/guest-", nil, flags, everybody)
	p.say("a's node: %v, %v", path.Base(first), err)
	second, err := b.Create(p.path+"/guest-", nil, flags, everybody)
	p.say("b's node: %v, %v", path.Base(second), err)

	// A list with a watch, in one request. The order of the list means nothing.
	list, _, events, err := b.ChildrenW(p.path)
	slices.Sort(list)
	p.say("the list: %v, %v", list, err)

	created(a.Create(p.path+"/visitor", nil, zk.FlagEphemeral, everybody))
	event := <-events
	p.say("a visitor comes, and b's event is: %v %v", event.Type, event.Path)

	// That watch has fired. The next change causes no event, unless b asks again.
	p.say("a deletes its node: %v", a.Delete(first, -1))
	p.say("on the same channel: %v", arrived(b, events))

	// The server counts all children that were ever made here, the visitor too. It never gives a number twice.
	third, err := a.Create(p.path+"/guest-", nil, flags, everybody)
	p.say("a's next node: %v, %v", path.Base(third), err)
}
