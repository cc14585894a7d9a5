package main

import "github.com/go-zookeeper/zk"

// oneNode is the program of primer 1: an ephemeral node, and the event of a watch on it.
func oneNode(p *programRun) {
	a, b := p.client(), p.client()
	node := p.path + "/node"

	_, err := a.Create(node, []byte("of a"), zk.FlagEphemeral, everybody)
	p.say("a creates the node, and its parent is missing: %v", err)
	parent(a, p.path)

	_, err = a.Create(node, []byte("of a"), zk.FlagEphemeral, everybody)
	p.say("a creates it: %v", err)
	_, err = b.Create(node, []byte("of b"), zk.FlagEphemeral, everybody)
	p.say("b creates it: %v", err)

	// One request reads the node and asks for an event.
	data, _, events, err := b.GetW(node)
	p.say("b gets it with a watch: %q, %v", data, err)
	p.say("a deletes it: %v", a.Delete(node, -1)) // -1: whatever its version is
	event := <-events
	p.say("b's event: %v %v", event.Type, event.Path)

	// The node is not there now. The two calls with a watch differ.
	_, _, events, err = b.GetW(node)
	p.say("b gets it with a watch: %v, channel: %v", err, events != nil)
	exists, _, events, err := b.ExistsW(node)
	p.say("b asks with a watch whether it exists: %v, %v", exists, err)
	created(a.Create(node, nil, zk.FlagEphemeral, everybody))
	p.say("a creates it, and b's event is: %v", (<-events).Type)

	// The end of a session deletes its ephemeral nodes.
	_, _, events, err = b.GetW(node)
	must(err)
	a.Close()
	p.say("a's session ends, and b's event is: %v", (<-events).Type)
}
