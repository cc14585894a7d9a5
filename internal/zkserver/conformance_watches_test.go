package zkserver_test

import (
	"testing"

	"example.com/zklock/internal/jute"
	"github.com/stretchr/testify/require"
)

func TestAWriteIsToldBeforeItCanBeRead(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
	for i := range 20 {
		require.Equal(t, jute.OK, watcher.watch(jute.OpGetData, p))
		writer.write(frame(&jute.RequestHeader{Xid: int32(i), Op: jute.OpSetData}, &jute.SetDataRequest{Path: p, Data: []byte{byte(i)}, Version: -1}))
		for seen := false; ; {
			_, d := watcher.do(jute.OpGetData, &jute.PathWatch{Path: p})
			seen = seen || len(watcher.events) > 0
			if data := d.Buffer(); len(data) == 1 && data[0] == byte(i) {
				require.True(t, seen, "the change can be read, and the event has not come")
				break
			}
		}
		_, _, err := writer.read()
		require.NoError(t, err)
	}
}

func TestSetWatchesTellsWhatWasMissed(t *testing.T) {
	tg := newTarget(t)
	c, writer := tg.connect(), tg.connect()
	p := tg.root
	for _, name := range []string{"/gone", "/changed", "/same", "/children"} {
		require.Equal(t, jute.OK, writer.create(p+name, jute.FlagPersistent))
	}
	c.stat(p)
	seen := c.seen
	require.Equal(t, jute.OK, writer.delete(p+"/gone"))
	require.Equal(t, jute.OK, writer.set(p+"/changed", "", -1))
	require.Equal(t, jute.OK, writer.create(p+"/came", jute.FlagPersistent))
	require.Equal(t, jute.OK, writer.create(p+"/children/x", jute.FlagPersistent))
	c.xid = 41 // not -8: go-zookeeper numbers this request like others
	code, _ := c.do(jute.OpSetWatches, &jute.SetWatches{
		RelativeZxid: seen,
		Data:         []string{p + "/gone", p + "/changed", p + "/same"},
		Exist:        []string{p + "/came", p + "/never"},
		Child:        []string{p + "/children", p + "/gone", p + "/same"},
	})
	require.Equal(t, jute.OK, code)
	require.Equal(t, []event{
		{jute.EventDeleted, p + "/gone"}, {jute.EventDataChanged, p + "/changed"},
		{jute.EventCreated, p + "/came"},
		{jute.EventChildrenChanged, p + "/children"}, {jute.EventDeleted, p + "/gone"},
	}, c.events, "before the reply")
	require.Equal(t, jute.OK, writer.create(p+"/never", jute.FlagPersistent))
	require.Equal(t, jute.OK, writer.create(p+"/same/x", jute.FlagPersistent))
	require.Equal(t, jute.OK, writer.set(p+"/same", "", -1))
	require.Equal(t, []event{{jute.EventCreated, p + "/never"}, {jute.EventChildrenChanged, p + "/same"}, {jute.EventDataChanged, p + "/same"}}, c.eventsNow(), "the rest is armed")
}

func TestCheckAndRemoveWatches(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	ask := func(op jute.Op, typ int32) jute.Code {
		code, _ := c.do(op, &jute.PathType{Path: tg.root, Type: typ})
		return code
	}
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherAny))
	require.Equal(t, jute.OK, c.watch(jute.OpGetData, tg.root))
	require.Equal(t, jute.OK, ask(jute.OpCheckWatches, jute.WatcherAny))
	require.Equal(t, jute.OK, ask(jute.OpCheckWatches, jute.WatcherData))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherChildren))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherChildren))
	require.Equal(t, jute.OK, ask(jute.OpRemoveWatches, jute.WatcherAny))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherAny))
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherAny))
	other := tg.connect()
	require.Equal(t, jute.OK, other.watch(jute.OpGetChildren, tg.root))
	require.Equal(t, jute.OK, ask(jute.OpCheckWatches, jute.WatcherChildren), "anybody's watch will do")
	require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherChildren))
	require.Equal(t, jute.OK, other.set(tg.root, "", -1))
	require.Equal(t, jute.OK, c.set(tg.root, "", -1))
	require.Empty(t, c.events)
	require.Equal(t, jute.ErrMarshalling, ask(jute.OpCheckWatches, 9))
}

