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
	"os"
	"testing"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/museum/java"
	"example.com/zklock/internal/museum/listings"
	"example.com/zklock/internal/museum/scenes"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/internal/zkserver"
)

// A Bug is one exhibit.
type Bug struct{ scenes.Bug }

// Exhibit is the bug of an ID, with what the catalogue says of it.
func Exhibit(id string) Bug { return Bug{scenes.Get(id)} }

// A Lock is one contender on the stage.
type Lock = listings.Lock

// Calls is a Lock made of two functions.
type Calls struct{ CallLock, CallUnlock func() error }

// Lock calls CallLock.
func (c Calls) Lock() error { return c.CallLock() }

// Unlock calls CallUnlock.
func (c Calls) Unlock() error { return c.CallUnlock() }

// NewLock makes a contender for the lock at path.
type NewLock = listings.New

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
// real time; server is the name of its kind. At its end play asserts that the
// bug has happened.
func (b Bug) HappensOff(t *testing.T, server string, play func(s *Script)) {
	t.Helper()
	t.Run("it happens to the article's lock", func(t *testing.T) {
		s := &Script{T: t, server: server}
		play(s)
		b.inDocs(t, s.diagram())
	})
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

// A Schedule is a play with a name.
type Schedule struct {
	Name string
	Play func(s *Stage)
}

// PlayFor plays a schedule, as Play does, for a caller that judges it: report is
// called with the words of each failure.
func PlayFor(t *testing.T, lock NewLock, report func(words string), play func(s *Stage)) {
	t.Helper()
	onStage(t, lock, func(s *Stage) {
		s.report = report
		play(s)
	})
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
	if zk := os.Getenv("ZK"); zk != "" && zk != ensemble.SpecEmbedded {
		t.Skip("needs exact control of the server, which only the embedded one gives (unset ZK)")
	}
}

// onStage plays a schedule on a server of its own, in virtual time, and
// returns the diagram.
func onStage(t *testing.T, newLock NewLock, play func(s *Stage)) string {
	t.Helper()
	// If a lock spins, virtual time does not pass, but real time does.
	name := t.Name()
	watchdog := time.AfterFunc(time.Minute, func() { panic(name + ": busy for a minute of real time") })
	defer watchdog.Stop()
	var diagram string
	synctest.Test(t, func(t *testing.T) {
		// This clean-up runs last: it lets the remaining timers run out.
		t.Cleanup(func() { time.Sleep(patience) })
		srv := zkserver.Run(t)
		s := &Stage{
			T: t, Server: srv, Path: "/lock",
			newLock: newLock, zoo: ensemble.OverPipes(srv), tap: wiretap.New(wiretap.WithLog()),
			over: make(chan struct{}), gaps: make(map[string]*Gap),
		}
		end := java.Begin(s.pass)
		defer func() {
			close(s.over)
			end() // a thread that hangs in an article's lock exits
			synctest.Wait()
		}()
		play(s)
		s.Settle()
		diagram = s.diagram()
	})
	return diagram
}
