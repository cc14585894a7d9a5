package record

import (
	"cmp"
	"slices"
	"time"
)

// An estimator finds the instants of the server. Each lies between the request
// and the reply, in the middle if nothing speaks against it; but the server's
// transactions have numbers, so they must be in that order, an event comes
// from a transaction, and a read that has seen one comes after it.
type estimator struct {
	list   []*exchange
	writes []*exchange   // in the order of their numbers
	way    time.Duration // of a packet, on average
}

// estimate gives all of the list their instants at the server. It returns how long
// a packet is on its way, on average.
func estimate(list []*exchange) time.Duration {
	e := estimator{list: list}
	answered := 0
	for _, t := range list {
		if t.writes() {
			e.writes = append(e.writes, t)
		}
		if t.answered {
			e.way += t.came - t.sent
			answered++
		}
	}
	e.way /= time.Duration(2 * max(1, answered))
	slices.SortStableFunc(e.writes, func(a, b *exchange) int { return cmp.Compare(a.answer.Zxid, b.answer.Zxid) })
	e.findCauses()
	e.placeWrites()
	e.placeOthers()
	e.placeEvents()
	return e.way
}

// since is the place of the first write after a number.
func (e *estimator) since(zxid int64) int {
	i, _ := slices.BinarySearchFunc(e.writes, zxid+1, func(w *exchange, z int64) int { return cmp.Compare(w.answer.Zxid, z) })
	return i
}

// findCauses finds the cause of each event: the first fitting write after the
// watch was set.
func (e *estimator) findCauses() {
	armed := make(map[watch]*exchange)
	for _, t := range slices.SortedStableFunc(slices.Values(e.list), arrived) {
		if of, ok := t.sets(); ok {
			k := watch{t.client, t.asked.Path, of}
			if armed[k] == nil {
				armed[k] = t
			}
		}
		if !t.event() {
			continue
		}
		for _, of := range taken(t.asked.Event) {
			k := watch{t.client, t.asked.Path, of}
			if t.armed == nil {
				t.armed = armed[k]
			}
			delete(armed, k)
		}
		if t.armed == nil {
			continue
		}
		after := e.writes[e.since(t.armed.answer.Zxid):]
		if i := slices.IndexFunc(after, func(w *exchange) bool { return w.causes(t.asked) }); i >= 0 {
			t.cause = after[i]
			t.cause.heardFrom = min(t.cause.heardFrom, t.came)
		}
	}
}

// placeWrites finds the instants of the writes. Where middles are in the wrong
// order, either the earlier ones are moved on or the later ones back. The instants
// between the two are in order, too.
func (e *estimator) placeWrites() {
	n := len(e.writes)
	earliest, latest, on := make([]time.Duration, n), make([]time.Duration, n), make([]time.Duration, n)
	for i, w := range e.writes {
		earliest[i], latest[i] = w.sent, w.heardFrom
	}
	moveOn(earliest)
	moveBack(latest)
	for i, w := range e.writes {
		on[i] = max(earliest[i], min((w.sent+w.came)/2, latest[i]))
	}
	back := slices.Clone(on)
	moveOn(on)
	moveBack(back)
	for from := 0; from < n; {
		at := (on[from] + back[from]) / 2
		to := from + 1
		for to < n && (on[to]+back[to])/2 == at {
			to++
		}
		// Those that all fall on one instant, as of contenders that start
		// together, are spread evenly around it.
		least, most := earliest[to-1], latest[from]
		if from > 0 {
			least = max(least, e.writes[from-1].at)
		}
		if to < n {
			most = min(most, (on[to]+back[to])/2)
		}
		room := max(0, min(at-least, most-at)) / 2
		for i, w := range e.writes[from:to] {
			w.at = at - room + room*time.Duration(2*i+1)/time.Duration(to-from)
			w.at = max(w.sent, min(w.at, w.came)) // the servers of an ensemble may send it late
		}
		from = to
	}
}

// moveOn puts instants into order by making the later ones later.
func moveOn(at []time.Duration) {
	for i := 1; i < len(at); i++ {
		at[i] = max(at[i], at[i-1])
	}
}

// moveBack puts instants into order by making the earlier ones earlier.
func moveBack(at []time.Duration) {
	for i := len(at) - 1; i > 0; i-- {
		at[i-1] = min(at[i-1], at[i])
	}
}

// placeOthers finds the instants of the other requests: between their neighbours
// on the connection, after the writes that they have seen, and before the next.
func (e *estimator) placeOthers() {
	next := make([]time.Duration, len(e.list)) // when the next write of the same client was carried out
	known := make(map[int]time.Duration)
	for i, t := range slices.Backward(e.list) {
		next[i] = 1<<63 - 1
		if at, ok := known[t.client]; ok {
			next[i] = at
		}
		if t.writes() {
			known[t.client] = t.at
		}
	}
	before := make(map[int]time.Duration)
	for i, t := range e.list {
		if t.event() {
			continue
		}
		if !t.writes() {
			e.placeOther(t, before[t.client], next[i])
		}
		before[t.client] = max(before[t.client], t.at)
	}
}

func (e *estimator) placeOther(t *exchange, least, most time.Duration) {
	least = max(least, t.sent)
	if !t.answered {
		t.at = t.sent + e.way
		if t.lost != 0 {
			t.at = min(t.at, t.lost)
		}
	} else {
		t.at, most = (t.sent+t.came)/2, min(most, t.came)
		i := e.since(t.answer.Zxid)
		if i > 0 {
			least = max(least, e.writes[i-1].at)
		}
		if i < len(e.writes) && e.writes[i].at >= least {
			most = min(most, e.writes[i].at)
		}
	}
	t.at = min(max(t.at, least), max(most, t.sent))
}

// placeEvents has each event leave when its cause is carried out, and not before
// its watch is set.
func (e *estimator) placeEvents() {
	for _, t := range e.list {
		if !t.event() {
			continue
		}
		t.at = t.came - e.way
		if t.cause != nil {
			t.at = t.cause.at
		}
		if t.armed != nil {
			t.at = max(t.at, t.armed.at)
		}
		t.at = min(max(t.at, 0), t.came)
	}
}
