package browser

import (
	"slices"
	"testing"
)

const (
	filmHeader = `text('[data-panel="0"] header')`
	saidAll    = "instants.map(i => i.said).join('\\n')"
)

// opened opens a film of docs/other-locks, waits until its header says so, and keeps what the
// page shows at each of the film's instants.
func opened(film, header string) row {
	return row{"film " + film + " | wait " + filmHeader + ".includes(" + quoted(header) + `) | click [data-action="to-start"] | keep instants (() => {
		for (const seen = [];;) {
			const t = s.t, said = text(".now") + " " + text(".verdict"), packets = text(".packets");
			const owner = one("[data-node]")?.dataset.owner, unaware = !!one('[data-client="A"][data-lost="unaware"]');
			seen.push({ said, packets, holders: p.holders, kind: kind(p.violation), owner, unaware });
			one('[data-action="step-on"]').click();
			if (s.t <= t) return seen;
		}
	})()`, "instants.length > 5", nil}
}

// The films of the locks on Redis and on a database. They have no watch, no session and no
// znode, and the page does not speak of them.
var systems = []pageCase{
	{name: "a film of Redis is shown", at: "#lock=naive&n=2&latency=20&seed=1&lang=en", rows: shown("redis", "Redis", "keys", "setAndCount", false,
		has{"the store refuses it", "B sends: EVALSHA setAndCount", "A gets: 1", "order is gone"})},
	{name: "a film of a database is shown", at: "#lock=naive&n=2&latency=20&seed=1&lang=en", rows: shown("sqlrow", "SQLite", "zklock_row", "INSERT", true,
		has{"B sends: INSERT INTO zklock_row", "B gets: a duplicate key", "A's row has expired", "order is there, and belongs to B"})},
	// What a film remarks, what the page says of it, and the answers that are described.
	{name: "a film speaks the reader's language", at: "#lock=naive&n=2&latency=20&seed=1&lang=zh", rows: slices.Concat(
		shownInChinese("redis", has{"服务器淘汰了锁的键", "A：从存储读到 0，继续做自己的事", "order 已被删除", "order 已创建，归 B 所有", "A：从 Unlock 得知自己并不持有锁", "A 和 B 同时持有锁"}),
		shownInChinese("sqlrow", has{"B 得到：键重复", "B 得到：1 行", "A：读过存储之后停顿了", "A 的行已经过期", "A：一行也没有改：存储已经见过比 1 大的令牌"}),
	)},
}

func shown(lock, system, root, word string, paused bool, said has) []row {
	return []row{
		opened(lock, lock+".json · recorded on "+system+", in virtual time"),
		{"", "[text('.shelf-label'), text('.root-label')]", list{system, root}},
		{"", "[shown('.counter.events'), shown('.counter.wakeups')]", list{false, false}},
		{"", saidAll, lacks{"ZooKeeper", "znode", "session", "watch"}},
		{"", saidAll, said},
		{"", saidAll, has{"A and B hold the lock at once", "From then on, writes of A are refused.", "A: gets an error from Unlock: it does not hold the lock"}},
		{"", saidAll + ".includes('is paused')", paused},
		{"keep both instants.find(i => i.holders.length == 2)", "[both.kind, both.owner]", list{"two holders", "B"}},
		{"", "instants.some(i => i.unaware) && instants.some(i => i.packets.includes('" + word + "'))", nil},
		{"", "p.holders", list{}},
	}
}

// shownInChinese has statements and commands as they are: these are the same in both languages.
func shownInChinese(lock string, said has) []row {
	const statement = "/发出：(?:BEGIN|COMMIT|ROLLBACK|EVALSHA|INSERT|DELETE|UPDATE|SELECT).*/g"
	return []row{
		opened(lock, lock+".json · 录制于 "),
		{"", filmHeader + " + text('#workbench')", has{"时间是虚拟的"}},
		{"", filmHeader + " + text('#workbench')", lacks{"virtual"}},
		{"", "instants.map(i => (i.said + i.packets).replace(" + statement + ", '').replaceAll('fencing token（隔离令牌）', '')).filter(x => /[a-z]{2,} [a-z]{2,}/.test(x))", list{}},
		{"", saidAll, said},
		{"click [data-action=language] | wait " + filmHeader + ".includes(', in virtual time')", "text('#workbench')", has{"from " + lock + ".json"}},
		{do: "click [data-action=language]"},
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
