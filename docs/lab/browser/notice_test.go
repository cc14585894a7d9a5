package browser

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// said is the notice that the page shows; "" if it shows none.
func said(p *tab) string {
	p.Helper()
	return js[string](p, "document.getElementById('notice').hidden ? '' : document.getElementById('notice').textContent")
}

// set fills in a field of the page, as a person does.
func (p *tab) set(id, value string) {
	p.Helper()
	js[any](p, fmt.Sprintf("(() => { const e = document.getElementById(%s); e.value = %s; e.dispatchEvent(new Event('change', { bubbles: true })); })()", quoted(id), quoted(value)))
	p.settled()
}

// An error belongs to the address that it is about. Only what the compiler says
// stays, until it says something else.
func TestAnErrorGoesWithItsScene(t *testing.T) {
	t.Parallel()
	const good = "#lock=predecessor&n=2&t=0ns"
	p := open(t, "#lock=predecessor&n=abc")
	require.Contains(t, said(p), "n: abc", "as it opens")
	for bad, says := range map[string]string{
		"#lock=predecessor&n=abc":                                       "n: abc",
		"#lock=nosuch":                                                  "nosuch",
		"#lock=predecessor&n=2&do=100ms.Z.stop":                         "Z",
		"#lock=predecessor&n=2&do=9999999999s.A.stop":                   "too long a time: 9999999999s",
		"#lock=D3&n=3&mode=schedule&kinds=&faults=0&choices=Q:+request": "Q: request",
	} {
		t.Run(bad, func(t *testing.T) {
			p := &tab{T: t, ctx: p.ctx}
			p.open(bad)
			require.Contains(t, said(p), says)
			p.open(good)
			require.Empty(t, said(p), "of an address that is right")
			p.open(bad)
			require.Contains(t, said(p), says, "once more")
			p.set("contenders", "3")
			require.Empty(t, said(p), "more contenders")
		})
	}
	p.open(good)
	js[any](p, "document.getElementById('notice').hidden = false, document.getElementById('notice').dataset.stays = 'yes', null")
	p.open("#lock=herd&n=2&t=0ns")
	require.False(t, js[bool](p, "document.getElementById('notice').hidden"), "what the compiler says stays")
}

// oneNode is a film of one request, which arrives at an instant.
const oneNode = `{"lock":"naive","clients":[{"name":"A","contenders":["A"]}],"marks":[],"packets":[{"id":1,"client":"A","kind":"request","op":"create","path":"/x","sent_ns":1,"arrived_ns":%s}]}`

// A file that is not a film and no trace is named, and the page shows what it has
// shown before. A film from a file may have any number.
func TestAFileThatIsNotAFilmIsNamed(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	for text, says := range map[string]string{
		"no JSON": "JSON", "null": "neither a film nor a trace", "[]": "neither a film", "7": "neither a film", `{"choices":[]}`: "neither a film", `{"packets":5}`: "not a film",
		`{"packets":[],"marks":null}`: "not a film", `{"world":{"lock":"nosuch"},"choices":[]}`: "nosuch",
		fmt.Sprintf(oneNode, "1e30"): "not a film", fmt.Sprintf(oneNode, "-1"): "not a film", fmt.Sprintf(oneNode, `"x"`): "not a film", fmt.Sprintf(oneNode, "null"): "not a film",
	} {
		js[any](p, "document.getElementById('notice').hidden = true, null")
		p.upload(text)
		p.await("!document.getElementById('notice').hidden")
		notice := js[string](p, "document.getElementById('notice').textContent")
		require.Contains(t, notice, "file.json cannot be opened", text)
		require.Contains(t, notice, says, text)
		require.Len(t, p.state().Panels, 1, text)
	}
}

// A run from a file cannot be changed, and the page says so.
func TestAFilmFromAFileIsFixed(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	p.upload(fmt.Sprintf(oneNode, "20000000"))
	p.await("!!document.getElementById('back-to-locks')")
	js[any](p, "void document.querySelector('[data-client=A]').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
	require.Contains(t, js[string](p, "document.getElementById('notice').textContent"), "recording")
}

// A listing that is chosen while somebody searches is searched, and its schedule
// is not given away.
func TestAListingIsChosenToBeSearched(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=predecessor&n=2&mode=find&kinds=expire&faults=1")
	p.set("lock", "D3")
	require.Equal(t, "find", p.state().Mode)
	require.NotContains(t, p.state().Link, "choices=")
	require.Contains(t, p.state().Link, "lock=D3&n=3&")
	require.Contains(t, p.state().Link, "kinds=expire&faults=1")
	p.click("#start-find")
	p.await("!!document.querySelector('#find-result')")
	require.NotZero(t, js[int](p, "document.querySelectorAll('#trace li').length"), "the search finds a schedule of its own")
}

// The engine needs whole numbers; a field takes any.
func TestFieldsHoldWholeNumbers(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=predecessor&n=2&mode=find&kinds=expire&faults=1")
	for _, test := range []struct{ id, value, want string }{
		{"faults", "1.5", "2"}, {"faults", "-1", "0"}, {"faults", "9", "3"}, {"faults", "", "0"},
		{"for", "-5", "1"}, {"for", "2.4", "2"}, {"for", "", "60"}, {"for", "1e9", "3600"},
		{"contenders", "2.5", "3"}, {"contenders", "1000", "100"}, {"contenders", "", "1"},
	} {
		p.set(test.id, test.value)
		require.Equal(t, test.want, js[string](p, fmt.Sprintf("document.getElementById(%s).value", quoted(test.id))), "%s: %q", test.id, test.value)
	}
}
