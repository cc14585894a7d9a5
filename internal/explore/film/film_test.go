package film_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.EmbeddedMain(m) }

// paced returns the film of a run, and first checks what must hold for every film. A film is the run as the lab shows
// it: packets, each with the times of its way, and marks, which are all other changes with a time.
func paced(t *testing.T, w player.World, p film.Pace) *film.Film {
	t.Helper()
	f := testenv.Must(film.Paced(t, w, p))(t)
	var last time.Duration
	for i, packet := range f.Packets {
		require.Equal(t, i+1, packet.ID)
		require.GreaterOrEqual(t, packet.Sent, last, "packets are in order of departure")
		require.GreaterOrEqual(t, packet.Arrived, packet.Sent)
		require.LessOrEqual(t, packet.Arrived, f.End)
		if packet.Kind == "reply" && packet.Of != 0 {
			request := f.Packets[packet.Of-1]
			require.Equal(t, "request", request.Kind)
			require.Equal(t, request.Client, packet.Client)
			work := packet.Sent - request.Arrived
			require.True(t, work == 0 || work > 0 && p.Server != nil, "a reply leaves when its request has arrived, and the server has worked")
		}
		last = packet.Sent
	}

	last = 0
	nodes, watches := make(map[string]bool), make(map[string]bool)
	for _, m := range f.Marks {
		require.GreaterOrEqual(t, m.At, last, "marks are in order of time")
		require.LessOrEqual(t, m.At, f.End)
		last = m.At
		switch m.Kind {
		case "node":
			require.Equal(t, !*m.Made, nodes[m.Path], "%+v", m)
			nodes[m.Path] = *m.Made
		case "watch":
			key := m.Client + m.Path + m.Of
			require.Equal(t, !*m.Set, watches[key], "%+v", m)
			watches[key] = *m.Set
		}
	}
	return f
}

// marks returns the marks of a kind: "state" of a contender, "client", "node", "watch", "wakeup", and others.
func marks(f *film.Film, kind string) []film.Mark {
	return slices.DeleteFunc(slices.Clone(f.Marks), func(m film.Mark) bool { return m.Kind != kind })
}

// subjects are the locks of steps 1 to 4, and zklock.
func subjects() []player.Subject {
	const session = 4 * time.Second // as in the lab: locks.Session
	list := []player.Subject{steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant(), steps.ZklockIn(session)}
	for i := range list {
		list[i].Session = session
	}
	return list
}

// In a film without faults the requests and events are at most those of the formulas, and each contender gets its turn.
func TestAFilmShowsTheStep(t *testing.T) {
	for _, s := range subjects() {
		for _, n := range []int{1, 2, 6, 30} {
			f := paced(t, player.World{Lock: s, Contenders: n}, film.Pace{Seed: 1})
			require.Nil(t, f.Violation, "%s: %+v", s.Name, f.Violation)
			require.Len(t, slices.DeleteFunc(marks(f, "state"), func(m film.Mark) bool { return m.State != "holds" }), n)
			require.Len(t, f.Results, n)
			if s.Requests != nil {
				require.LessOrEqual(t, f.Counters.Requests, *f.Formula.Requests)
				require.LessOrEqual(t, f.Counters.Events, *f.Formula.Events)
			}
			require.Equal(t, f.Counters.Wakeups, len(marks(f, "wakeup")))
			require.False(t, slices.ContainsFunc(f.Packets, func(p film.Packet) bool { return p.Lost || p.Pending }))
			isNoRequest := func(p film.Packet) bool { return p.Kind != "request" }
			require.Len(t, slices.DeleteFunc(slices.Clone(f.Packets), isNoRequest), f.Counters.Requests)
		}
	}
}

// someFaults are the faults that a film may have: at a landing all of them, otherwise the third of them that n chooses.
func someFaults(n int) (list []player.Fault) {
	for i, do := range film.PaceFaults {
		if (n+i)%3 == 0 || testenv.AtLanding() {
			list = append(list, do)
		}
	}
	return list
}

