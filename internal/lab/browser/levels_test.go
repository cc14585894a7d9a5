//go:build browser

package browser

import (
	"fmt"
	"slices"
	"strings"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/lab/locks"
)

const (
	done  = "one('#level').dataset.done"
	level = "#lock=D3&n=3&mode=schedule&kinds=expire&faults=1&t=0ns"
)

var d3Level, a2Level = scenes.Get("D3").Level, scenes.Get("A2").Level

// askAll asks for all hints: the last one plays.
const askAll = "click #hint | click #hint | click #hint | wait s.scene.choices.length == "

// The game.
var levels = []pageCase{
	// Neither the lock's title, nor the code, nor a story tells what is wrong, until the goal is reached. Then there is a
	// rule, with the line at fault.
	{name: "a level has hints, and a lesson at its end", at: "#lock=naive&n=2&t=0ns", rows: []row{
		{"tab " + level, "[text('h2'), text('#intro p')]", list{"One fault · " + d3Level.Name.En, d3Level.Intro.En}},
		{"", "[one('#tell'), count('.source .remark') > 0, all('.source .remark', e => e.checkVisibility()).includes(true), shown('#show-me')]",
			list{nil, true, false, false}},
		{"click #hint", "text('#given')", d3Level.Hints[0].En},
		{"key i", "text('#given')", d3Level.Hints[1].En},
		{"click #hint | wait s.scene.choices.length == 13 | go s.end", "text('#given')", d3Level.Hints[2].En},
		{"", "[p.holders, one('#intro').open, all('#intro .hint'), shown('#show-me')]", list{list{"A"}, false, list{d3Level.Hints[0].En, d3Level.Hints[1].En}, true}},
		{"key 8 | wait one('#lesson')", "[text('#lesson'), text('.fault-line')]", list{d3Level.Victory.En, "55  l.Wait()               // once, in no loop, and without another list of the children [D3]"}},
		{"", "[F.marks.at(-1).violation, " + done + ", one('#reached').dataset.reached, text('h2').slice(0, 3), shown('#tell')]", list{"two holders", "1", "yes", "D3:", true}},
		// How it was reached is kept, and is in the list.
		{"key g", "one('[data-level=D3]').dataset.how", "hints"},
		{"run one('#levels-box').close() | click [data-action=language]", "text('#lesson')", d3Level.Victory.Zh},
	}},
	{name: "no level opens solved", at: "#lock=naive&n=2&t=0ns", rows: []row{
		{"tab #lock=naive&n=2&t=0ns", "", nil},
		{"set lock D3", "[s.mode, s.scene.choices, s.scene.kinds, one('#reached')]", list{"schedule", list{}, list{"expire"}, nil}},
		{"click #levels | click [data-level=A2] | wait s.scene.locks[0] == 'A2'", "[s.scene.choices, text('#intro p')]", list{list{}, a2Level.Intro.En}},
		// A scene has its scripts: here A locks eight times.
		{"set lock zklock-caching | wait s.scene.locks[0] == 'zklock-caching' && app.play?.lock == 'zklock-caching'", "[s.scene.choices.length, said()]",
			list{len(address("zklock-caching").Choices), ""}},
		// A link that has the choices shows them, and does not count.
		{"open " + scene("A2", "&t=0ns"), "!one('#reached')", nil}, // before there is anything to see
		{"go s.end", "[text('#reached strong'), !!one('#lesson'), " + done + "]", list{"It ends with: Deletes another's node.", true, "0"}},
	}},
	// A violation on the way is answered, and the way goes on.
	{name: "another violation is answered", at: level, rows: []row{
		{"open #lock=A2&n=2&mode=schedule&kinds=stop&faults=1&t=0ns | " + askAll + "6 | go s.end", "text('#reached')", has{"Broken, but not the goal", a2Level.Else["holder outlives its session"].En}},
	}},
	{name: "a level without choices is watched", at: "#lock=naive&n=2&t=0ns", rows: []row{
		{"tab #lock=A1&n=1&mode=schedule&kinds=&faults=0", "[s.t, one('#reached'), " + done + "]", list{0, nil, "0"}},
		{"run app.calm = true | click #watch-it | wait one('#lesson')", "[s.t > 0, " + done + "]", list{true, "1"}},
	}},
	{name: "the last levels cannot be won", at: "#lock=naive&n=2&t=0ns", rows: []row{
		{"tab " + scene("proved-zklock") + ` | click [data-choice="A: lose reply"] | click #rest | wait app.play.over`, "[one('#reached').dataset.reached, " + done + "]", list{"yes", "1"}},
		{"", "text('#reached')", has{"It held.", "Nothing broke."}},
	}},
	{name: "D3 is won by the keyboard alone, with two hints", at: level, rows: slices.Concat(
		[]row{{"key i | key i", "text('#given')", d3Level.Hints[1].En}}, byKeys(d3Level.Route), []row{{"wait one('#lesson')", done, "1"}},
	)},
	// A digit is that of a contender and of what it does, whatever else there is to choose.
	{name: "a choice keeps its digit", at: level, rows: []row{
		{"", digits, strings.Fields("A1 B2 C3 A7 B8 C9")},
		{"key 2 | wait app.play.length == 1 | key 2 | wait app.play.length == 2 | key 2 | wait app.play.length == 3", digits, strings.Fields("A1 C3 B5 A7 B8 C9")},
		{"", "s.scene.choices", list{"B: request", "B: request", "B: request"}},
		{"key 6 | key 4", "s.scene.choices.length", 3}, // nobody has these now
		{"key 8 | wait app.play.length == 4", "s.scene.choices.at(-1)", "B: expire"},
	}},
	// A goal that a reader has reached by choices of their own counts, and Next level leads to
	// another one, from its start. Beside the scenes and exercise 11 there are the two that cannot be won.
	{name: "the goals lead on", at: "#lock=naive&n=2&t=0ns", rows: slices.Concat([]row{
		{"tab " + scene("D1"), done, "0"},
		{"click #restart", "", nil},
	}, chosen(address("D1")), []row{
		{"", "[one('#reached').dataset.reached, one('#level').dataset.of]", list{"yes", fmt.Sprint(len(scenes.All) + len(locks.Tasks) + 2)}},
		{"click #levels", "[one('[data-level=D1]').dataset.how, count('[data-how]')]", list{"alone", 1}},
		{"run one('#levels-box').close() | click #next-level | wait s.scene.locks[0] == 'A3' && app.play && app.play.length == 0", done, "1"},
	})},
}

// digits are the first letter of each choice, and its digit.
const digits = "all('[data-choice]', e => e.dataset.choice[0] + e.querySelector('kbd').textContent)"

// byKeys makes choices by their digits.
func byKeys(choices []string) (rows []row) {
	for i, choice := range choices {
		rows = append(rows, row{do: fmt.Sprintf("key =text('[data-choice=%s] kbd') | wait app.play?.length == %d", quoted(choice), i+1)})
	}
	return rows
}
