//go:build browser

package browser

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// measuredTime is what docs/figures has for a lock with 1000 contenders on a real server, as the page says it.
func measuredTime(lock string) string {
	times, err := build.MeasuredTimes("../../..", lock)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%#.3g s", float64(times[0])/1e9)
}

// loaded are the addresses of what the page has loaded.
const loaded = "performance.getEntriesByType('resource').map(e => e.name).filter(n => !/^(blob|data):/.test(n))"

func TestOnlyOneFileAndNotALargeOne(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	info := testenv.Must(os.Stat(labFile))(t)
	require.LessOrEqual(t, info.Size(), int64(3_100_000), "bytes")
	p.play(row{"", loaded, list{}})
}

// filmed are scenes of which the page must show what go test sees.
var filmed = []string{
	"#lock=naive&n=6", "#lock=reentrant&n=6&shared=1", "#lock=naive&n=40&seed=5", "#lock=A7&n=2&seed=2",
	"#lock=timeout&n=3&latency=50&do=400ms.A.stop", "#lock=timeout&n=3&seed=8&do=150ms.A.expire,200ms.B.end-ctx",
	"#lock=herd&n=6&seed=2&do=100ms.B.cut", "#lock=predecessor&n=20&seed=4&do=200ms.B.stop",
	"#lock=zklock&n=3&seed=7&do=20ms.A.lose-reply", "#lock=herd&n=20&measured=1&seed=3",
	"#lock=reentrant&n=3&seed=1&scripts=lock.lock.unlock.unlock,lock.lock.unlock.unlock",
}

func TestTheFilmIsTheSameInThePageAndInGoTest(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, address := range filmed {
		a := testenv.Must(locks.ParseAddress(address))(t)
		film := testenv.Must(lab.Run(t, a.Scene))(t)
		rows = append(rows, row{"open " + address, "p.hash", film.Hash})
	}
	open(t, "#lock=naive&n=2").play(rows...)
}
