package main

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/grader/suites"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
)

// An exercise is one folder in docs/exercises.
type exercise struct {
	number  int
	folder  string
	pkg     string // the package clause of its files, by which grade recognises a student's folder
	title   i18n.Text
	shares  []share  // of the points
	answer  string   // our solution: a file, from the root of the repository
	imports []string // that this lock needs besides those in importable, which is in folder.go
	tests   []suite  // of lock_test.go, in the order in which they are graded

	// file is the name of the file that the student writes, if that is data; "" means lock.go.
	// A file of the attempt is then one whose name has this suffix.
	file string
	// grade, if it is not nil, judges the cases of the suites in place of lock_test.go: see grading.each.
	grade func(ctx context.Context, g *grading) error
}

// A share of the points is earned if all cases of its group pass. If a case of the group safety
// fails, or the words of any failure say that two were inside at once, there are no points.
type share struct {
	group  locktest.Group
	points int
}

// lockShares are the shares of an exercise that asks for a lock: the points of each group.
func lockShares(safety, liveness, faults, cost int) []share {
	return []share{{locktest.Safety, safety}, {locktest.Liveness, liveness}, {locktest.Faults, faults}, {locktest.Cost, cost}}
}

// The groups of an exercise that asks for something else than a lock.
const (
	basicGroup locktest.Group = "basic"
	fullGroup  locktest.Group = "full"
)

var chineseGroups = map[locktest.Group]string{
	locktest.Safety: "安全性", locktest.Liveness: "活性", locktest.Faults: "故障", locktest.Cost: "代价", basicGroup: "基本", fullGroup: "全部",
}

// nameOf is the name of a group for a reader.
func nameOf(g locktest.Group) i18n.Text { return i18n.Both(string(g), chineseGroups[g]) }

// A suite is one test function of lock_test.go and the cases that it runs.
type suite struct {
	test   string
	all    []string                  // the names of the cases
	basic  []string                  // the cases that are graded first
	groups map[string]locktest.Group // by the name of the case
	zh     map[string]string         // by the name of the case, its gloss in Chinese
}

func suiteOf(test string, full, basic locktest.Suite) suite {
	return suite{test: test, all: locktest.Names(full), basic: locktest.Names(basic),
		groups: locktest.Groups(full), zh: full.Plan().Glosses}
}

// scheduleSuite is the suite that plays every schedule. It comes last, because the other suites have the better words.
func scheduleSuite(folder string) suite {
	s := suites.ScheduleSubject{Folder: folder}
	return suite{test: "TestSchedules", all: locktest.Names(s), groups: locktest.Groups(s), zh: s.Plan().Glosses}
}

// lockSuite has the cases for every lock. Some are for a fair queue alone.
func lockSuite(queue bool) suite {
	return suiteOf("TestLock", locktest.Subject{Queue: queue}, locktest.Subject{Queue: queue, Level: locktest.Basic})
}

const step3 = "example.com/zklock/03-sequential-predecessor"

