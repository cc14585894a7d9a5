// Command exercises grades the exercises in docs/exercises. The README there is for students and
// lecturers; this is for authors of exercises.
//
// An exercise is an entry in the catalog (catalog.go) and a folder docs/exercises/_NN-name. The underscore keeps the
// stub out of ./..., and go test ./docs/exercises/_NN-name works all the same. The folder has
//
//	README.md     goal, primer, article, conditions for being done, points, "Ours has N lines"
//	lock.go       the stub: it compiles, and its functions return errNotWritten. The
//	              code that every queue repeats is written already: createParents
//	lock.zh-CN.go.txt  the stub with Chinese comments; its first line has the hash of
//	              the English one
//	lock_test.go  the grader: one test function for each suite of the entry
//	hints.md      three headings "## Hint 1" to "## Hint 3"; they stop before the answer
//	.solution/    lock.go, unless the solution is a step's: the entry's answer says
//	              which file it is
//	mutants/      at least five files, each for a wrong solution: a case that it fails (case:), perhaps
//	              more such cases (also:) and words of a message (says:), then a text of our solution,
//	              and what the wrong one has in its place
//
// Each exercise up to 10 also has a page in docs/exercises/primers, a program in cmd/primers, and
// stages (stages.go). Its package has a name of its own, by which grade recognises a student's folder. The tests say
// what the folders in testdata have.
//
// The entry lists suites: a test function of lock_test.go and its cases. Whatever has a list of
// cases in internal/locktest or internal/grader/suites can be a suite. The last suite plays every
// schedule (suites.ScheduleSubject), on what internal/lab/locks says of the exercise. Each case
// belongs to a group, which has a share of the points. The basic cases of all suites are graded
// first, then the others; of the failures, one that shows two holders comes first.
//
// An attempt is the Go files of a folder without its tests. readAttempt refuses one that imports what a lock does not
// need. grade compiles it with our test, links both with archives of what they need (build.go) into a test binary,
// and asks that for one case after the other, through runner.Remote, in a cell (limits, process group, no network).
// grade has the list of the cases, so no process of an attempt can make it shorter.
//
// If the student is to write data, the entry names the file, and its field grade is a function that judges the
// cases in place of lock_test.go: it goes through grading.each, and calls passes or fails for each.
//
// All texts for a person are in the reader's language: flag -lang, otherwise LC_ALL or LANG. A
// sentence is written in both languages where it is made, as an i18n.Text, and is printed in one of
// them at the end. What a program reads, CSV and JSON (formats.go), is English.
//
// The proof: go test ./cmd/exercises looks at pages, stubs and mutants without building them, and grades a few
// attempts. With ZKLOCK_TESTS=landing, which .ci/run sets, it builds and grades each: the stub fails, the solution
// passes, each mutant fails the case that it names, each wrong attempt gets its message, and hostile attempts cost
// their own points only. After a change to a case, set ZKLOCK_TESTS=long: it grades all attempts of readers, and runs
// the solutions with the race detector, too. After a change to a stub, add -update.
package main
