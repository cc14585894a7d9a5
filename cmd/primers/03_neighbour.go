package main

import (
	"path"

	"github.com/go-zookeeper/zk"
)

// neighbour is the program of primer 3: a watch on one node among several.
func neighbour(p *programRun) {
	a, b, c := p.client(), p.client(), p.client()
	parent(a, p.path)
	var names []string
	for _, conn := range []*zk.Conn{a, b, c} {
		name, err := conn.Create(p.path+"/guest-", nil, zk.FlagEphemeralSequential, everybody)
		must(err)
		names = append(names, path.Base(name))
	}
	p.say("a, b and c have made %v", names)

	_, _, events, err := c.GetW(p.path + "/" + names[1])
	p.say("c watches b's node: %v", err)

	must(a.Delete(p.path+"/"+names[0], -1))
	p.say("a deletes its own node; c's event: %v", arrived(c, events))

	// An event says what has happened to one node. It says neither why, nor what else there is.
	b.Close()
	p.say("b's session ends; c's event: %v", (<-events).Type)
	list, _, err := c.Children(p.path)
	p.say("c reads the list: %v, %v", list, err)

	_, _, _, err = c.GetW(p.path + "/" + names[1])
	p.say("c watches b's node once more: %v", err)
}
