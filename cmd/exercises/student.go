package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
)

// An app is one call of the command.
type app struct {
	root      string // of the repository
	stubs     stubs
	out       io.Writer
	limits    limits
	language  i18n.Language
	explained sync.Once // explainWait has printed why a first grade takes a while
}

func (a *app) print(format string, args ...any) { fmt.Fprint(a.out, a.say(format, args...)) }

// An exerciseState is how far a student is with an exercise.
type exerciseState struct {
	*exercise
	stub   bool    // the file is the stub, as it was
	result *result // nil: err says why there is none
	err    error
}

func (s exerciseState) word() i18n.Text {
	switch {
	case s.err != nil:
		return i18n.Textf("error: %s", s.err)
	case s.stub:
		return "not begun"
	case s.result.Full:
		return "done"
	case s.result.Why.String() != "":
		return i18n.Both(firstLines(s.result.Why.String(), 1), firstLines(s.result.Why.In(i18n.Chinese), 1))
	case s.result.Unsafe && s.result.Passed > 0: // a lock that passes no case is only begun
		return i18n.Textf("not safe, %s", s.result.score())
	}
	return i18n.Textf("begun, %s", s.result.score())
}

func (r *result) score() i18n.Text { return i18n.Textf("%d of %d cases", r.Passed, r.Cases) }

// atOnce calls f with each number below n, up to jobs calls at the same time.
func atOnce(jobs, n int, f func(i int)) {
	free := make(chan bool, jobs)
	var wait sync.WaitGroup
	for i := range n {
		free <- true
		wait.Go(func() {
			f(i)
			<-free
		})
	}
	wait.Wait()
}

// stateOf grades the attempt in the exercise's own folder, unless that is the stub.
func (a *app) stateOf(ctx context.Context, e *exercise) exerciseState {
	at, err := readAttempt(e.dir(a.root), e)
	if err == nil && a.stubs.have(at) {
		return exerciseState{exercise: e, stub: true, result: e.ungraded("")}
	}
	r, err := a.graded(ctx, e, at, err)
	return exerciseState{exercise: e, result: r, err: err}
}

// graded returns an attempt's grade, kept or new. ReadErr is readAttempt's error; a refused attempt has a grade, too.
func (a *app) graded(ctx context.Context, e *exercise, at *attempt, readErr error) (*result, error) {
	if refused, ok := errors.AsType[refusal](readErr); ok {
		return e.ungraded(i18n.TextOf(refused.error)), nil
	}
	if readErr != nil {
		return nil, readErr
	}
	key, err := a.key(at)
	if err != nil {
		return nil, err
	}
	if r := recall(key); r != nil {
		return r, nil
	}
	stop := a.explainWait()
	defer stop()
	r, err := grade(ctx, a.root, at, a.limits, nil)
	if err == nil {
		remember(key, r)
	}
	return r, err
}

// list prints the state of each exercise. It grades the attempts that were not graded as they are.
func (a *app) list(ctx context.Context) error {
	states := make([]exerciseState, len(exercises))
	atOnce(runtime.NumCPU(), len(states), func(i int) { states[i] = a.stateOf(ctx, exercises[i]) })
	if ctx.Err() != nil {
		return ctx.Err()
	}

	var all result // the sum
	for _, s := range states {
		got := s.result
		if got == nil {
			got = new(result) // there is none, and word prints the error
		}
		_, name, _ := strings.Cut(s.folder, "-") // the folder is such as _01-naive
		a.print("%3d  %-16s %2s of %2d points  %s\n", s.number, name, pointsText(got.Points, got.Ungraded), s.points(), s.word())
		all.Points += got.Points
		all.Of += s.points()
		all.Ungraded = all.Ungraded || got.Ungraded
	}
	a.print("     %-16s %2s of %2d points\n", i18n.Text("in all"), pointsText(all.Points, all.Ungraded), all.Of)
	return nil
}

func (a *app) next(ctx context.Context) error {
	e, err := a.wanted(ctx, nil)
	if err != nil {
		return err
	}
	if e == nil {
		a.print("All exercises are done. Try a lock of your own: go doc ./internal/locktest shows its test.\n")
		return nil
	}
	return a.goal(e)
}

