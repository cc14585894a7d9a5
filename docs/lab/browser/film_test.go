package browser

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestAFilmOfAnotherSystemIsShown opens the films of the locks on Redis and on a
// database. They have no watch, no session and no znode, and the page does not speak of
// them.
func TestAFilmOfAnotherSystemIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lock, system, root, word string
		said                     []string
		paused                   bool
	}{
		{lock: "redis", system: "Redis", root: "keys", word: "setAndCount",
			said: []string{"the store refuses it", "B sends: EVALSHA setAndCount", "A gets: 1", "order is gone"}},
		{lock: "sqlrow", system: "SQLite", root: "zklock_row", word: "INSERT", paused: true,
			said: []string{"B sends: INSERT INTO zklock_row", "B gets: a duplicate key", "A's row has expired", "order is there, and belongs to B"}},
	} {
		t.Run(c.lock, func(t *testing.T) {
			p := open(t, "#lock=naive&n=2&latency=20&seed=1")
			p.openFilm(t, c.lock, c.lock+".json · recorded on "+c.system+", in virtual time")
			text := func(selector string) string {
				return js[string](p, "document.querySelector("+quoted(selector)+").textContent")
			}
			require.Equal(t, c.system, text(".shelf-label"))
			require.Equal(t, c.root, text(".root-label"))
			require.True(t, js[bool](p, "document.querySelector('.counter.events').hidden && document.querySelector('.counter.wakeups').hidden"))
			require.Equal(t, "none", js[string](p, "getComputedStyle(document.querySelector('.counter.events')).display"))

			p.click(`[data-action="to-start"]`)
			// Each instant: what the page says, who holds the lock, and whose the node is.
			said, both, unaware, words := "", 0.0, false, ""
			for at, end := 0.0, p.state().End; at <= end; {
				now := text(".now") + " " + text(".verdict")
				said += now + "\n"
				for _, zk := range []string{"ZooKeeper", "znode", "session", "watch"} {
					require.NotContains(t, now, zk)
				}
				words += text(".packets")
				if len(p.state().Panels[0].Holders) == 2 && both == 0 {
					both = at
					require.Equal(t, "two holders", kind(p.state().Panels[0].Violation))
					require.Equal(t, "B", js[string](p, "document.querySelector('[data-node]').getAttribute('data-owner')"))
				}
				unaware = unaware || js[bool](p, `!!document.querySelector('[data-client="A"][data-lost="unaware"]')`)
				p.click(`[data-action="step-on"]`)
				if next := p.state().T; next > at {
					at = next
				} else {
					break
				}
			}
			require.Positive(t, both)
			require.True(t, unaware)
			for _, words := range c.said {
				require.Contains(t, said, words)
			}
			require.Contains(t, said, "A and B hold the lock at once")
			require.Contains(t, said, "From then on, writes of A are refused.")
			require.Contains(t, said, "A: gets an error from Unlock: it does not hold the lock")
			require.Equal(t, c.paused, js[bool](p, quoted(said)+".includes('is paused')"))
			require.Contains(t, words, c.word)
			require.Empty(t, p.state().Panels[0].Holders)
		})
	}
}

// openFilm opens a film of docs/other-locks, and waits until the page says what it is.
func (p *tab) openFilm(t *testing.T, lock, header string) {
	t.Helper()
	file, err := filepath.Abs("../../other-locks/films/" + lock + ".json")
	require.NoError(t, err)
	_, err = os.ReadFile(file) // so that go test does not remember the result of another film
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(p.ctx, chromedp.SetUploadFiles("#file", []string{file})))
	p.await("document.querySelector('[data-panel=\"0\"] header').textContent.includes(" + quoted(header) + ")")
}

// TestAFilmSpeaksTheReadersLanguage: what a film remarks, what the page says of it, and the
// answers that are described. Statements and commands are the same in both languages.
func TestAFilmSpeaksTheReadersLanguage(t *testing.T) {
	t.Parallel()
	statement := regexp.MustCompile(`发出：(?:BEGIN|COMMIT|ROLLBACK|EVALSHA|INSERT|DELETE|UPDATE|SELECT).*`)
	for lock, want := range map[string][]string{
		"redis":  {"服务器淘汰了锁的键", "A：从存储读到 0，继续做自己的事", "order 已被删除", "order 已创建，归 B 所有", "A：从 Unlock 得知自己并不持有锁", "A 和 B 同时持有锁"},
		"sqlrow": {"B 得到：键重复", "B 得到：1 行", "A：读过存储之后停顿了", "A 的行已经过期", "A：一行也没有改：存储已经见过比 1 大的令牌"},
	} {
		p := open(t, "#lock=naive&n=2&latency=20&seed=1&lang=zh")
		p.openFilm(t, lock, lock+".json · 录制于 ")
		header := js[string](p, "document.querySelector('[data-panel=\"0\"] header').textContent + document.querySelector('#workbench').textContent")
		require.Contains(t, header, "时间是虚拟的")
		require.NotContains(t, header, "virtual")
		p.click(`[data-action="to-start"]`)
		said := ""
		for at := -1.0; p.state().T > at; p.click(`[data-action="step-on"]`) {
			at = p.state().T
			now := js[string](p, `["now", "verdict", "packets"].map(c => document.querySelector("." + c).textContent).join("\n")`)
			said += now + "\n"
			require.NotRegexp(t, `[a-z]{2,} [a-z]{2,}`, statement.ReplaceAllString(now, ""), "%s at %v", lock, at)
		}
		for _, words := range want {
			require.Contains(t, said, words)
		}
		js[any](p, "document.querySelector('[data-action=language]').click(), null")
		p.await("document.querySelector('[data-panel=\"0\"] header').textContent.includes(', in virtual time')")
		require.Contains(t, js[string](p, "document.querySelector('#workbench').textContent"), "from "+lock+".json")
	}
}

// TestAFilmIsOpenedByTheCommand serves the page with a film.
func TestAFilmIsOpenedByTheCommand(t *testing.T) {
	t.Parallel()
	url := serve(t, "-film", "../../other-locks/films/redis.json")
	p := openAt(t, url, 1200, 900)
	require.Contains(t, js[string](p, "document.querySelector('[data-panel=\"0\"] header').textContent"), "redis.json · recorded on Redis")
	p.click("#back-to-locks")
	require.NotContains(t, js[string](p, "document.querySelector('[data-panel=\"0\"] header').textContent"), "redis.json")
}
