package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// TestEveryExerciseIsComplete compares the folders, the pages and the tests with the catalog.
func TestEveryExerciseIsComplete(t *testing.T) {
	root := rootOf(t)
	folders := testenv.Must(filepath.Glob(filepath.Join(root, "docs/exercises/_[0-9]*")))(t)
	require.Len(t, exercises, len(folders), "a folder is not in the catalog, or an exercise has none")
	index := fileText(t, root, "docs/exercises/README.md")
	last := 0
	for _, e := range exercises {
		require.Greater(t, e.number, last, "the catalog is ordered by number")
		last = e.number
		require.Equal(t, fmt.Sprintf("_%02d-", e.number), e.folder[:4])
		for _, s := range e.tests {
			for _, name := range s.all {
				hasPoints := slices.ContainsFunc(e.shares, func(sh share) bool { return sh.group == s.groups[name] })
				require.True(t, hasPoints, "%v: the case %q brings no points", e, name)
			}
			for _, name := range s.basic {
				require.Contains(t, s.all, name, "%v: a basic case of %s", e, s.test)
			}
			require.Contains(t, fileText(t, e.dir(root), "lock_test.go"), "func "+s.test+"(t *testing.T) {")
		}

		readme := fileText(t, e.dir(root), "README.md")
		facts := []string{
			fmt.Sprintf("# Exercise %d: ", e.number), "**Goal.** ", "**Read** ", sizeOfOurs(t, e),
			fmt.Sprintf("go run ./cmd/exercises hint %d", e.number), "go test ./docs/exercises/" + e.folder,
		}
		for _, sh := range e.shares {
			facts = append(facts, fmt.Sprintf("\n| %s | %d |", sh.group, sh.points))
		}
		for _, fact := range facts {
			require.Contains(t, readme, fact, "%s", e.folder)
		}

		require.Contains(t, index, fmt.Sprintf("| [%d", e.number), "docs/exercises/README.md")
		require.Contains(t, index, fmt.Sprintf("](%s/) | %d |", e.folder, e.points()), "docs/exercises/README.md")
		hints := testenv.Must(hintsIn(filepath.Join(e.dir(root), "hints.md")))(t)
		require.Len(t, hints, 3, "%s/hints.md", e.folder)
		if isStep := !strings.Contains(e.answer, ".solution"); isStep {
			test := fileText(t, root, filepath.Dir(e.answer), "lock_test.go")
			require.Contains(t, test, "exploretest.Test(", "the solution is a step, and no test explores the step")
		}
	}
}

// TestTheFiguresOfThePages compares the numbers on the pages with the code, except those of the transcript.
func TestTheFiguresOfThePages(t *testing.T) {
	root := rootOf(t)
	flood := regexp.MustCompile(`\bflood = (\d+) << 20`).FindStringSubmatch(fileText(t, root, "internal/locktest/runner/runner.go"))
	require.NotNil(t, flood)
	var minutes []int
	for _, stages := range staged().Exercises {
		require.Len(t, stages, 3)
		for _, s := range stages {
			minutes = append(minutes, s.Minutes)
		}
	}
	from, to := slices.Min(minutes), slices.Max(minutes)
	third := exercises[2]
	inStage2 := len(third.stages()[1].Cases)
	factsOf := map[string][]string{
		"docs/exercises/README": {
			fmt.Sprintf(" of %d cases pass: ", len(third.names())), fmt.Sprintf(" of its %d cases pass.", inStage2),
			fmt.Sprintf("three stages of %d to %d minutes each", from, to),
			flood[1] + " MiB in one case", fmt.Sprintf("within %v seconds", beginning.Seconds()),
			fmt.Sprintf("after %d times its `-limit`", busyFactor),
		},
		"docs/exercises/README.zh-CN": {
			fmt.Sprintf("\n%d 个用例，通过 ", len(third.names())), fmt.Sprintf("本阶段有 %d 个用例，已通过 ", inStage2),
			fmt.Sprintf("每个阶段 %d 到 %d 分钟", from, to), flood[1] + " MiB",
			fmt.Sprintf("在 %v 秒之内", beginning.Seconds()), fmt.Sprintf("`-limit` 的 %d 倍", busyFactor),
		},
		"docs/teaching":       {fmt.Sprintf("of %d to %d minutes, each", from, to), flood[1] + " MiB in one case"},
		"docs/teaching.zh-CN": {fmt.Sprintf("每个阶段 %d 到 %d 分钟", from, to), flood[1] + " MiB"},
	}
	for page, facts := range factsOf {
		for _, fact := range facts {
			require.True(t, strings.Contains(fileText(t, root, page+".md"), fact), "%s must say %q", page, fact)
		}
	}
}

