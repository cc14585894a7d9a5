// Tests of the catalogue: each scene shows what its entry says, and each level can be played.
package locks_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// TestEachAddressOnThePageShowsWhatItSays opens each address of docs/scenes.md as the lab's engine does, and plays it.
func TestEachAddressOnThePageShowsWhatItSays(t *testing.T) {
	addresses := regexp.MustCompile(`(?m)^#\w+=.*$`).FindAllString(site.Read(t, "docs/scenes.md"), -1)
	const steps, zklocks = 5, 2 // the folders 01 to 05; zklock without and with caching
	require.Len(t, addresses, len(locks.Openings)+steps+zklocks+len(scenes.WithScene)+len(locks.Tasks),
		"the openings, the steps and two zklocks, the bugs, the locks to break of exercise 11")
	for _, address := range addresses {
		a := testenv.Must(locks.ParseAddress(address))(t, address)
		require.Equal(t, address, a.String())
		t.Run(strings.Join(a.Locks, " "), func(t *testing.T) { playAddress(t, a) })
	}
}

// playAddress plays an address of the page, and checks what the page says of it.
func playAddress(t *testing.T, a locks.Address) {
	s, isBug := scenes.Find(a.Lock)
	switch {
	case strings.HasPrefix(a.Lock, "break-"):
		playTask(t, a)
	case isBug:
		playBug(t, a, s)
	default:
		playStep(t, a)
	}
}

// playTask requires that an address of exercise 11 opens the exercise's world with no choice made. The exercise is to
// find the choices that break its lock.
func playTask(t *testing.T, a locks.Address) {
	w := a.World()
	tr, possible := explore.Play(t, w, a.Choices)
	require.Nil(t, tr.Violation)
	require.NotEmpty(t, possible)
	require.Empty(t, a.Choices, "the page gives the answer away")
	l := testenv.Must(locks.Find(a.Lock))(t)
	require.Equal(t, []any{l.World.Contenders, l.World.Kinds, l.World.Faults}, []any{w.Contenders, w.Kinds, w.Faults},
		"the address opens another world than that of the exercise")
}

// playStep requires that the run of a step has no violation. An opening, which shows two locks, may have one: package
// lab's tests of the openings check what it shows.
func playStep(t *testing.T, a locks.Address) {
	isOpening := len(a.Locks) == 2
	for _, f := range testenv.Must(lab.Films(t, a))(t) {
		require.NotEmpty(t, f.Packets)
		require.True(t, isOpening || f.Violation == nil, "%v", f.Violation)
	}
}

// playBug requires that the address shows the bug, and that its cure, a lock, does nothing wrong in the same world.
func playBug(t *testing.T, a locks.Address, s scenes.Bug) {
	w := a.World()
	tr, _ := explore.Play(t, w, a.Choices)
	require.True(t, s.Shows(tr), "%s shows something else: %v\ngo generate ./... finds its schedule again", a.Lock, tr)

	cure := testenv.Must(locks.Find(s.Ours.Name))(t)
	curedWorld := cure.In(w) // w with the cure as its lock
	withoutLock := func(w player.World) player.World {
		w.Name, w.Lock = "", player.Subject{Path: w.Lock.Path}
		return w
	}
	require.Equal(t, withoutLock(w), withoutLock(curedWorld), "the worlds of %s and of its cure", a.Lock)

	onlyItsKinds := s.Only(curedWorld)                               // violations other than the bug's are not reported
	r := explore.Explore(t, onlyItsKinds, explore.Search{Limit: 20}) // exploretest explores our locks in full
	require.Nil(t, r.Found, "%v", r.Found)
	// No lock on ZooKeeper alone can rule out that a holder outlives its session: the explorer has that in Known.
	require.NotContains(t, r.Known, string(player.Outlived))
}

