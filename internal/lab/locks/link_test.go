// Tests of the addresses of scenes, which link.go and the page's link.js read and write.
package locks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/lab/nodetest"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

const (
	defaultAddress  = "#lock=herd,predecessor&n=6&latency=20&seed=1" // that of the page when it opens without an address
	loseReplyOfB    = defaultAddress + "&do=1500ms.B.lose-reply&t=2.3s&lang=zh"
	scheduleWithGap = "#lock=predecessor&n=2&latency=20&seed=1&mode=schedule&kinds=lose-reply,cut&faults=1&packets=1" +
		"&choices=A:+request,B:+lose+reply,gap+a%2Cb%26c:+go+on" // a comma and an ampersand are in the name of the gap
)

// completeAddresses have the form in which String writes them: all fields, in a fixed order.
var completeAddresses = []string{
	defaultAddress, loseReplyOfB, scheduleWithGap,
	"#lock=naive&n=100&shared=1&latency=0.5&seed=9007199254740991",
	"#lock=timeout&n=3&latency=20&seed=7&do=2s.A.cut,2000000001ns.A2.runs-on,17us.B.end-ctx&vs=parent",
	"#lock=reentrant&n=2&latency=20&seed=1&mode=find&kinds=&faults=0",
	"#lock=herd,predecessor&n=20&measured=1&seed=3",
	"#lock=timeout&n=3&latency=20&seed=1&mode=find&kinds=lose-reply,expire&faults=2&packets=1",
	"#lock=D1&n=2&latency=20&seed=1&mode=schedule&kinds=&faults=0&choices=A:+request,gap+D2:+go+on",
	"#lock=predecessor&n=2&latency=20&seed=1&mode=schedule&kinds=lose-reply,cut&faults=1&sequence=9&oneowner=1&scripts=lock.unlock.lock.unlock,trylock.unlock",
	"#lock=predecessor&n=2&latency=20&seed=1&mode=schedule&kinds=&faults=0&want=deletes-anothers-node&choices=A:+request",
}

func TestEachFieldOfAnAddressIsReadAsItIsWritten(t *testing.T) {
	for _, s := range completeAddresses {
		a := testenv.Must(locks.ParseAddress(s))(t, s)
		require.Equal(t, s, a.String())
	}
	a := testenv.Must(locks.ParseAddress(""))(t)
	require.Equal(t, defaultAddress, a.String())
	for _, s := range []string{loseReplyOfB, "lock=herd&do=1.5s.B.lose-reply"} { // the second as a person writes it
		a = testenv.Must(locks.ParseAddress(s))(t)
		require.Equal(t, []film.Change{{At: 1500 * time.Millisecond, Who: "B", Do: player.LoseReply}}, a.Changes)
	}
	a = testenv.Must(locks.ParseAddress(scheduleWithGap))(t)
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
	addresses := append([]string{"", "#n=7&latency=5.25", "#lock=naive,herd,timeout", "#do=1.5s.B.cut", "#n=0",
		"#do=soon.B.cut", "#mode=none"}, completeAddresses...) // the first are incomplete or wrong
	var want []string
	for _, s := range addresses {
		written := "error"
		if a, err := locks.ParseAddress(s); err == nil {
			written = a.String()
		}
		want = append(want, written)
	}
	script := site.Read(t, "internal/lab/locks/testdata/links.js")
	require.Equal(t, want, nodetest.Ask[[]string](t, "../page", nil, addresses, script))
}