func (c *wire) addWatch(path string, mode int32) jute.Code {
	c.t.Helper()
	code, d := c.do(jute.OpAddWatch, &jute.AddWatch{Path: path, Mode: mode})
	if code == jute.OK {
		require.Zero(c.t, d.Int32())
		require.NoError(c.t, d.Err())
		require.Zero(c.t, d.Len())
	}
	return code
}

func TestAPersistentWatchTellsEveryChangeOfItsNodeAndItsChildren(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistent), "on a node that is not there yet")
	for range 2 {
		require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.set(p, "", -1))
		require.Equal(t, jute.OK, writer.create(p+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.set(p+"/c", "", -1))
		require.Equal(t, jute.OK, writer.delete(p+"/c"))
		require.Equal(t, jute.OK, writer.delete(p))
		require.Equal(t, []event{
			{jute.EventCreated, p}, {jute.EventDataChanged, p},
			{jute.EventChildrenChanged, p}, {jute.EventChildrenChanged, p},
			{jute.EventDeleted, p},
		}, watcher.eventsNow())
	}
}

func TestARecursiveWatchTellsEveryChangeOfANodeBelow(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root + "/w"
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistentRecursive))
	require.Equal(t, jute.OK, watcher.addWatch(tg.root, jute.ModePersistentRecursive), "two watches that cover a node, one event")
	require.Equal(t, jute.OK, writer.create(p+"x", jute.FlagPersistent), "a neighbour whose name begins alike")
	require.Equal(t, []event{{jute.EventCreated, p + "x"}}, watcher.eventsNow(), "from the watch of the parent")
	for range 2 {
		require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.create(p+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.create(p+"/c/d", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.set(p+"/c/d", "", -1))
		require.Equal(t, jute.OK, writer.delete(p+"/c/d"))
		require.Equal(t, jute.OK, writer.delete(p+"/c"))
		require.Equal(t, jute.OK, writer.delete(p))
		require.Equal(t, []event{
			{jute.EventCreated, p}, {jute.EventCreated, p + "/c"}, {jute.EventCreated, p + "/c/d"},
			{jute.EventDataChanged, p + "/c/d"},
			{jute.EventDeleted, p + "/c/d"}, {jute.EventDeleted, p + "/c"}, {jute.EventDeleted, p},
		}, watcher.eventsNow(), "no change of a list of children")
	}
	root := tg.connect()
	require.Equal(t, jute.OK, root.addWatch("/", jute.ModePersistentRecursive))
	require.Equal(t, jute.OK, writer.create(p, jute.FlagPersistent))
	require.Contains(t, root.eventsNow(), event{jute.EventCreated, p}, "everything lies below the root")
}

func TestTheLastWatchOnAPathSaysHowLongItLasts(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	p := tg.root
	created, children := event{jute.EventCreated, p + "/c"}, event{jute.EventChildrenChanged, p}
	change := func() []event {
		require.Equal(t, jute.OK, writer.create(p+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.delete(p+"/c"))
		return watcher.eventsNow()
	}
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistentRecursive))
	require.Equal(t, []event{created, {jute.EventDeleted, p + "/c"}}, change())
	require.Equal(t, jute.OK, watcher.addWatch(p, jute.ModePersistent))
	require.Equal(t, []event{children, children}, change())
	require.Equal(t, jute.OK, watcher.watch(jute.OpGetChildren, p))
	require.Equal(t, []event{children}, change(), "a read with a watch makes it one-shot")
	require.Equal(t, jute.OK, writer.set(p, "", -1))
	require.Equal(t, jute.OK, writer.set(p, "", -1))
	require.Len(t, watcher.eventsNow(), 2, "but not the half of it that is about the node")
}

