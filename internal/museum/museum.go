// Package museum is what the exhibits of the bug museum share: the tests
// named TestBug… beside the steps. Each forces one bug of the articles'
// listings to happen, by an exact schedule in virtual time, and then plays the
// same schedule with our lock, to which it must not happen.
//
//	func TestBugA2_UnlockDeletesItsSuccessorsNode(t *testing.T) {
//		bug := museum.Bug{ID: "A2", Kind: museum.TwoHolders, Cure: 1, What: "unlock deletes its successor's node"}
//		bug.Happens(t, newArticleLock, func(s *museum.Stage) { … })
//		bug.Cured(t, newOurLock, func(s *museum.Stage) { … })
//	}
//
// What crosses the wire while it happens is drawn as the bug's sequence
// diagram in docs/bugs.md. The test fails when the page shows another one;
// the flag -update writes it anew.
package museum

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/internal/zkserver"
)

// A Kind says what a bug does to who has it.
type Kind string

// The kinds of bug.
const (
	Hang       Kind = "hang"        // somebody waits for something that never comes
	TwoHolders Kind = "two holders" // the lock does not exclude
	Leak       Kind = "leak"        // something stays, or goes on, that should have gone
	Starvation Kind = "starvation"  // others get in again and again, one never
	Crash      Kind = "crash"       // an error or a panic where there should be a lock
)

// A Bug is one exhibit.
type Bug struct {
	ID   string // the article's letter and a number
	Kind Kind
	What string // what goes wrong, in half a line
	Cure int    // the step that cures it
}

// Article is the letter of the article.
func (b Bug) Article() string { return b.ID[:1] }

// A Lock is one contender on the stage.
type Lock interface {
	Lock() error
	Unlock() error
}

// Calls is a Lock made of two functions.
type Calls struct{ CallLock, CallUnlock func() error }

// Lock calls CallLock.
func (c Calls) Lock() error { return c.CallLock() }

// Unlock calls CallUnlock.
func (c Calls) Unlock() error { return c.CallUnlock() }

// NewLock makes a contender for the lock at path.
type NewLock func(conn *zk.Conn, path string) Lock

// Happens plays a schedule with the article's lock. At its end play asserts
// that the bug has happened.
func (b Bug) Happens(t *testing.T, article NewLock, play func(s *Stage)) {
	t.Helper()
	NeedsEmbedded(t)
	t.Run("it happens to the article's lock", func(t *testing.T) {
		b.inDocs(t, onStage(t, article, play))
	})
}

// HappensOff shows a bug of a lock that is not on ZooKeeper but on server, in
// real time. At its end play asserts that the bug has happened.
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

// Print prints the bug's one line, if t has not failed; go test shows it with
// -v.
func (b Bug) Print(t *testing.T) {
	if !t.Failed() && testing.Verbose() {
		fmt.Printf("%-4s%-13s%-62scured in step %d\n", b.ID, b.Kind, b.What, b.Cure)
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
	// A lock that spins keeps virtual time from passing; real time passes.
	name := t.Name()
	watchdog := time.AfterFunc(time.Minute, func() { panic(name + ": busy for a minute of real time") })
	defer watchdog.Stop()
	var diagram string
	synctest.Test(t, func(t *testing.T) {
		// Comes last: who waits for a timer gets to its end.
		t.Cleanup(func() { time.Sleep(patience) })
		srv := zkserver.Run(t)
		s := &Stage{
			T: t, Server: srv, Path: "/lock",
			newLock: newLock, zoo: ensemble.OverPipes(srv), tap: wiretap.New(wiretap.WithLog()),
			over: make(chan struct{}), gaps: make(map[string]*Gap),
		}
		onAir.Store(s)
		defer func() {
			close(s.over) // who hangs in an article's lock goes home
			synctest.Wait()
		}()
		play(s)
		s.Settle()
		diagram = s.diagram()
	})
	return diagram
}