// goal says what an exercise asks for, what to read and which file to write.
func (a *app) goal(e *exercise) error {
	page := a.page(e, "README.md")
	text, err := os.ReadFile(filepath.Join(e.dir(a.root), page))
	if err != nil {
		return err
	}
	a.print("%s", goalOf(text))
	a.print("Read  docs/exercises/%s/%s\nWrite docs/exercises/%s/%s\nand let this run beside it: go run "+
		"./cmd/exercises watch %d\n", e.folder, page, e.folder, e.writes(), e.number)
	a.offer(e)
	return nil
}

// offer says how the stub gets comments in the reader's language, if its comments are in another one.
func (a *app) offer(e *exercise) {
	if a.language != i18n.Chinese {
		return
	}
	if at, err := readAttempt(e.dir(a.root), e); err == nil && a.stubs.language(at) == i18n.English {
		a.print("\nThe comments of %s are in English. This writes them in Chinese: go run ./cmd/exercises start %d\n", e.writes(), e.number)
	}
}

// goalOf returns a page's heading and the paragraph below it. A link to the other edition may be before the heading.
func goalOf(page []byte) string {
	_, text, _ := strings.Cut("\n"+string(stamps.ReplaceAll(unixLines(page), nil)), "\n# ")
	paragraphs := strings.Split(text, "\n\n")
	return strings.Join(paragraphs[:min(2, len(paragraphs))], "\n\n") + "\n\n"
}

// wanted returns the exercise that is named or, without a name, the first that is not done; nil if all are done.
func (a *app) wanted(ctx context.Context, names []string) (*exercise, error) {
	if len(names) > 0 {
		return find(names[0])
	}
	for _, e := range exercises {
		s := a.stateOf(ctx, e)
		if s.err != nil {
			return nil, s.err
		}
		if !s.result.Full {
			return e, nil
		}
	}
	return nil, nil
}

// poll is the pause between two looks of watch at the files.
const poll = 200 * time.Millisecond

// watch grades an exercise each time its files change, until ctx ends. With once, it grades the files as they are.
// Without an exercise all are done, and next says so.
func (a *app) watch(ctx context.Context, e *exercise, once bool) error {
	if e == nil {
		return a.next(ctx)
	}
	reported, unreadable := "", 0 // the content of the last report, and the number of looks in vain since then
	for ; ctx.Err() == nil; time.Sleep(poll) {
		at, err := readAttempt(e.dir(a.root), e)
		isRead := err == nil || errors.As(err, new(refusal)) // a refused attempt has a grade
		if !isRead && !once {
			// Some editors, and Git, remove a file before they write it again. watch waits if it stays away, and says so.
			unreadable++
			if unreadable == 10 { // looks: two seconds, which is longer than an editor needs
				a.print("\n%v\n", err)
			}
			continue
		}
		unreadable = 0
		content := fmt.Sprint(err) // of a refusal, or <nil>
		if at != nil {
			content += at.hash
		}
		if content == reported {
			continue
		}

		reported = content
		if once || !terminal(a.out) {
			a.print("\n")
		} else {
			fmt.Fprint(a.out, "\033[H\033[2J") // clears the screen
		}
		r, err := a.report(ctx, e, at, err)
		if err != nil {
			return err
		}
		a.offer(e)
		if once && !r.Full {
			return errFailed
		}
		if once {
			return nil
		}
		a.print("\nWaits for the next change of docs/exercises/%s; ctrl-c ends.\n", e.folder)
	}
	return nil
}

// report grades an attempt and prints the grade. ReadErr is the error of readAttempt.
func (a *app) report(ctx context.Context, e *exercise, at *attempt, readErr error) (*result, error) {
	a.print("%s (%d points)\n", e.called(), e.points())
	r, err := a.graded(ctx, e, at, readErr)
	if err != nil {
		return nil, err
	}
	if len(r.Failed) > 0 {
		a.printFailure(e, at, r.Failed[0])
	}
	a.print("\n")
	switch {
	case r.Full:
		a.print("All %d cases pass: %d of %d points. Compare with ours: go run ./cmd/exercises show %d\nThen: go run "+
			"./cmd/exercises next\n", r.Cases, r.Points, r.Of, e.number)
	case r.Why.String() != "" && len(r.Failed) == 0:
		a.print("%s\n", r.Why)
	default:
		a.printPoints(e, r)
	}
	return r, nil
}