func TestRemoveWatchesEndsWatchesOfEveryKind(t *testing.T) {
	tg := newTarget(t)
	watcher, writer := tg.connect(), tg.connect()
	ask := func(op jute.Op, typ int32) jute.Code {
		code, _ := watcher.do(op, &jute.PathType{Path: tg.root, Type: typ})
		return code
	}
	change := func() []event {
		require.Equal(t, jute.OK, writer.set(tg.root, "", -1))
		require.Equal(t, jute.OK, writer.create(tg.root+"/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.delete(tg.root+"/c"))
		return watcher.eventsNow()
	}
	for _, mode := range []int32{jute.ModePersistent, jute.ModePersistentRecursive} {
		require.Equal(t, jute.OK, watcher.addWatch(tg.root, mode))
		require.Len(t, change(), 3)
		for _, typ := range []int32{jute.WatcherAny, jute.WatcherData, jute.WatcherChildren} {
			require.Equal(t, jute.OK, ask(jute.OpCheckWatches, typ))
		}
		require.Equal(t, jute.OK, ask(jute.OpRemoveWatches, jute.WatcherAny))
		require.Equal(t, jute.ErrNoWatcher, ask(jute.OpCheckWatches, jute.WatcherAny))
		require.Equal(t, jute.ErrNoWatcher, ask(jute.OpRemoveWatches, jute.WatcherAny))
		require.Empty(t, change())
	}
	require.Equal(t, jute.OK, watcher.addWatch(tg.root, jute.ModePersistent))
	require.Equal(t, jute.OK, ask(jute.OpRemoveWatches, jute.WatcherData))
	require.Equal(t, []event{{jute.EventChildrenChanged, tg.root}, {jute.EventChildrenChanged, tg.root}}, change(), "the half that is about the children")
	require.Equal(t, jute.ErrMarshalling, watcher.addWatch(tg.root, 2))
	require.Equal(t, jute.ErrMarshalling, watcher.addWatch(tg.root, -1))
}

func TestSetWatches2ArmsWatchesOfEveryKind(t *testing.T) {
	tg := newTarget(t)
	c, writer := tg.connect(), tg.connect()
	p := tg.root
	for _, name := range []string{"/gone", "/one", "/all"} {
		require.Equal(t, jute.OK, writer.create(p+name, jute.FlagPersistent))
	}
	before := writer.zxid
	require.Equal(t, jute.OK, writer.delete(p+"/gone"))
	require.Equal(t, jute.OK, writer.set(p+"/one", "", -1))
	require.Equal(t, jute.OK, writer.set(p+"/all", "", -1))
	code, d := c.do(jute.OpSetWatches2, &jute.SetWatches2{
		SetWatches: jute.SetWatches{RelativeZxid: before, Data: []string{p + "/gone"}},
		Persistent: []string{p + "/one"}, Recursive: []string{p + "/all"},
	})
	require.Equal(t, jute.OK, code)
	require.Zero(t, d.Len())
	require.Equal(t, []event{{jute.EventDeleted, p + "/gone"}}, c.events, "a persistent watch gets no event that it missed")
	for range 2 {
		require.Equal(t, jute.OK, writer.set(p+"/one", "", -1))
		require.Equal(t, jute.OK, writer.create(p+"/all/c", jute.FlagPersistent))
		require.Equal(t, jute.OK, writer.delete(p+"/all/c"))
		require.Equal(t, []event{
			{jute.EventDataChanged, p + "/one"}, {jute.EventCreated, p + "/all/c"}, {jute.EventDeleted, p + "/all/c"},
		}, c.eventsNow())
	}
}

func TestWatchesOfANullListAreMarshallingErrors(t *testing.T) {
	tg := newTarget(t)
	c := tg.connect()
	for op, lists := range map[jute.Op]int{jute.OpSetWatches: 3, jute.OpSetWatches2: 5} {
		for null := range lists {
			body := make(raw, 8) // the zxid
			for i := range lists {
				if i == null {
					body = append(body, 0xff, 0xff, 0xff, 0xff)
				} else {
					body = append(body, 0, 0, 0, 0)
				}
			}
			code, _ := c.do(op, body)
			require.Equal(t, jute.ErrMarshalling, code, "%v, list %d", op, null)
		}
	}
}
