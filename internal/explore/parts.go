package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// A Part is a part of the tree of schedules: those that begin with the same
// choices. It is data, so that another process can go through it.
type Part struct {
	Branches []*branch
}

// enough is the number of parts in which Split stops to divide. There are many
// more than cores, because some parts are much larger than others.
const enough = 30

// Split divides the tree of a search that is not random into parts, in the
// order in which Explore goes through them. The same search has the same parts
// each time. The schedules that end before they come to a part are in the report; if
// that has found something, the parts come before it.
func Split(t *testing.T, w World, s Search) (parts []Part, r *Report) {
	t.Helper()
	for depth := 4; ; depth += 3 {
		var more bool
		r = explore(t, w, s, nil, func(stack []*branch) bool {
			if len(stack) <= depth {
				return false
			}
			more = true
			part := Part{}
			for _, b := range stack {
				same := *b
				same.log, same.Sleep, same.Tried = nil, maps.Clone(b.Sleep), maps.Clone(b.Tried)
				part.Branches = append(part.Branches, &same)
			}
			parts = append(parts, part)
			return true
		})
		if !more || len(parts) >= enough || depth >= 20 || r.Found != nil && !s.All {
			return parts, r
		}
		parts = nil
	}
}

// ExplorePart goes through one part. Its traces are not shrunk.
func ExplorePart(t *testing.T, w World, s Search, p Part) *Report {
	t.Helper()
	return explore(t, w, s, p.Branches, nil)
}

// Join adds the report of the next part. It returns false if the search ends here,
// because it has found something.
func (r *Report) Join(next *Report, s Search) (goOn bool) {
	r.Schedules += next.Schedules
	r.Cut += next.Cut
	r.Diverged += next.Diverged
	r.Left += next.Left
	r.Depth = max(r.Depth, next.Depth)
	r.Complete = r.Complete && next.Complete
	for k, n := range next.Kinds {
		r.Kinds[k] += n
	}
	for name, tr := range next.Known {
		if r.Known[name] == nil {
			r.Known[name] = tr
		}
	}
	if next.MostRequests > r.MostRequests {
		r.MostRequests, r.WithRequests = next.MostRequests, next.WithRequests
	}
	if next.MostEvents > r.MostEvents {
		r.MostEvents, r.WithEvents = next.MostEvents, next.WithEvents
	}
	maps.Copy(r.states, next.states)
	maps.Copy(r.finals, next.finals)
	r.States = len(r.states)
	if r.Found == nil {
		r.Found = next.Found
	}
	return r.Found == nil || s.All
}

// Whole joins the reports of the parts, in their order, with the report of Split. Of
// returns the report of a part; it is not called for parts after one that has ended
// the search.
func Whole(t *testing.T, w World, s Search, parts []Part, rest *Report, of func(i int) *Report) *Report {
	t.Helper()
	r := newReport(w)
	r.Complete = true
	goOn := true
	for i := 0; i < len(parts) && goOn; i++ {
		goOn = r.Join(of(i), s)
	}
	if goOn {
		r.Join(rest, s)
	}
	if r.Found != nil {
		r.Complete = r.Complete && s.All
		kind := r.Found.Violation.Kind
		r.Found = Shrink(t, w, r.Found.Choices, func(r *Run) bool { return r.Violation != nil && r.Violation.Kind == kind })
	}
	for name, tr := range r.Known {
		r.Known[name] = Shrink(t, w, tr.Choices, knows(name))
	}
	return r
}

func newReport(w World) *Report {
	w.Name = w.Lock.Name
	return &Report{World: w, Known: make(map[string]*Trace), Kinds: make(map[Kind]int), states: make(map[uint64]struct{}), finals: make(map[uint64]struct{})}
}

// A wireReport is a report as JSON, with the fields that only this package has.
type wireReport struct {
	*Report
	AllStates, AllFinals []uint64
}

// Encode writes a report as JSON, with the states that it counts.
func (r *Report) Encode() ([]byte, error) {
	return json.Marshal(wireReport{r, slices.Collect(maps.Keys(r.states)), slices.Collect(maps.Keys(r.finals))})
}

// DecodeReport reads the output of Encode. Its world has no lock.
func DecodeReport(text []byte) (*Report, error) {
	x := wireReport{Report: newReport(World{})}
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, fmt.Errorf("explore: no report: %w", err)
	}
	for _, h := range x.AllStates {
		x.states[h] = struct{}{}
	}
	for _, h := range x.AllFinals {
		x.finals[h] = struct{}{}
	}
	return x.Report, nil
}

// explore is Explore; or, if it begins at some branches, it goes through the
// part below the last of them. For each new branch it asks cut whether to leave out
// the part below it.
func explore(t *testing.T, w World, s Search, from []*branch, cut func(stack []*branch) bool) *Report {
	began := time.Now()
	r := newReport(w)
	r.raw = from != nil || cut != nil
	r.explore(t, w, s, from, cut, began)
	r.Took = time.Since(began)
	return r
}