// TestNextBeginsWithTheGoal asserts that next shows the heading and the goal, and not what is before them on the page.
func TestNextBeginsWithTheGoal(t *testing.T) {
	root := rootOf(t)
	for _, e := range exercises {
		require.Regexp(t, fmt.Sprintf(`^Exercise %d: [^\n]+\n\n\*\*Goal\.\*\* (?:[^\n]+\n)+\n$`, e.number),
			goalOf([]byte(fileText(t, e.dir(root), "README.md"))))
	}
	const page = "English | [简体中文](README.zh-CN.md)\r\n\r\n# Exercise 1: x\r\n\r\n**Goal.** Write\r\nit.\r\n\r\n**Read**\r\n"
	require.Equal(t, "Exercise 1: x\n\n**Goal.** Write\nit.\n\n", goalOf([]byte(page)))
}

// sizeOfOurs is the sentence that a README must have on the size of our solution.
func sizeOfOurs(t *testing.T, e *exercise) string {
	t.Helper()
	answer := fileText(t, rootOf(t), e.answer)
	if e.file != counterexample.File {
		return fmt.Sprintf("Ours has %d lines", strings.Count(answer, "\n"))
	}
	answers := testenv.Must(counterexample.Read([]byte(answer)))(t)
	var list []string
	for _, n := range slices.Sorted(maps.Keys(answers)) {
		a := testenv.Must(locks.ParseAddress(answers[n]))(t)
		list = append(list, fmt.Sprint(len(a.Choices)))
	}
	last := len(list) - 1
	return fmt.Sprintf("Ours has %s and %s choices", strings.Join(list[:last], ", "), list[last])
}

// codeLines returns the lines of a program without comments. It leaves out short lines, which give nothing away.
func codeLines(program string) (lines []string) {
	for line := range strings.Lines(program) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.Join(strings.Fields(line), "")
		if len(line) >= 12 { // bytes: "returnerr" and "continue" are shorter
			lines = append(lines, line)
		}
	}
	return lines
}

// secretLines returns the lines of our solution that a student is not given.
func secretLines(t *testing.T, root string, e *exercise, given []string) (secret []string) {
	for _, line := range codeLines(fileText(t, root, e.answer)) {
		isImport := strings.HasPrefix(line, `"`)
		if !slices.Contains(given, line) && !isImport {
			secret = append(secret, line)
		}
	}
	return secret
}

