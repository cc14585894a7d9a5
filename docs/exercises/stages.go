package main

import (
	"example.com/zklock/internal/language"
	"slices"
)

// A stage is a part of an exercise that takes 10 to 20 minutes, and the cases that
// pass when it is done. The last stage of an exercise has all cases that no other
// stage names.
type stage struct {
	title   language.Text
	minutes int
	cases   []string
}

// The first stages of the locks of exercises 1 to 3.
var (
	noWaiting = stage{language.Say("no waiting yet", "还不等待"), 15, []string{
		"the holder has a node and it is ephemeral",
		"can be used again after Unlock",
		"TryLock takes a free lock",
		"TryLock on a held lock says false at once and leaves nothing behind",
	}}
	waiting = []string{
		"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing",
		"missing parents are made",
		"a waiter sleeps on a watch and does not poll",
		"a release between looking and watching is not missed",
		"a waiter waits for as long as the holder holds, a day if need be",
		"no watch is left where nothing is left to wait for",
		"one at a time holds it, contenders of one session",
		"one at a time holds it, each contender in a session of its own",
		"a holder whose session expires lets the next one in",
		"a release wakes exactly as many as predicted",
		"every schedule of two contenders",
		"every schedule of two contenders, and at some moment a day passes",
		"200 random schedules of 3 contenders",
		"200 random schedules of 3 contenders, one of which only tries",
		"200 random schedules of 2 contenders in one session",
	}
	inOrder = append([]string{
		"contenders get in in the order in which they came",
		"a waiter that goes lets nobody in before the holder has let go",
		"a waiter that goes before it is watched lets nobody in",
		"the requests are exactly as many as predicted",
	}, waiting...)
)

// staged are the exercises that have stages.
var staged = map[int][]stage{
	1: {noWaiting, {language.Say("Lock waits", "Lock 会等待"), 20, waiting}, {language.Say("when things break", "出故障的时候"), 20, nil}},
	2: {noWaiting, {language.Say("Lock waits for its turn", "Lock 等着轮到自己"), 20, inOrder}, {language.Say("when things break", "出故障的时候"), 20, nil}},
	3: {noWaiting, {language.Say("Lock watches one node", "Lock 只监听一个节点"), 20, inOrder}, {language.Say("when things break", "出故障的时候"), 20, nil}},
}

// stages are those of an exercise; none if it is one piece.
func (e *exercise) stages() []stage {
	list := slices.Clone(staged[e.number])
	if len(list) == 0 {
		return nil
	}
	last := &list[len(list)-1]
	for _, name := range e.names() {
		if !slices.ContainsFunc(list[:len(list)-1], func(s stage) bool { return slices.Contains(s.cases, name) }) {
			last.cases = append(last.cases, name)
		}
	}
	return list
}

// at returns the first stage of an exercise that is not done, its number from 1 on,
// and how many of its cases pass; 0 if there are no stages, or all are done.
func (r *result) at(e *exercise) (n int, s stage, passed int) {
	failed := func(name string) bool {
		return slices.ContainsFunc(r.Failed, func(f failure) bool { return f.Case == name })
	}
	for i, s := range e.stages() {
		if bad := len(slices.DeleteFunc(slices.Clone(s.cases), func(name string) bool { return !failed(name) })); bad > 0 {
			return i + 1, s, len(s.cases) - bad
		}
	}
	return 0, stage{}, 0
}

// stageLine says at which stage an attempt is; it is empty if its exercise has no stages or
// all are done.
func (r *result) stageLine(e *exercise) language.Text {
	n, s, passed := r.at(e)
	if n == 0 || r.Why.En != "" {
		return language.Text{}
	}
	return language.Say(
		"Stage %d of %d, %s (%d minutes): %d of its %d cases pass.", "第 %d 阶段（共 %d 个）：%s（%d 分钟）。本阶段有 %[6]d 个用例，已通过 %[5]d 个。", n, len(e.stages()), s.title, s.minutes, passed, len(s.cases))
}
