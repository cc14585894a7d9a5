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
func (p *tab) inspected(kind, key string) map[string]string {
	p.Helper()
	js[any](p, fmt.Sprintf(`void [...document.querySelectorAll("#inspector button")].find(b => b.dataset.kind === %s && b.dataset.key === %s)?.click()`, quoted(kind), quoted(key)))
	require.Equal(p, []string{kind, key}, js[[]string](p, `(d => [d.kind, d.key])(document.querySelector("#inspector .thing").dataset)`))
	return js[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("#inspector dl div")].map(d => [d.firstChild.textContent, d.lastChild.textContent]))`)
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
	require.True(t, js[bool](p, "document.getElementById('inspector').hidden"))
	p.click("#inspect")
	for _, name := range []string{"naive", "timeout", "zklock"} {
		f, err := lab.Run(t, locks.Scene{Lock: name, Contenders: 3, LatencyMs: 20, Seed: 1})
		require.NoError(t, err)
		p.open("#lock=" + name + "&n=3&latency=20&seed=1&t=0ns&lang=en")
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
			p.goTo(float64(at))
			m := latest(f, at, func(m film.Mark) bool { return m.Kind == "node" && m.Path == node })
			if m.Made != nil && *m.Made {
				seen["node"] = true
				is := p.inspected("node", node)
				require.Equal(t, m.Data == "", is["data"] == "empty")
				if m.Data != "" {
					require.Equal(t, m.Data, is["data"])
				}
				require.Equal(t, strconv.FormatInt(m.Czxid, 10), is["czxid"])
				require.Equal(t, m.Owner+", session "+m.Session, is["ephemeral owner"])
			}
			is := p.inspected("client", "B")
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

// The stock of E1 is opened first, and both holders have read the same number.
func TestTheStockIsInspected(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	p.click("#inspect")
	for _, id := range []string{"E1", "E2"} {
		p.open(sceneOf(t, id).String() + "&t=0ns&lang=en")
		require.Equal(t, "empty", p.inspected("node", "/stock")["data"])
		p.goTo(p.state().End)
		is := p.inspected("node", "/stock")
		require.Equal(t, "1 0 (number 1, token 0)", is["data"], "two have added one each")
		require.Equal(t, "2", is["version"])
		require.Equal(t, "0", p.inspected("client", "A")["number"])
		require.Equal(t, "0", p.inspected("client", "B")["number"])
		p.goTo(0)
		require.NotContains(t, p.inspected("client", "A"), "number", "it has read nothing yet")
	}
}

// A node, a watch and a contender of the stage are chosen with a click, and no menu
// comes in the way.
func TestTheStageIsInspected(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=predecessor&n=3&latency=20&seed=1&t=160ms&lang=zh")
	p.click("#inspect")
	click := func(element, at string) {
		js[any](p, fmt.Sprintf(`void (() => {
			const e = %s, b = e.getBoundingClientRect(), at = %s;
			const x = at ? at.x : b.left + b.width / 2, y = at ? at.y : b.top + b.height / 2;
			document.elementFromPoint(x, y).dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: x, clientY: y }));
		})()`, element, at))
	}
	chosen := func() []string {
		return js[[]string](p, `(d => [d.kind, d.key])(document.querySelector("#inspector .thing").dataset)`)
	}
	click(`document.querySelector(".stage [data-node$='0000000001']")`, "null")
	require.Equal(t, []string{"node", "/lab/lock/lock-0000000001"}, chosen())
	require.Contains(t, js[string](p, "document.querySelector('#inspector dl').textContent"), "B")
	click(`document.querySelector(".stage [data-client='C'] .body")`, "null")
	require.Equal(t, []string{"client", "C"}, chosen())
	const thread = `document.querySelector(".stage [data-watch^='C ']")`
	click(thread, `(t => t.getPointAtLength(t.getTotalLength() / 2).matrixTransform(t.getScreenCTM()))(`+thread+`)`)
	require.Equal(t, []string{"watch", "C|/lab/lock/lock-0000000001|node"}, chosen())
	require.True(t, js[bool](p, "document.getElementById('menu').hidden"))
	require.Equal(t, 1, js[int](p, "document.querySelectorAll('.thread.chosen').length"))
	p.goTo(p.state().End)
	require.Equal(t, "watch", chosen()[0], "what has gone stays chosen, and the panel says that it has gone")
	require.Len(t, js[[]string](p, "[...document.querySelectorAll('#inspector dt')].map(e => e.textContent)"), 2)
	p.click("#inspect")
	click(`document.querySelector(".stage [data-client='A'] .body")`, "null")
	require.False(t, js[bool](p, "document.getElementById('menu').hidden"), "without it a click opens the menu as before")
}