// TestPagesGiveNothingAway looks for lines of the solution in what a student reads before solving the exercise.
func TestPagesGiveNothingAway(t *testing.T) {
	root := rootOf(t)
	for _, e := range exercises {
		stub := codeLines(fileText(t, e.dir(root), e.writes()))
		secret := secretLines(t, root, e, stub)
		least := 21 // lines: each solution in Go has at least as many that its stub lacks
		if e.file == counterexample.File {
			least = len(locks.Tasks) // a line each
		}
		require.GreaterOrEqual(t, len(secret), least, "%s: the stub has nearly all of the solution", e.folder)
		pages := testenv.Must(filepath.Glob(filepath.Join(e.dir(root), "*.md")))(t)
		for _, pattern := range []string{"docs/exercises/primers/%02d-*.md", "cmd/primers/%02d_*.go"} {
			pages = append(pages, testenv.Must(filepath.Glob(filepath.Join(root, fmt.Sprintf(pattern, e.number))))(t)...)
		}
		isChinese := func(page string) bool { return strings.HasSuffix(page, ".zh-CN.md") }
		english := slices.DeleteFunc(slices.Clone(pages), isChinese)
		wanted := 4 // README and hints, a primer and its program
		if e.number > 10 {
			wanted = 2 // this exercise has no primer
		}
		require.Len(t, english, wanted, "the pages of %s", e.folder)
		for _, page := range pages {
			words := strings.Join(strings.Fields(fileText(t, page)), "")
			for _, line := range secret {
				if strings.HasSuffix(page, ".go") && len(line) < 25 { // bytes
					continue // a program has short lines that give nothing away, such as the case of a select
				}
				require.NotContains(t, words, line, "%s has a line of the solution", page)
			}
		}
	}
}

// TestThePagesSayWhatTheCommandSays compares the Chinese titles of the exercises and of their stages.
func TestThePagesSayWhatTheCommandSays(t *testing.T) {
	heading := regexp.MustCompile(`(?m)^# (?:Exercise|练习) \d+(?:: |：)(.*)$`)
	equal := 0
	for _, e := range exercises {
		en, zh := fileText(t, e.dir(rootOf(t)), "README.md"), fileText(t, e.dir(rootOf(t)), "README.zh-CN.md")
		if heading.FindStringSubmatch(en)[1] == e.title.String() { // some headings are shorter
			require.Equal(t, e.title.In(i18n.Chinese), heading.FindStringSubmatch(zh)[1])
			equal++
		}
		for i, s := range e.stages() {
			require.Contains(t, zh, fmt.Sprintf("\n| %d %s | %d 分钟 |", i+1, s.Title.In(i18n.Chinese), s.Minutes), "%v", e)
		}
	}
	require.Greater(t, equal, 5)
}

// TestThePagesGlossACaseAsTheGraderDoes compares the glosses behind the names of cases with the grader's.
func TestThePagesGlossACaseAsTheGraderDoes(t *testing.T) {
	root := rootOf(t)
	var pages []string
	for _, pattern := range []string{"docs/other-locks/*.zh-CN.md", "docs/exercises/*.zh-CN.md",
		"docs/exercises/_*/*.zh-CN.md"} {
		pages = append(pages, testenv.Must(filepath.Glob(filepath.Join(root, pattern)))(t)...)
	}
	found := 0
	for _, page := range pages {
		said := fileText(t, page)
		for _, e := range exercises {
			for _, name := range e.names() {
				found += strings.Count(said, e.caseOf(name).In(i18n.Chinese)) // as the grader prints it
				for _, m := range regexp.MustCompile(regexp.QuoteMeta(name)+`（([^）]*)）`).FindAllStringSubmatch(said, -1) {
					if m[1] != "同上" {
						require.Equal(t, e.caseOf(name).In(i18n.Chinese), m[1]+"（"+name+"）", page)
						found++
					}
				}
			}
		}
	}
	require.Greater(t, found, 5)
}

// TestEachActOfTheWorldHasItsCase reads acts.txt, whose lines have exercises, an act of the world and words of a case.
func TestEachActOfTheWorldHasItsCase(t *testing.T) {
	for line := range strings.Lines(site.Read(t, "internal/grader/suites/acts.txt")) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 {
			require.True(t, strings.HasPrefix(line, "#"), line)
			continue
		}
		numbers, act, caseName := cells[0], cells[1], cells[2]
		for _, number := range strings.Fields(numbers) {
			e := testenv.Must(find(number))(t)
			made := slices.ContainsFunc(e.names(), func(name string) bool { return strings.Contains(name, caseName) })
			require.True(t, made, "no case of exercise %s makes it: %s", number, act)
		}
	}
}