// printPoints prints the points of an attempt that fails some case, and the stage that it is at.
func (a *app) printPoints(e *exercise, r *result) {
	var parts []string
	for _, p := range r.Parts {
		parts = append(parts, a.say("%s %d of %d", nameOf(p.Group), p.Points, p.Of))
	}
	groups := strings.Join(parts, i18n.Both(", ", "，").In(a.language))
	var note i18n.Text
	switch {
	case r.Unsafe && locktest.Unsafe(r.Failed[0].Words.String()): // the failure above shows two holders
		note = " A lock that is not safe gets no points."
	case r.Unsafe: // the failure above is another one, of an earlier stage
		note = " Points are given once the lock is safe."
	}
	a.print("%d of %d cases pass: %d of %d points (%s).%s Begin with this case.\n", r.Passed, r.Cases, r.Points, r.Of, groups, note)
	if line := r.stageLine(e); line.String() != "" {
		a.print("%s\n", line)
	}
}

// printFailure prints a failure, and how to see it in the lab.
func (a *app) printFailure(e *exercise, at *attempt, f failure) {
	a.print("\nFAIL (%s): %s\n", f.Heading(), e.caseOf(f.Case))
	for line := range strings.Lines(strings.TrimSpace(f.Words.In(a.language))) {
		a.print("    %s\n", strings.TrimRight(line, "\n"))
	}
	if f.Printed != "" {
		a.print("\nIt has printed:\n")
		for line := range strings.Lines(firstLines(f.Printed, 20)) {
			a.print("    %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if f.Trace != "" {
		lockFlag := ""
		if at.dir != e.dir(a.root) {
			lockFlag = " -lock " + at.dir
		}
		a.print("\nSee it in the lab, with your lock:\n    go run ./cmd/lab%s -open -scene '%s'\n", lockFlag, f.Trace)
	}
}

// hint shows one more hint each time, and all that were shown before.
func (a *app) hint(e *exercise) error {
	hints, err := hintsIn(filepath.Join(e.dir(a.root), a.page(e, "hints.md")))
	if err != nil {
		return err
	}
	n := min(a.openedHints(e), len(hints)-1) + 1 // the file of the count may have any number
	for i, h := range hints[:n] {
		a.print("Hint %d of %d\n\n%s\n\n", i+1, len(hints), h)
	}
	if n == len(hints) {
		a.print("There are no more. The cases say the rest: go run ./cmd/exercises watch %d\n", e.number)
	}
	return a.keepOpened(e, n)
}

var hintHeading = regexp.MustCompile(`(?m)^## (?:Hint|提示) .*\n`)

// hintsIn reads the hints in a file: the text below each heading "## Hint".
func hintsIn(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var hints []string
	parts := hintHeading.Split(string(stamps.ReplaceAll(unixLines(text), nil)), -1)
	for _, hint := range parts[1:] { // the first part is before the first heading
		hints = append(hints, strings.TrimSpace(hint))
	}
	if len(hints) == 0 {
		return nil, i18n.Errorf("%s has no hints", file)
	}
	return hints, nil
}

// show prints our solution, if the exercise is solved or the student gives up.
func (a *app) show(ctx context.Context, e *exercise, giveUp bool) error {
	if !giveUp {
		s := a.stateOf(ctx, e)
		if s.err != nil {
			return s.err
		}
		if !s.result.Full {
			return i18n.Errorf("exercise %d is not solved yet (%s): go run ./cmd/exercises hint %d helps, and show -give-up "+
				"%d shows the solution", e.number, s.word(), e.number, e.number)
		}
	}
	text, err := os.ReadFile(filepath.Join(a.root, filepath.FromSlash(e.answer)))
	if err != nil {
		return err
	}
	comment := "//"
	if e.file == counterexample.File {
		comment = "#"
	}
	a.print("%s %s\n%s", comment, e.answer, bytes.TrimLeft(unixLines(text), "\n"))
	return nil
}

// terminal reports whether a person is likely to read the output.
func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