// TestAFilmRepeats plays each world twice: with and without faults, with a session for all and one for each.
func TestAFilmRepeats(t *testing.T) {
	for i, s := range subjects() {
		for j, do := range append([]player.Fault{""}, someFaults(i)...) {
			for _, shared := range []bool{false, true} {
				breaksConnection := do != "" && do != film.RunsOn && do != player.EndContext
				if shared && s.Name == "zklock" && breaksConnection {
					continue // all contenders of the client wake at once, in an order that Go draws: see film.Pace
				}
				t.Run(fmt.Sprintf("%s %s %v", s.Name, do, shared), func(t *testing.T) {
					w := player.World{Lock: s, Contenders: 6, Shared: shared}
					p := film.Pace{Seed: uint64(i*10 + j)}
					if do != "" {
						const early, later, late = 25 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second
						p.Changes = []film.Change{{At: early, Who: "A", Do: do}, {At: later, Who: "C", Do: do},
							{At: late, Who: "B", Do: player.Cut}} // if the run still goes on
					}
					first := paced(t, w, p)
					require.Equal(t, first, paced(t, w, p))
				})
			}
		}
	}
}

func TestAHundredContendersRepeat(t *testing.T) {
	for _, s := range subjects() {
		wakesAll := s.Name == "naive" || s.Name == "herd" // a release wakes all that wait: tens of thousands of packets
		if wakesAll && (testenv.Raced || !testenv.AtLanding()) {
			continue
		}
		w, p := player.World{Lock: s, Contenders: 100}, film.Pace{Seed: 1}
		if wakesAll {
			p.Changes = []film.Change{{At: time.Second, Who: "V4", Do: player.Cut}} // V4 is the 100th name
		}
		require.Equal(t, paced(t, w, p).Hash, paced(t, w, p).Hash, s.Name)
	}
}

func TestASeedChangesTheFilm(t *testing.T) {
	w := player.World{Lock: steps.Predecessor(), Contenders: 3}
	a, b := paced(t, w, film.Pace{Seed: 1}), paced(t, w, film.Pace{Seed: 2})
	require.NotEqual(t, a.Hash, b.Hash)
}

// Up to the instant of a change, the film is that of the same run without the change.
func TestAChangeLeavesWhatWasBeforeIt(t *testing.T) {
	for i, s := range subjects() {
		w := player.World{Lock: s, Contenders: 5}
		whole := paced(t, w, film.Pace{Seed: 3})
		for _, do := range someFaults(i) {
			at := whole.End / 2
			changed := paced(t, w, film.Pace{Seed: 3, Changes: []film.Change{{At: at, Who: "C", Do: do}}})
			wantPackets, wantMarks := filmedBefore(whole, at)
			packets, marks := filmedBefore(changed, at)
			require.Equal(t, wantPackets, packets, "%s %s", s.Name, do)
			require.Equal(t, wantMarks, marks, "%s %s", s.Name, do)
		}
	}
}

// filmedBefore returns what a film has before an instant. Of a packet that is on its way then, how it ends is left out.
func filmedBefore(f *film.Film, at time.Duration) (packets []film.Packet, marks []film.Mark) {
	for _, p := range f.Packets {
		if p.Sent < at {
			if p.Arrived >= at {
				p.Arrived, p.Lost = 0, false
			}
			packets = append(packets, p)
		}
	}
	return packets, slices.DeleteFunc(slices.Clone(f.Marks), func(m film.Mark) bool { return m.At >= at })
}