// TestACureMayReturnWhatItsWorldForbids: in the world of A1 no client may create a node, and its cure returns that
// error. The page must not call it a violation: each cure is played up to the first choice, and shows none there.
func TestACureMayReturnWhatItsWorldForbids(t *testing.T) {
	for _, s := range scenes.WithScene {
		l := testenv.Must(locks.Find(s.Ours.Name))(t)
		a := locks.Address{Scene: *l.Scene}
		tr, _ := explore.Play(t, a.World(), nil)
		require.Nil(t, tr.Violation, "%s: %v", l.Name, tr.Violation)
		if s.ID == "A1" {
			require.Len(t, tr.Results, 1)
			require.Contains(t, tr.Results[0].String(), "gets an error: ")
			require.Contains(t, tr.Results[0].String(), "not authenticated")
		}
	}
}

// TestEachScheduleCanBeTakenBack: when a reader takes back the last choices, the lab plays the schedule without
// them, and offers the next one again. A client that it offers to reconnect is not drawn as connected.
func TestEachScheduleCanBeTakenBack(t *testing.T) {
	testenv.NotRaced(t, "some of the articles' locks have races")
	for _, s := range scenes.WithScene {
		choices := s.Trace().Choices
		for n := range choices {
			played := testenv.Must(lab.Play(t, s.World, choices[:n]))(t)
			require.Equal(t, choices[:n], played.Trace.Choices[:n], s.ID)
			state := make(map[string]string) // of each client, at the end
			for _, m := range played.Film.Marks {
				if m.Kind == "client" {
					state[m.Who] = m.State
				}
			}
			var possible []string // the choices that the lab offers next
			for _, c := range played.Enabled {
				possible = append(possible, c.Choice)
				if c.What == "reconnect" {
					require.NotContains(t, []string{"", "connected", "runs on"}, state[c.Who], "%s after %d choices", s.ID, n)
				}
			}
			require.Contains(t, possible, choices[n], "%s after %d choices", s.ID, n)
		}
	}
}

// TestEachLockHasANameAndATitle also plays the locks of package broken, which show what a test suite finds.
func TestEachLockHasANameAndATitle(t *testing.T) {
	brokenLocks := 0
	for _, l := range locks.All() {
		require.Regexp(t, `^[A-Za-z0-9-]+$`, l.Name)
		require.True(t, l.Title.String() != "" && l.Title.In(i18n.Chinese) != "", "%s: %v", l.Name, l.Title)
		if l.Group == locks.Broken {
			explore.Play(t, l.In(player.World{Contenders: 2}), nil)
			brokenLocks++
		}
	}
	require.Equal(t, len(broken.Bugs)-1, brokenLocks, "all but the right lock")
}

// Each lock with a goal is a level of the game: it has a number of its own, and the chapters are in their order.
func TestEachGoalIsOneLevel(t *testing.T) {
	byNumber := make(map[int]locks.Lock)
	for _, l := range locks.All() {
		require.Equal(t, l.Goal == nil, l.Level == nil, l.Name)
		if l.Level != nil {
			require.NotContains(t, byNumber, l.Level.Number, l.Name)
			byNumber[l.Level.Number] = l
		}
	}
	require.Len(t, byNumber, len(scenes.WithScene)+len(locks.Tasks)+2, "the bugs, the tasks, and two that cannot be won")
	var chapters []scenes.Text
	for n := range len(byNumber) {
		l := byNumber[n]
		require.NotNil(t, l.Level, "no level has the number %d", n)
		if len(chapters) == 0 || chapters[len(chapters)-1] != l.Level.Chapter {
			chapters = append(chapters, l.Level.Chapter)
		}
	}
	require.Equal(t, scenes.Chapters, chapters)
}

// The last levels cannot be won: all their schedules are played here, and nothing breaks.
func TestTheLastLevelsCannotBeWon(t *testing.T) {
	played := 0
	for _, l := range locks.All() {
		if strings.HasPrefix(l.Name, "proved-") {
			w := l.In(player.World{Contenders: l.Scene.Contenders, Kinds: l.Scene.Kinds, Faults: l.Scene.Faults})
			r := explore.Explore(t, w, explore.Search{})
			require.True(t, r.Complete && r.Found == nil && len(r.Known) == 0, "%s: %v", l.Name, r)
			require.Greater(t, r.Schedules, 600, "%s: too few to prove anything", l.Name)
			played++
		}
	}
	require.Equal(t, 2, played)
}
