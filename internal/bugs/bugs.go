// Package bugs has what the exhibits of the bug museum share. An exhibit
// forces one bug of the articles' listings to happen, by an exact schedule in virtual
// time, and then plays the same schedule with our lock, where it must not happen. The
// exhibits are the tests named TestBug…: that of a bug on ZooKeeper is
// its scene, see [Bug.ByItsScene], in package bugs. Those of bugs on a database and on Redis are written
// by hand, beside the locks there, see [Bug.HappensOff].
//
// The requests, replies and events of that run are drawn as the bug's sequence
// diagram in docs/bugs.md. The test fails if the page shows another diagram;
// go generate writes the diagram. What else is said of the bug is in package
// scenes.
package bugs

import (
	"fmt"
	"testing"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

// A Bug is one exhibit.
type Bug struct{ scenes.Bug }

// Example is the bug of an ID, with what the catalogue says of it.
func Example(id string) Bug { return Bug{scenes.Get(id)} }

// HappensOff shows a bug of a lock that is on another server than ZooKeeper, in
// real time; server is its kind. At its end play asserts that the
// bug has happened. It is drawn, unless the bug has a scene. Then the bug's one line is
// printed: its cure on that server passes tests beside this one.
func (b Bug) HappensOff(t *testing.T, server i18n.Text, play func(s *Script)) {
	t.Helper()
	s := &Script{T: t, server: server}
	play(s)
	if b.NoScene != nil {
		b.inDocs(t, diagram.New(s.actors, s.server, s.steps))
	}
	b.Print(t)
}

// Print prints the bug's one line, if t has not failed; go test shows it with
// -v.
func (b Bug) Print(t *testing.T) {
	if !t.Failed() && testing.Verbose() {
		fmt.Printf("%-4s%-29s%-62scured in %s\n", b.ID, b.Kinds[0], b.Title.En, b.CuredIn().En)
	}
}

// NeedsEmbedded skips a test if ZK names another server than the embedded
// one.
func NeedsEmbedded(t *testing.T) {
	t.Helper()
	testenv.Embedded(t, "needs exact control of the server, which only the embedded one gives")
}
