// Command exercises grades the exercises in docs/exercises. The README there is for
// students and lecturers; this is for authors of exercises.
//
// An exercise is a folder _NN-name and an entry in the catalog (catalog.go).
// The underscore keeps the stub out of ./..., and go test ./docs/exercises/_NN-name
// works all the same. It is in docs/exercises, and has
//
//	README.md     goal, primer, article, conditions for being done, points, "Ours has N lines"
//	lock.go       the stub: it compiles, its functions return errNotWritten, and
//	              the code that every queue repeats is written already: createParents
//	lock.zh-CN.go.txt  the stub with Chinese comments; its first line has the hash of
//	              the English one
//	lock_test.go  the grader: one test function for each suite of the entry
//	hints.md      three headings "## Hint 1" to "## Hint 3"; they stop before the answer
//	.solution/    lock.go, unless the solution is a step's: the entry's answer says
//	              which file it is
//	mutants/      at least five files: the case that kills the mutant, perhaps more such cases
//	              (also:) and words of the message (says:), a text of the solution, its replacement
//
// Beside the program, testdata/wrong has some wrong first attempts with the words that the first
// message must have. In testdata/attempts are attempts of readers who had not seen
// our solutions, right ones and wrong ones, and some that we made of ours. Exercises 1 to 10 have stages
// (stages.go), and testdata/stages has a lock of each, as a student has it when the
// stage is done. Each exercise up to 10 has a
// page in docs/exercises/primers and a program in cmd/primers. A package has a name of its own, by which grade recognises a student's
// folder, and the API of its step.
//
// The entry lists suites: a test function of lock_test.go and its cases. Whatever
// has a list of cases in internal/locktest or internal/grader/suites can be a suite; the last one plays
// every schedule (suites.ScheduleSubject), on what internal/lab/locks says of the exercise. The
// basic cases of all suites are graded first, then the others. Each case belongs to a
// group, which has a share of the points; of the failures, one that shows two holders
// comes first.
//
// An attempt is the Go files of a folder without its tests. read refuses what a
// lock need not import. grade compiles the attempt and our test, links them
// with archives of what they need (build.go) into a test binary
// and asks that, in a cell (limits, process group, no network), for one case after the other
// through locktest.Remote. The binary's process never says which cases there are.
//
// An exercise of another kind, in which the student writes data, names the file that the
// student writes and a function grade, which judges the cases of the suites in place of
// their tests: it goes through grading.each, and calls passes or fails for each case.
//
// The other outputs of grade besides its table are in formats.go, a function for
// each format. The points, the tables and the pages are those of all exercises. The proof
// changes programs as data: a mutant is a text of the solution with another in its place.
//
// All texts for a person are in the reader's language: flag -lang, otherwise LC_ALL
// or LANG. A sentence is written in both where it is made, as an i18n.Text, and is
// printed in one of them at the end; package comments has the comments of the stubs in
// Chinese. What a program reads, CSV and JSON, is English.
//
// The proof: go test ./cmd/exercises looks at pages, stubs and mutants without
// building them, and grades a few attempts. With ZKLOCK_TESTS=landing, which
// .ci/run sets, it builds and grades each: the stub fails, the solution passes, each mutant fails the case that it names, each wrong
// attempt says what it must say, and hostile attempts cost their own points only. Of the
// foreign attempts a right and a wrong one of each exercise are graded; after a change to a
// case set ZKLOCK_TESTS=long, which grades all and runs the solutions with the race detector,
// too, and after a change to a stub add -update.
package main