var exercises = []*exercise{
	{
		number: 1, folder: "_01-naive", pkg: "naive", title: "one ephemeral node",
		shares: lockShares(4, 3, 2, 1), answer: "01-naive-ephemeral/lock.go",
		tests: []suite{lockSuite(false), scheduleSuite("01-naive")},
	},
	{
		number: 2, folder: "_02-herd", pkg: "herd", title: "a fair queue",
		shares: lockShares(4, 3, 2, 1), answer: "02-herd-effect/lock.go",
		tests: []suite{lockSuite(true), scheduleSuite("02-herd")},
	},
	{
		number: 3, folder: "_03-predecessor", pkg: "predecessor", title: "watch only the node before yours",
		shares: lockShares(5, 4, 4, 2), answer: "03-sequential-predecessor/lock.go",
		tests: []suite{lockSuite(true), scheduleSuite("03-predecessor")},
	},
	{
		number: 4, folder: "_04-reentrant", pkg: "reentrant", title: "the owner may lock again",
		shares: lockShares(5, 4, 4, 2), answer: "04-reentrant/lock.go", imports: []string{step3},
		tests: []suite{lockSuite(true), suiteOf("TestOwners", locktest.OwnersSubject{},
			locktest.OwnersSubject{Level: locktest.Basic}), scheduleSuite("04-reentrant")},
	},
	{
		number: 5, folder: "_05-give-up", pkg: "giveup", title: "give up in time",
		shares: lockShares(7, 5, 6, 2), answer: "docs/exercises/_05-give-up/.solution/lock.go",
		tests: []suite{lockSuite(true), suiteOf("TestContexts", locktest.ContextSubject{},
			locktest.ContextSubject{Level: locktest.Basic}), scheduleSuite("05-give-up")},
	},
	{
		number: 6, folder: "_06-find-again", pkg: "findagain", title: "the reply to create is lost: find the node again",
		shares: lockShares(7, 4, 7, 2), answer: "docs/exercises/_06-find-again/.solution/lock.go",
		tests: []suite{lockSuite(true), suiteOf("TestLostReplies", locktest.LostReplySubject{},
			locktest.LostReplySubject{Level: locktest.Basic}), scheduleSuite("06-find-again")},
	},
	{
		number: 7, folder: "_07-fence", pkg: "fence", title: "the resource refuses an old token",
		shares: lockShares(6, 4, 3, 1), answer: "docs/exercises/_07-fence/.solution/lock.go",
		tests: []suite{suiteOf("TestFence", suites.FenceSubject{}, suites.FenceSubject{Level: locktest.Basic}),
			scheduleSuite("07-fence")},
	},
	{
		number: 8, folder: "_08-semaphore", pkg: "semaphore", title: "as many inside as there are permits",
		shares: lockShares(7, 5, 6, 2), answer: "docs/exercises/_08-semaphore/.solution/lock.go",
		tests: []suite{lockSuite(true), suiteOf("TestSemaphore", suites.SemaphoreSubject{},
			suites.SemaphoreSubject{Level: locktest.Basic}), scheduleSuite("08-semaphore")},
	},
	{
		number: 9, folder: "_09-read-write", pkg: "rwlock", title: "many readers or one writer",
		shares: lockShares(7, 5, 6, 2), answer: "docs/exercises/_09-read-write/.solution/lock.go",
		tests: []suite{suiteOf("TestReadersAndWriters", suites.ReadWriteSubject{},
			suites.ReadWriteSubject{Level: locktest.Basic}), scheduleSuite("09-read-write")},
	},
	{
		number: 10, folder: "_10-election", pkg: "election", title: "a hand-over that nobody doubts",
		shares: lockShares(10, 6, 7, 2), answer: "docs/exercises/_10-election/.solution/lock.go",
		tests: []suite{suiteOf("TestElection", suites.ElectionSubject{}, suites.ElectionSubject{Level: locktest.Basic}),
			scheduleSuite("10-election")},
	},
	{
		number: 11, folder: "_11-break-this-lock", pkg: "breakthis", title: "break this lock",
		shares: []share{{basicGroup, 8}, {fullGroup, 10}}, answer: "docs/exercises/_11-break-this-lock/.solution/answers.txt",
		file: counterexample.File, grade: gradeLinks,
		tests: []suite{breakingSuite()},
	},
}

func (e *exercise) points() (n int) {
	for _, s := range e.shares {
		n += s.points
	}
	return n
}

// asksForData reports whether the student writes data, and not a lock in Go.
func (e *exercise) asksForData() bool { return e.file != "" }

func (e *exercise) writes() string { return cmp.Or(e.file, "lock.go") }

// owns reports whether a file of this name belongs to an attempt.
func (e *exercise) owns(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return false
	}
	if e.file != "" {
		return strings.HasSuffix(name, e.file)
	}
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

func (e *exercise) names() (all []string) {
	for _, s := range e.tests {
		all = append(all, s.all...)
	}
	return all
}

// caseOf is the name of a case for a reader. In Chinese it is the gloss, and then the name, which is English.
func (e *exercise) caseOf(name string) i18n.Text {
	for _, s := range e.tests {
		if zh := s.zh[name]; zh != "" {
			return i18n.Both(name, zh+"（"+name+"）")
		}
	}
	return i18n.Same(name)
}

func (e *exercise) String() string { return e.called().String() }

func (e *exercise) called() i18n.Text { return i18n.Textf("exercise %d, %s", e.number, e.title) }

func (e *exercise) dir(root string) string { return filepath.Join(root, "docs", "exercises", e.folder) }

// find returns the exercise that an argument names: its number or its folder.
func find(arg string) (*exercise, error) {
	folder := strings.TrimLeft(filepath.Base(filepath.Clean(arg)), "_")
	n, notANumber := strconv.Atoi(arg)
	for _, e := range exercises {
		isNumber := notANumber == nil && e.number == n
		if isNumber || strings.TrimLeft(e.folder, "_") == folder {
			return e, nil
		}
	}
	last := exercises[len(exercises)-1]
	return nil, i18n.Errorf("there is no exercise %q: give a number from 1 to %d", arg, last.number)
}