// Each kind of change shows its effect in the film.
func TestEachChangeIsInTheFilm(t *testing.T) {
	all := subjects()
	predecessor := player.World{Lock: all[2], Contenders: 3} // step 3
	zklock := player.World{Lock: all[4], Contenders: 3}
	filmed := func(w player.World, c ...film.Change) *film.Film { return paced(t, w, film.Pace{Seed: 1, Changes: c}) }

	states := marks(filmed(predecessor), "state")
	getsIn := func(m film.Mark) bool { return m.Who == "A" && m.State == "holds" }
	inside := states[slices.IndexFunc(states, getsIn)].At + 1 // A has just got the lock
	statesOf := func(f *film.Film, who string) (list []string) {
		for _, m := range marks(f, "client") {
			if m.Who == who {
				list = append(list, m.State)
			}
		}
		return list
	}
	firstLost := func(f *film.Film) film.Packet {
		return f.Packets[slices.IndexFunc(f.Packets, func(p film.Packet) bool { return p.Lost })]
	}

	f := filmed(predecessor, film.Change{Who: "A", Do: player.LoseRequest})
	require.Equal(t, "request", firstLost(f).Kind)
	require.Equal(t, "create", firstLost(f).Op)
	require.Equal(t, "cut off", statesOf(f, "A")[0])

	f = filmed(predecessor, film.Change{Who: "A", Do: player.LoseReply})
	require.Equal(t, "reply", firstLost(f).Kind)
	require.NotEmpty(t, firstLost(f).Made, "the node is there, and no client has the answer")
	require.Equal(t, player.Hang, f.Violation.Kind)
	require.NotEmpty(t, f.Known)

	f = filmed(predecessor, film.Change{At: inside, Who: "A", Do: player.Cut})
	require.Equal(t, []string{"cut off", "connected"}, statesOf(f, "A"))

	f = filmed(predecessor, film.Change{At: inside, Who: "A", Do: player.Stop})
	// The session expires at the server, and A is notified of that after it has run on.
	require.Equal(t, []string{"stopped", "expired", "runs on", "expired"}, statesOf(f, "A")[:4])
	require.False(t, *marks(f, "lost")[0].Knows)
	require.Equal(t, player.Outlived, f.Violation.Kind, "B gets in while A is stopped in the lock")

	f = filmed(predecessor, film.Change{At: inside, Who: "A", Do: player.Stop},
		film.Change{At: inside + time.Second, Who: "A", Do: film.RunsOn})
	require.Equal(t, []string{"stopped", "runs on"}, statesOf(f, "A"), "its session still lives")
	require.Nil(t, f.Violation)

	f = filmed(predecessor, film.Change{At: inside, Who: "A", Do: player.Expire})
	require.Contains(t, statesOf(f, "A"), "expired")

	f = filmed(predecessor, film.Change{At: inside, Who: "A", Do: player.EndContext})
	saysWhy := func(m film.Mark) bool { return m.Text.String() == "end ctx is not possible: the lock takes no ctx" }
	require.True(t, slices.ContainsFunc(marks(f, "note"), saysWhy))

	f = filmed(zklock, film.Change{At: inside + 20*time.Millisecond, Who: "C", Do: player.EndContext})
	require.Contains(t, f.Results[2].String(), "context canceled")
	require.Nil(t, f.Violation)

	f = filmed(zklock, film.Change{At: inside, Who: "A", Do: player.Expire})
	require.Nil(t, f.Violation, "the holder is notified in time: %+v", f.Violation)
}

// A part of a film has everything that the whole film has up to the part's end.
func TestPartsOfAFilm(t *testing.T) {
	for _, do := range append([]player.Fault{""}, someFaults(0)...) {
		t.Run(string(do), func(t *testing.T) {
			for _, shared := range []bool{false, true} {
				p := film.Pace{Seed: 4}
				if do != "" {
					p.Changes = []film.Change{{At: 250 * time.Millisecond, Who: "C", Do: do}}
				}
				var parts []*film.Film
				p.Part = func(f *film.Film) {
					copied := *f // it goes on to grow
					copied.Packets, copied.Marks = slices.Clone(f.Packets), slices.Clone(f.Marks)
					parts = append(parts, &copied)
				}
				whole := paced(t, player.World{Lock: steps.Naive(), Contenders: 40, Shared: shared}, p)
				// The first part comes at 1000 packets (firstPart in pace.go), and in a film of twice as many that is certain.
				require.True(t, len(parts) >= 1 || len(whole.Packets) < 2000, "%d packets", len(whole.Packets))
				last := 0
				for _, part := range parts {
					packets, marks := len(part.Packets), len(part.Marks)
					require.Greater(t, packets, last)
					last = packets
					require.Equal(t, whole.Packets[:packets], part.Packets)
					require.Equal(t, whole.Marks[:marks], part.Marks)
					for _, p := range whole.Packets[packets:] {
						require.Greater(t, p.Sent, part.End)
					}
					for _, m := range whole.Marks[marks:] {
						require.Greater(t, m.At, part.End)
					}
					require.Equal(t, whole.Clients, part.Clients)
					require.Equal(t, whole.Formula, part.Formula)
				}
			}
		})
	}
}

// measured films a lock at the pace of the measured server.
func measured(t *testing.T, s player.Subject, n int, changes ...film.Change) *film.Film {
	p := film.Measured(n)
	p.Seed, p.Changes = 2, changes
	s.Session = 4 * time.Second
	return paced(t, player.World{Lock: s, Contenders: n}, p)
}

