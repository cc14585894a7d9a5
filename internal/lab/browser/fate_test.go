//go:build browser

package browser

import (
	"fmt"
	"slices"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/lab/locks"
)

const shares = "all('#fate-bars .bar', b => Number(b.dataset.share))"

// d3 is D3 with other choices.
func d3(faults int, choices ...string) string {
	a := address("D3")
	a.Faults, a.Choices = faults, choices
	return a.String()
}

var (
	asPlayed = address("D3").Choices
	// The session of the holder is the first that a reader lets expire.
	outlived = d3(1, append(slices.Repeat([]string{"A: request"}, 3), "B: request", "B: request", "B: request", "B: request", "gap D2: go on", "A: expire")...)
	hangs    = d3(1, "A: request", "A: request", "A: request", "B: request", "B: request", "B: request", "B: request", "A: unlock", "A: request",
		"gap D2: go on", "A: request", "A: reconnect", "C: request", "C: request", "C: request", "C: request", "gap D2: go on")
)

const outOfReach = "can no longer be reached"

// The strip that says when it was too late, and the goals.
var fates = []pageCase{
	// D3 mostly goes well until its last choice, and then no continuation does. The
	// same choices by hand show what the scene brings.
	{name: "the strip says when it was too late", at: "#lock=naive&n=2&t=0ns", rows: []row{
		{"", "one('#fate').hidden", true},                     // nobody chooses here
		{"open " + scene("D3"), shares, scenes.Fates()["D3"]}, // at once: the scene brings them
		{"", "text('#fate-line')", has{"A: expire", fmt.Sprintf("before it, %d %% of", scenes.Fates()["D3"][len(asPlayed)-1]), "with the faults that may still happen"}},
		// The last moment is just before that choice: the session is still there.
		{"click #last-moment", "[s.t, one('[data-client=A]').dataset.conn].join() == [F.film.choices.at(-1).at_ns, 'connected'].join()", nil},
		// One choice less is a reader's own schedule, and is counted here.
		{"click #take-back | wait " + shares + ".length == 11", "Math.max(..." + shares + ") < 50 && one('#last-moment').hidden", nil},
		{`wait one('[data-choice="A: expire"]') | click [data-choice="A: expire"]`, shares, scenes.Fates()["D3"]},
		// In A1 there is nothing to choose. In E1 the chances fall before the bug is certain.
		{"open " + scene("A1") + " | keep a1 text('#fate-line') + shown('#turn-moment') | open " + scene("E1") + " | click #turn-moment",
			"[a1, s.t === F.film.choices[3].at_ns, text('#fate-line')].join()", has{"From the start, every continuation ends in “Endless”.false,true,", "From choice 4 ("}},
		// After the fault of D7 it can go either way, and it is said in both languages, on a phone, too.
		{"open " + scene("D7", "&lang=zh") + " | window 390x844 | keep d7 " + shares,
			"[d7[0] < 10, d7.at(-1), d7[6] > 30 && d7[6] < 70, /从何时起无法挽回/.test(text('#fate')), shown('#fate-line')]", list{true, 100, true, true, true}},
	}},
	// After the waiter has left in good order the page says that the goal is out of reach, beside the choices, too; as long as the
	// fault may still come, it does not. After the end of a run no fault can come.
	{name: "the goal is out of reach", at: d3(0, asPlayed[:len(asPlayed)-1]...), rows: []row{
		{"wait text('#fate-line').includes('" + outOfReach + "')", "one('#out-of-reach').innerText", has{outOfReach}},
		{"open " + d3(1, asPlayed[:len(asPlayed)-1]...) + " | wait " + shares + ".length == 11", "text('#fate-line')", lacks{outOfReach}},
		{"", "one('#out-of-reach').hidden", nil},
		{"open " + hangs + " | wait app.play?.violation?.kind == 'hang' | wait " + shares + ".length == 18 | go s.end",
			"[text('#fate-line'), one('#out-of-reach').innerText].every(x => x.includes('" + outOfReach + "'))", nil},
		{"", "text('#reached')", has{"Broken, but not the goal: Hang."}},
	}},
	// Two contenders act as holders, and the page says why that is not the goal.
	{name: "an outlived session is not the goal", at: outlived, rows: []row{
		{"go s.end", "one('#reached').dataset.reached", "no"},
		{"", "text('#reached')", has{"Broken, but not the goal: Holder outlives its session. A holder whose session has ended does not count"}},
		{"", "text('.faults summary')", has{"1 so far"}},
		{"open " + outlived + "&lang=zh | go s.end", "text('#reached')", has{"这不是目标"}},
	}},
	// A goal brings its faults. A line names them, and the choices are in sight above
	// the bar with the time, after the first of them, too.
	{name: "the choices of a goal are in sight", at: "#lock=D3&n=3&mode=schedule&kinds=expire&faults=1&t=0ns", window: "1280x720", rows: []row{
		{`click [data-choice="A: request"] | wait !one('#fate').hidden`, "one('.faults summary').innerText", "What may go wrong: an expired session; at most 1 fault"},
		{"keep bar one('#transport').getBoundingClientRect().top", "all('[data-choice]', e => e.getBoundingClientRect().bottom <= bar)", slices.Repeat(list{true}, 6)},
		// A reader who opens the box finds it open after the next choice.
		{`run one('.faults').open = true | click [data-choice="A: request"]`, "one('.faults').open", nil},
		{"", "one('.faults').innerText", has{"faults, at most"}},
		{"click [data-kind=expire]", "one('.faults summary').innerText", "What may go wrong: nothing"},
		// Where no goal brings faults, they are chosen.
		{"open #lock=predecessor&n=2&mode=schedule&kinds=&faults=1", "one('.faults').open", nil},
	}},
}

// chosen are the choices of a schedule, clicked one after the other. The goal is reached
// with the last one.
func chosen(a locks.Address) (rows []row) {
	for i, choice := range a.Choices {
		do := fmt.Sprintf("click [data-choice=%s] | wait app.play?.length == %d", quoted(choice), i+1)
		rows = append(rows, row{do + " | go s.end", "!!one('#reached')", i == len(a.Choices)-1})
	}
	return rows
}
