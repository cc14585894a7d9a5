package main

import "github.com/go-zookeeper/zk"

// terms is the program of primer 10: several requests that are carried out together or not at all.
func terms(p *programRun) {
	a, b := p.client(), p.client()
	parent(a, p.path)
	mine, board := p.path+"/mine", p.path+"/board"
	created(b.Create(board, []byte("empty"), zk.FlagPersistent, everybody))
	created(a.Create(mine, nil, zk.FlagEphemeral, everybody))

	// CheckVersionRequest succeeds if the node is there, and has this version; -1 is any.
	write := func(text string) ([]zk.MultiResponse, error) {
		return b.Multi(
			&zk.CheckVersionRequest{Path: mine, Version: -1},
			&zk.SetDataRequest{Path: board, Data: []byte(text), Version: -1})
	}
	_, err := write("while a is there")
	p.say("both are carried out: %v", err)

	a.Close() // and its node goes
	answers, err := write("after a has gone")
	p.say("neither is: %v", err)
	for i, answer := range answers { // "unknown error: -2": not carried out, because of another one
		p.say("  answer %d: %v", i+1, answer.Error)
	}
	data, _, err := b.Get(board)
	p.say("the board says %q, %v", data, err)
}
