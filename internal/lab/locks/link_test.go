package locks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/lab/nodetest"
	"example.com/zklock/internal/testenv"
)

// cases are addresses in the form in which String writes them: all fields, in a fixed order.
var cases = []string{
	"#lock=herd,predecessor&n=6&latency=20&seed=1",
	"#lock=naive&n=100&shared=1&latency=0.5&seed=9007199254740991",
	"#lock=herd,predecessor&n=6&latency=20&seed=1&do=1500ms.B.lose-reply&t=2.3s&lang=zh",
	"#lock=timeout&n=3&latency=20&seed=7&do=2s.A.cut,2000000001ns.A2.runs-on,17us.B.end-ctx&vs=parent",
	"#lock=predecessor&n=2&latency=20&seed=1&mode=schedule&kinds=lose-reply,cut&faults=1&packets=1&choices=A:+request,B:+lose+reply,gap+a%2Cb%26c:+go+on",
	"#lock=reentrant&n=2&latency=20&seed=1&mode=find&kinds=&faults=0",
	"#lock=herd,predecessor&n=20&measured=1&seed=3",
	"#lock=timeout&n=3&latency=20&seed=1&mode=find&kinds=lose-reply,expire&faults=2&packets=1",
	"#lock=D1&n=2&latency=20&seed=1&mode=schedule&kinds=&faults=0&choices=A:+request,gap+D2:+go+on",
	"#lock=predecessor&n=2&latency=20&seed=1&mode=schedule&kinds=lose-reply,cut&faults=1&sequence=9&oneowner=1&scripts=lock.unlock.lock.unlock,trylock.unlock",
	"#lock=predecessor&n=2&latency=20&seed=1&mode=schedule&kinds=&faults=0&want=deletes-anothers-node&choices=A:+request",
}

func TestEachFieldOfAnAddressIsReadAsItIsWritten(t *testing.T) {
	for _, s := range cases {
		a := testenv.Must(locks.ParseAddress(s))(t, s)
		require.Equal(t, s, a.String())
	}
	a := testenv.Must(locks.ParseAddress(""))(t)
	require.Equal(t, cases[0], a.String(), "missing values: the first case has those that stand for them")
	a = testenv.Must(locks.ParseAddress(cases[2]))(t) // the one with do=1500ms.B.lose-reply
	require.Equal(t, []film.Change{{At: 1500 * time.Millisecond, Who: "B", Do: player.LoseReply}}, a.Changes)
	a = testenv.Must(locks.ParseAddress("lock=herd&do=1.5s.B.lose-reply"))(t, "a short one, written by hand")
	require.Equal(t, []film.Change{{At: 1500 * time.Millisecond, Who: "B", Do: player.LoseReply}}, a.Changes)
	a = testenv.Must(locks.ParseAddress(cases[4]))(t) // a choice in it has a comma and an ampersand
	require.Equal(t, []string{"A: request", "B: lose reply", "gap a,b&c: go on"}, a.Choices)
}

func TestAWrongAddressIsAnError(t *testing.T) {
	for _, s := range []string{"#n=0", "#n=101", "#n=x", "#latency=-1", "#seed=-1", "#do=1500ms.B",
		"#do=soon.B.cut", "#do=1..B.cut", "#faults=10", "#lock=%zz", "#seed=NaN", "#lock=none", "#latency=NaN",
		"#do=1s.A.fly", "#do=B", "#lock=", "#choices=%zz", "#want=none", "#scripts=lock.fly"} {
		require.Error(t, testenv.Err(locks.ParseAddress(s)), s)
	}
}

// TestThePageWritesTheSameAddresses asks link.js of the page.
func TestThePageWritesTheSameAddresses(t *testing.T) {
	ask := append([]string{"", "#n=7&latency=5.25", "#lock=naive,herd,timeout", "#do=1.5s.B.cut", "#n=0", "#do=soon.B.cut", "#mode=none"}, cases...)
	var want []string
	for _, s := range ask {
		a, err := locks.ParseAddress(s)
		if err != nil {
			want = append(want, "error")
		} else {
			want = append(want, a.String())
		}
	}
	require.Equal(t, want, nodetest.Ask[[]string](t, "../page", nil, ask, `
		import { parseLink, formatLink } from "./link.js";
		const answer = asked.map(hash => {
			try {
				const { scene, extra } = parseLink(hash);
				if (extra.t !== undefined) extra.t = extra.t / 1e9 + "s"; // parseLink has nanoseconds, formatLink takes a text
				return formatLink(scene, extra);
			} catch { return "error"; }
		});`))
}
