package group

import (
	"errors"
	"strconv"
	"sync/atomic"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/language"
	"github.com/go-zookeeper/zk"
)

// A Tally is the counter of a run, kept in a znode. The nil Tally is that of a
// process alone, and counts nothing.
type Tally struct {
	group *Group
	dir   string
	bad   atomic.Int64 // writes that met another version than they had read
}

// Begin makes the counter of a run, and waits until all processes are ready. Of a
// nil Group it returns the nil Tally.
func (g *Group) Begin(dir string) (*Tally, error) {
	if g == nil {
		return nil, nil
	}
	for node, data := range map[string]string{"/count": "0", "/start": "", "/end": ""} {
		if err := Create(g.Admin, dir+node, data); err != nil {
			return nil, err
		}
	}
	return &Tally{group: g, dir: dir}, g.barrier(dir + "/start")
}

// Add is called by the holder, with the connection by which it holds the lock:
// that connection has seen the release before, and so all writes before it,
// even if its server is behind the others. Meet is called between the read and the
// write.
func (t *Tally) Add(conn *zk.Conn, meet func()) error {
	if t == nil {
		meet()
		return nil
	}
	data, stat, err := conn.Get(t.dir + "/count")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	meet()
	_, err = conn.Set(t.dir+"/count", []byte(strconv.Itoa(n+1)), stat.Version)
	if errors.Is(err, zk.ErrBadVersion) {
		t.bad.Add(1)
		return nil // finish reports it; the others are still to count, and to find out
	}
	return err
}

// Finish waits until all processes are through, and fills in the total.
func (t *Tally) Finish(r *report.Run) error {
	if t == nil {
		r.Total = r.Count
		return nil
	}
	if err := t.group.barrier(t.dir + "/end"); err != nil {
		return err
	}
	data, _, err := t.group.Admin.Get(t.dir + "/count")
	if err != nil {
		return err
	}
	if r.Total, err = strconv.Atoi(string(data)); err != nil {
		return err
	}
	r.Requests -= int64(2 * r.Count) // those of the counter are not the lock's
	r.Kinds["get"] -= int64(r.Count)
	delete(r.Kinds, jute.OpSetData.String())
	if bad := t.bad.Load(); bad > 0 {
		return language.Errorf("%d of %d writes of the counter met a bad version, the total is %d: %w", "写计数器 %[2]d 次，有 %[1]d 次版本不符，总计 %[3]d：%[4]v",
			bad, r.Count, r.Total, ErrTwoHolders)
	}
	if want := r.Goroutines * r.Times * r.Processes; r.Total != want {
		return language.Errorf("the total is %d, not %d: %w", "总计是 %d，应为 %d：%v", r.Total, want, ErrTwoHolders)
	}
	return nil
}
