// Package museum has what the exhibits of the bug museum share. An exhibit
// forces one bug of the articles' listings to happen, by an exact schedule in virtual
// time, and then plays the same schedule with our lock, where it must not happen. The
// exhibits are the tests named TestBug… in package bugs. That of a bug on ZooKeeper is
// its scene, see [Bug.ByItsScene]. This is one that is written by hand:
//
//	func TestBugA2_UnlockDeletesItsSuccessorsNode(t *testing.T) {
//		bug := museum.Exhibit("A2")
//		bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) { … })
//		bug.Cured(t, newNaive, func(s *museum.Stage) { … })
//	}
//
// The requests, replies and events of that run are drawn as the bug's sequence
// diagram in docs/bugs.md. The test fails if the page shows another diagram;
// go generate writes the diagram. What else is said of the bug is in package
// scenes.
package museum

import (
	"fmt"
	"testing"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum/java"
	"example.com/zklock/internal/museum/scenes"
	"example.com/zklock/internal/stage"
	"example.com/zklock/internal/when"
)

// A Bug is one exhibit.
type Bug struct{ scenes.Bug }

// Exhibit is the bug of an ID, with what the catalogue says of it.
func Exhibit(id string) Bug { return Bug{scenes.Get(id)} }

// The stage has a package of its own. These are its names as schedules had them that
// were written before.
type (
	Stage    = stage.Stage
	Client   = stage.Client
	Held     = stage.Held
	Gap      = stage.Gap
	Lock     = stage.Lock
	NewLock  = stage.NewLock
	Calls    = stage.Calls
	Schedule = stage.Schedule
)

// SessionTimeout is that of every client on the stage.
const SessionTimeout = stage.SessionTimeout

// Happens plays a schedule with the article's lock. At its end play asserts
// that the bug has happened.
func (b Bug) Happens(t *testing.T, article NewLock, play func(s *Stage)) {
	t.Helper()
	NeedsEmbedded(t)
	t.Run("it happens to the article's lock", func(t *testing.T) {
		b.inDocs(t, onStage(t, article, play))
	})
}

// HappensOff shows a bug of a lock that is on another server than ZooKeeper, in
// real time; server is its kind. At its end play asserts that the
// bug has happened. Then the bug's one line is printed: its cure on that server passes
// tests beside this one.
func (b Bug) HappensOff(t *testing.T, server language.Text, play func(s *Script)) {
	t.Helper()
	s := &Script{T: t, server: server}
	play(s)
	b.inDocs(t, s.diagram())
	b.Print(t)
}

// Cured plays a schedule with our lock. At its end play asserts that the bug
// has not happened. Then the bug's one line is printed.
func (b Bug) Cured(t *testing.T, ours NewLock, play func(s *Stage)) {
	t.Helper()
	t.Run("it does not happen to ours", func(t *testing.T) {
		onStage(t, ours, play)
	})
	b.Print(t)
}

// Play plays a schedule that shows no bug with a lock. At its end play asserts
// what it claims.
func Play(t *testing.T, lock NewLock, play func(s *Stage)) {
	t.Helper()
	NeedsEmbedded(t)
	onStage(t, lock, play)
}

// Print prints the bug's one line, if t has not failed; go test shows it with
// -v.
func (b Bug) Print(t *testing.T) {
	if !t.Failed() && testing.Verbose() {
		fmt.Printf("%-4s%-13s%-62scured in %s\n", b.ID, b.Effect, b.Title.En, b.CuredIn().En)
	}
}

// NeedsEmbedded skips a test if ZK names another server than the embedded
// one.
func NeedsEmbedded(t *testing.T) {
	t.Helper()
	when.Embedded(t, "needs exact control of the server, which only the embedded one gives")
}

// onStage plays a schedule with a lock that may be a listing, and returns the diagram.
func onStage(t *testing.T, lock NewLock, play func(s *Stage)) language.Text {
	t.Helper()
	return stage.Play(t, stage.Setting{Lock: lock, Begin: java.Begin}, play)
}
