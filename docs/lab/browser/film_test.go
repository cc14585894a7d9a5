package browser

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const filmHeader = `text('[data-panel="0"] header')`

// filmOfSystem opens a film of docs/other-locks in a tab, waits until its header says so, and
// keeps what the page shows at each of the film's instants.
func filmOfSystem(t *testing.T, lock, lang, header string) *tab {
	t.Helper()
	film, err := os.ReadFile("../../other-locks/films/" + lock + ".json")
	require.NoError(t, err)
	p := open(t, "#lock=naive&n=2&latency=20&seed=1&lang="+lang)
	require.NoError(t, p.upload(lock+".json", string(film)))
	p.play(row{"wait " + filmHeader + ".includes(" + quoted(header) + `) | click [data-action="to-start"] | keep instants (() => {
		for (const seen = [];;) {
			const t = s.t, said = text(".now") + " " + text(".verdict"), packets = text(".packets");
			const owner = one("[data-node]")?.dataset.owner, unaware = !!one('[data-client="A"][data-lost="unaware"]');
			seen.push({ said, packets, holders: p.holders, kind: kind(p.violation), owner, unaware });
			one('[data-action="step-on"]').click();
			if (s.t <= t) return seen;
		}
	})()`, "instants.length > 5", nil})
	return p
}

const saidAll = "instants.map(i => i.said).join('\\n')"

// TestAFilmOfAnotherSystemIsShown opens the films of the locks on Redis and on a
// database. They have no watch, no session and no znode, and the page does not speak of
// them.
func TestAFilmOfAnotherSystemIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lock, system, root, word string
		said                     has
		paused                   bool
	}{
		{lock: "redis", system: "Redis", root: "keys", word: "setAndCount",
			said: has{"the store refuses it", "B sends: EVALSHA setAndCount", "A gets: 1", "order is gone"}},
		{lock: "sqlrow", system: "SQLite", root: "zklock_row", word: "INSERT", paused: true,
			said: has{"B sends: INSERT INTO zklock_row", "B gets: a duplicate key", "A's row has expired", "order is there, and belongs to B"}},
	} {
		t.Run(c.lock, func(t *testing.T) {
			filmOfSystem(t, c.lock, "en", c.lock+".json · recorded on "+c.system+", in virtual time").play(
				row{"", "[text('.shelf-label'), text('.root-label')]", list{c.system, c.root}},
				row{"", "[shown('.counter.events'), shown('.counter.wakeups')]", list{false, false}},
				row{"", saidAll, lacks{"ZooKeeper", "znode", "session", "watch"}},
				row{"", saidAll, c.said},
				row{"", saidAll, has{"A and B hold the lock at once", "From then on, writes of A are refused.", "A: gets an error from Unlock: it does not hold the lock"}},
				row{"", saidAll + ".includes('is paused')", c.paused},
				row{"keep both instants.find(i => i.holders.length == 2)", "[both.kind, both.owner]", list{"two holders", "B"}},
				row{"", "instants.some(i => i.unaware) && instants.some(i => i.packets.includes('" + c.word + "'))", nil},
				row{"", "p.holders", list{}},
			)
		})
	}
}

// TestAFilmSpeaksTheReadersLanguage: what a film remarks, what the page says of it, and the
// answers that are described. Statements and commands are the same in both languages.
func TestAFilmSpeaksTheReadersLanguage(t *testing.T) {
	t.Parallel()
	const statement = "/发出：(?:BEGIN|COMMIT|ROLLBACK|EVALSHA|INSERT|DELETE|UPDATE|SELECT).*/g"
	for lock, want := range map[string]has{
		"redis":  {"服务器淘汰了锁的键", "A：从存储读到 0，继续做自己的事", "order 已被删除", "order 已创建，归 B 所有", "A：从 Unlock 得知自己并不持有锁", "A 和 B 同时持有锁"},
		"sqlrow": {"B 得到：键重复", "B 得到：1 行", "A：读过存储之后停顿了", "A 的行已经过期", "A：一行也没有改：存储已经见过比 1 大的令牌"},
	} {
		filmOfSystem(t, lock, "zh", lock+".json · 录制于 ").play(
			row{"", filmHeader + " + text('#workbench')", has{"时间是虚拟的"}},
			row{"", filmHeader + " + text('#workbench')", lacks{"virtual"}},
			row{"", "instants.map(i => (i.said + i.packets).replace(" + statement + ", '')).filter(x => /[a-z]{2,} [a-z]{2,}/.test(x))", list{}},
			row{"", saidAll, want},
			row{"click [data-action=language] | wait " + filmHeader + ".includes(', in virtual time')", "text('#workbench')", has{"from " + lock + ".json"}},
		)
	}
}

// TestAFilmIsOpenedByTheCommand serves the page with a film.
func TestAFilmIsOpenedByTheCommand(t *testing.T) {
	t.Parallel()
	openAt(t, serve(t, "-film", "../../other-locks/films/redis.json"), 1200, 900).play(
		row{"", filmHeader, has{"redis.json · recorded on Redis"}},
		row{"click #back-to-locks", filmHeader, lacks{"redis.json"}},
	)
}
