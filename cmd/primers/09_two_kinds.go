package main

import (
	"cmp"
	"slices"

	"github.com/go-zookeeper/zk"
)

// twoKinds is the program of primer 9: names of two kinds with one sequence of numbers.
func twoKinds(p *programRun) {
	a := p.client()
	parent(a, p.path)
	for _, kind := range []string{"zebra-", "ant-", "zebra-", "ant-"} {
		created(a.Create(p.path+"/"+kind, nil, zk.FlagEphemeralSequential, everybody))
	}
	list, _, err := a.Children(p.path)
	must(err)
	slices.Sort(list)
	p.say("sorted by name: %v", list)
	number := func(name string) string { return name[len(name)-10:] }
	slices.SortFunc(list, func(x, y string) int { return cmp.Compare(number(x), number(y)) })
	p.say("sorted by number: %v", list)
}
