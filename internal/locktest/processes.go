package locktest

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// idsOfProcesses looks at what a lock writes into its node in two processes in which
// the same has happened: the first contender locks. Their clocks and their sessions
// differ, as those of two processes do. If both write the same, the next holder may
// have written it, too, and Unlock must distinguish the two nodes by something else. A
// lock whose data differs, for it is random, passes with that.
//
// The address of a contender counts as the same in both processes: whether it is
// depends on how the runtime places its memory.
func idsOfProcesses(w *World) {
	if !w.Watched() {
		w.Skip(i18n.Textf("needs processes of its own (leave out -locktest.here)", "需要独立的进程（请去掉 -locktest.here）"))
	}
	const alone, seen = "alone", "seen "
	data, again := strings.CutPrefix(w.About, seen)
	if !w.First() || w.About == "" {
		w.Again(alone)
		return
	}
	if again {
		for range 3 {
			w.Session()
		}
		time.Sleep(1234567891 * time.Nanosecond)
	}
	s, admin := w.Session(), w.Session()
	holder := w.Subject.New(s.Conn, w.Path)
	w.MustLock(holder, i18n.Textf("the holder", "持有者"))
	mine, _, err := admin.Get(w.Path)
	require.NoError(w, err)
	written := withoutAddresses(string(mine), holder, s.Conn)
	if !again {
		w.Expire(s)
		next, _ := w.Contender()
		for range 20 { // of ids that are counted the tenth begins as the first does
			w.MustLock(next, i18n.Textf("the next holder", "下一个持有者"))
			if theirs, _, _ := admin.Get(w.Path); strings.Contains(string(theirs), string(mine)) && len(mine) > 0 {
				break
			}
			w.Unlock(next, i18n.Textf("the next holder", "下一个持有者"))
		}
		w.expiredUnlock(holder, s, i18n.Textf("a contender that came later has the lock, whose node has data in which this one's occur", "后来的竞争者拿到了锁，它的节点的数据里含有这个节点的数据"))
		w.Again(seen + hex.EncodeToString([]byte(written)))
		return
	}
	if data != hex.EncodeToString([]byte(written)) {
		w.Unlock(holder, i18n.Textf("the holder", "持有者"))
		return
	}
	w.Expire(s)
	_, err = admin.Create(w.Path, mine, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)) // as a contender of the other process does
	require.NoError(w, err)
	w.expiredUnlock(holder, s, i18n.Textf(
		"a contender of another process has the lock, whose node has the same data, %q: a number that is counted, or an address, is the same in two processes", "锁在另一个进程的竞争者手里，两个节点的数据都是 %q（计数器的值和内存地址，在两个进程里会相同）", mine))
}

// withoutAddresses takes the addresses of a contender and its client out of data.
func withoutAddresses(data string, things ...any) string {
	for _, thing := range things {
		if v := reflect.ValueOf(thing); v.Kind() == reflect.Pointer {
			for _, verb := range []string{"%x", "%X", "%d"} {
				data = strings.ReplaceAll(data, fmt.Sprintf(verb, v.Pointer()), "address")
			}
		}
	}
	return data
}
