package locks

import (
	"strings"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/broken"
)

var brokenNote = Text("A queue lock like step 3's, with one line wrong. Which?")

// slug is the name of a broken lock in addresses.
func slug(bug string) string {
	return "broken-" + strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(strings.ToLower(bug))
}

// brokenLocks are the entries of the locks with one line wrong.
func brokenLocks() (list []Lock) {
	for _, bug := range broken.Bugs[1:] { // the first is the right lock
		list = append(list, Lock{
			Name: slug(bug.Name), Group: Broken, Title: i18n.Both(bug.Name,
				bug.Zh), Note: brokenNote, Subject: withSession(brokenSubject(bug.Name)),
		})
	}
	return list
}

func brokenSubject(bug string) player.Subject {
	newLock := func(conn *zk.Conn, path string) *broken.Lock { return broken.New(bug, conn, path) }
	s := steps.OfPlain(slug(bug), newLock, broken.ErrNotLocked)
	s.Queue = true
	return s
}
