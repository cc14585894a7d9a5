package main

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// deadline is the program of primer 5: a wait that ends, and a request that cannot be cancelled.
func deadline(p *programRun) {
	a, b := p.client(), p.client()
	parent(a, p.path)
	created(a.Create(p.path+"/node", nil, zk.FlagEphemeral, everybody))
	_, _, events, err := b.GetW(p.path + "/node")
	must(err)

	// To wait for an event or for the end of a ctx is one select.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	select {
	case event := <-events:
		p.say("an event: %v", event.Type)
	case <-ctx.Done():
		p.say("no event: %v", ctx.Err())
	}

	// A request takes no ctx. In a goroutine of its own the caller need not wait for
	// it; but it goes on, and what it does at the server is done.
	type answer struct {
		name string
		err  error
	}
	answers := make(chan answer, 1) // with room: the goroutine ends without a receiver
	go func() {
		name, err := b.Create(p.path+"/late-", nil, zk.FlagEphemeralSequential, everybody)
		answers <- answer{name, err}
	}()
	<-ctx.Done() // it has ended above, so this does not wait
	p.say("the caller goes: %v", ctx.Err())
	late := <-answers
	p.say("the answer comes all the same: %v, %v", late.name != "", late.err)
	exists, _, err := a.Exists(late.name)
	p.say("its node is there: %v, %v", exists, err)
}