// The benchmark's page has the command that measured these: the median times of the steps, as multiples of step 3's.
func TestTheTimesHaveTheRatiosOfTheMeasuredServer(t *testing.T) {
	for _, ratios := range []struct {
		n           int // contenders
		herd, naive float64
	}{{6, 1.01, 1.45}, {20, 1.43, 2.44}, {50, 2.16, 3.50}, {100, 3.53, 5.67}} { // a test of the bench reads this line
		n := ratios.n
		if n > 20 && !testenv.AtLanding() {
			continue
		}
		chain := float64(measured(t, steps.Predecessor(), n).End)
		require.InEpsilon(t, ratios.herd, float64(measured(t, steps.Herd(), n).End)/chain, 0.10, "herd, %d contenders", n)
		if n < 100 { // that many are slow to film
			require.InEpsilon(t, ratios.naive, float64(measured(t, steps.Naive(), n).End)/chain, 0.30, "naive, %d contenders", n)
		}
	}
}

// The server takes requests in the order in which they come, whatever fails, and a reply leaves when it has worked.
func TestAServerTakesOneRequestAfterTheOther(t *testing.T) {
	for _, do := range append([]player.Fault{""}, someFaults(0)...) {
		var changes []film.Change
		if do != "" {
			const beforeCAsks, later = 1600 * time.Microsecond, 1800 * time.Microsecond // C asks soon after A's first release
			changes = []film.Change{{At: beforeCAsks, Who: "C", Do: do}, {At: later, Who: "B", Do: do}}
		}
		const contenders = 6
		work := film.Measured(contenders).Server.Request
		f := measured(t, steps.Herd(), contenders, changes...)
		require.Equal(t, f, measured(t, steps.Herd(), contenders, changes...), "%s: a film repeats", do)
		var carriedOut []film.Packet
		waited := 0
		for _, p := range f.Packets {
			if p.Kind == "request" && !p.Lost {
				carriedOut = append(carriedOut, p)
			}
			if p.Queued != 0 {
				require.Less(t, p.Queued, p.Arrived)
				waited++
			}
			if p.Kind == "reply" {
				require.GreaterOrEqual(t, p.Sent-f.Packets[p.Of-1].Arrived, work, do)
			}
		}
		require.Greater(t, waited, 10, do)
		slices.SortFunc(carriedOut, func(a, b film.Packet) int { return cmp.Compare(a.Arrived, b.Arrived) })
		came := func(p film.Packet) time.Duration { return cmp.Or(p.Queued, p.Arrived) } // Queued is 0 if it did not wait
		for i, p := range carriedOut[1:] {
			last := carriedOut[i] // the one before p
			require.GreaterOrEqual(t, came(p), came(last), do)
			require.GreaterOrEqual(t, p.Arrived-last.Arrived, work, do)
		}
	}
}

// A film has the data of a znode and the variables of the holder's lock, which the naive lock compares in Unlock.
func TestAFilmHasDataAndVariables(t *testing.T) {
	value := func(m film.Mark, name string) string {
		for _, v := range m.Variables {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}
	f := paced(t, player.World{Lock: steps.Naive()}, film.Pace{Seed: 1})
	data := make(map[string]string) // of the node, by the client that owned it
	for _, m := range marks(f, "node") {
		if m.Owner != "" && *m.Made {
			data[m.Owner] = m.Data
			require.Positive(t, m.Czxid)
		}
	}
	require.Equal(t, map[string]string{"A": "<random 1>", "B": "<random 2>"}, data)
	require.NotEqual(t, f.Clients[0].Session, f.Clients[1].Session)
	shown := make(map[string]bool)
	for _, m := range marks(f, "variables") {
		if id := value(m, "id"); id != "" {
			require.Equal(t, data[m.Who], id)
			shown[m.Who] = true
		}
	}
	wantShown := map[bool]int{false: 2, true: 0}[testenv.Raced] // raced, a film has none: noteVariables says why
	require.Len(t, shown, wantShown)

	for _, lock := range []player.Subject{steps.Timeout(), steps.Zklock()} {
		f := paced(t, player.World{Lock: lock}, film.Pace{Seed: 1})
		tokens := make(map[string]int64)
		for _, m := range marks(f, "state") {
			if m.State == "holds" {
				require.Positive(t, m.Token, lock.Name)
				tokens[m.Who] = m.Token
			}
		}
		require.Len(t, tokens, 2)
		for _, m := range marks(f, "variables") {
			if token := value(m, "token"); token != "" {
				require.Equal(t, strconv.FormatInt(tokens[m.Who], 10), token, lock.Name)
			}
		}
	}

	// In a crowd nobody follows the variables.
	require.Empty(t, marks(paced(t, player.World{Lock: steps.Naive(), Contenders: 13}, film.Pace{Seed: 1}), "variables"))
}
