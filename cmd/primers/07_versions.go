package main

import "github.com/go-zookeeper/zk"

// versions is the program of primer 7: a write that succeeds only if nobody has written since one's own read.
func versions(p *programRun) {
	a, b := p.client(), p.client()
	_, err := a.Create(p.path, []byte("one"), zk.FlagPersistent, everybody)
	p.say("a creates the node: %v", err)

	data, stat, err := a.Get(p.path)
	p.say("a reads %q, version %d, %v", data, stat.Version, err)
	data, stat, err = b.Get(p.path)
	p.say("b reads %q, version %d, %v", data, stat.Version, err)

	stat, err = b.Set(p.path, []byte("two"), stat.Version)
	p.say("b writes: version %d, %v", stat.Version, err)
	_, err = a.Set(p.path, []byte("three"), 0) // the version that a has read
	p.say("a writes: %v", err)

	// The number of the change that made a node grows from node to node, under any
	// parent. Nothing that is made later has a smaller one.
	created(a.Create(p.path+"/later", nil, zk.FlagEphemeral, everybody))
	_, later, err := a.Get(p.path + "/later")
	must(err)
	p.say("the czxid of a later node is greater: %v", later.Czxid > stat.Czxid)
}
