package browser

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore/film"
)

// inspected is what the panel says of what is chosen: its names and values.
func inspected(kind, key string) string {
	return fmt.Sprintf(`(b => {
		b?.click();
		const { kind, key } = one("#inspector .thing").dataset, rows = all("#inspector dl div", d => [d.firstChild.textContent, d.lastChild.textContent]);
		return { kind, key, ...Object.fromEntries(rows) };
	})([...document.querySelectorAll("#inspector button")].find(b => b.dataset.kind === %s && b.dataset.key === %s))`, quoted(kind), quoted(key))
}

// inspect chooses a thing, and returns what the panel says of it.
func (p *tab) inspect(kind, key string) map[string]string {
	p.Helper()
	is := js[map[string]string](p, inspected(kind, key))
	require.Equal(p, []string{kind, key}, []string{is["kind"], is["key"]})
	return is
}

// latest is the last mark of a kind, about a contender or a path, up to an instant.
func latest(f *film.Film, at time.Duration, is func(film.Mark) bool) (found film.Mark) {
	for _, m := range f.Marks {
		if m.At <= at && is(m) {
			found = m
		}
	}
	return found
}

// The panel's text on a znode and on a contender is that of the engine's film at
// the instant, forwards and back.
func TestWhatIsInspectedFollowsTheFilm(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	p.play(row{"", "one('#inspector').hidden", nil}, row{do: "click #inspect"})
	for _, name := range []string{"naive", "timeout", "zklock"} {
		f, err := lab.Run(t, locks.Scene{Lock: name, Contenders: 3, LatencyMs: 20, Seed: 1})
		require.NoError(t, err)
		p.play(row{do: "open #lock=" + name + "&n=3&latency=20&seed=1&t=0ns&lang=en"})
		made := slices.IndexFunc(f.Marks, func(m film.Mark) bool { return m.Kind == "node" && m.Owner == "A" })
		require.GreaterOrEqual(t, made, 0)
		node := f.Marks[made].Path
		var instants []time.Duration
		for i := range 6 {
			instants = append(instants, f.End*time.Duration(2*i+1)/12)
		}
		back := slices.Clone(instants)
		slices.Reverse(back)
		seen := make(map[string]bool)
		for _, at := range slices.Concat(instants, back) {
			p.play(row{do: fmt.Sprintf("go %d", at)})
			m := latest(f, at, func(m film.Mark) bool { return m.Kind == "node" && m.Path == node })
			if m.Made != nil && *m.Made {
				seen["node"] = true
				is := p.inspect("node", node)
				require.Equal(t, m.Data == "", is["data"] == "empty")
				if m.Data != "" {
					require.Equal(t, m.Data, is["data"])
				}
				require.Equal(t, strconv.FormatInt(m.Czxid, 10), is["czxid"])
				require.Equal(t, m.Owner+", session "+m.Session, is["ephemeral owner"])
			}
			is := p.inspect("client", "B")
			s := latest(f, at, func(m film.Mark) bool { return m.Kind == "state" && m.Who == "B" })
			require.Equal(t, s.State, is["state"], "%s at %v", name, at)
			require.Equal(t, f.Clients[1].Session, is["session"])
			for _, v := range latest(f, at, func(m film.Mark) bool { return m.Kind == "variables" && m.Who == "B" }).Variables {
				require.Equal(t, v.Value, is[v.Name], "%s at %v: %s", name, at, v.Name)
				seen[v.Name] = true
			}
			if s.State == "holds" && s.Token != 0 {
				seen["a token"] = true
				require.Equal(t, strconv.FormatInt(s.Token, 10), is["fencing token"])
			}
		}
		require.True(t, seen["node"], name)
		require.Equal(t, name != "naive", seen["a token"], name)
		require.True(t, seen["id"] || seen["token"], name)
	}
}

// stageClick clicks on an element of the stage, or on a point of it.
func stageClick(element, at string) string {
	return fmt.Sprintf(`run ((e, at) => {
		const b = e.getBoundingClientRect(), x = at ? at.x : b.left + b.width / 2, y = at ? at.y : b.top + b.height / 2;
		document.elementFromPoint(x, y).dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: x, clientY: y }));
	})(one("%s"), %s)`, element, at)
}

const (
	chosenThing = "[one('#inspector .thing').dataset.kind, one('#inspector .thing').dataset.key]"
	onThread    = "one('.stage [data-watch^=\"C \"]')"
	halfway     = "(t => t.getPointAtLength(t.getTotalLength() / 2).matrixTransform(t.getScreenCTM()))(" + onThread + ")"
)

var inspections = []pageCase{
	// The stock of E1 and E2 is opened first, and both holders have read the same number.
	{name: "the stock of E1 is inspected", at: scene("E1", "&t=0ns&lang=en"), rows: stock},
	{name: "the stock of E2 is inspected", at: scene("E2", "&t=0ns&lang=en"), rows: stock},
	// A node, a watch and a contender of the stage are chosen with a click, and no menu
	// comes in the way.
	{name: "of two panels Inspect names its own", at: "#lock=herd,predecessor&n=3&latency=20&seed=1&t=160ms&lang=en", rows: []row{
		{"run lab.pause() | click #inspect", "text('#inspector h2')", has{"Step 2"}},
	}},
	{name: "the stage is inspected", at: "#lock=predecessor&n=3&latency=20&seed=1&t=160ms&lang=zh", rows: []row{
		{"click #inspect | " + stageClick(".stage [data-node$='0000000001']", "null"), chosenThing, list{"node", "/lab/lock/lock-0000000001"}},
		{"", "text('#inspector dl')", has{"B"}},
		{stageClick(".stage [data-client='C'] .body", "null"), chosenThing, list{"client", "C"}},
		{stageClick(".stage [data-watch^='C ']", halfway), chosenThing, list{"watch", "C|/lab/lock/lock-0000000001|node"}},
		{"", "[one('#menu').hidden, count('.thread.chosen')]", list{true, 1}},
		// What has gone stays chosen, and the panel says that it has gone.
		{"go s.end", "[one('#inspector .thing').dataset.kind, count('#inspector dt')]", list{"watch", 2}},
		// Without it a click opens the menu.
		{"click #inspect | " + stageClick(".stage [data-client='A'] .body", "null"), "one('#menu').hidden", false},
	}},
}

var stock = []row{
	{"click #inspect", "one('#inspector .thing').dataset.key", "/stock"},
	{"", inspected("node", "/stock") + ".data", "empty"},
	{"keep number " + inspected("client", "A") + ".number", "number ?? 'nothing yet'", "nothing yet"},
	{"go s.end | keep node " + inspected("node", "/stock"), "[node.data, node.version]", list{"1 0 (number 1, token 0)", "2"}}, // two have added one each
	{"", "[" + inspected("client", "A") + ".number, " + inspected("client", "B") + ".number]", list{"0", "0"}},
	{"go 0", "'number' in " + inspected("client", "A"), false},
}
