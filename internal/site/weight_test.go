// Tests of how much each part of the project weighs, in lines of Go: none gets heavier, unless another one gets lighter
// by the same number of lines. Then both numbers in weights.txt are changed by hand.
package site_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// A wing is a part of the project for one kind of reader.
type wing struct {
	name, zh         string
	folders          string // with blanks between them
	reader, readerZh string // for whom it is
}

// The wings are in the order of their readers: those of the articles, students and teachers, people
// who measure, and engineers. What is in no folder of a wing is the rest.
var wings = []wing{
	{"the steps", "五个步骤", "01-naive-ephemeral 02-herd-effect 03-sequential-predecessor 04-reentrant 05-timeout", "articles", "读文章的人"},
	{"bugs of the articles", "文章的 bug", "internal/bugs", "articles", "读文章的人"},
	{"explorer", "探索器", "internal/explore", "articles, classes", "读文章的人、上课的人"},
	{"lab", "实验室", "cmd/lab internal/lab", "articles, classes", "读文章的人、上课的人"},
	{"book", "书", "cmd/book internal/loopback", "articles, classes", "读文章的人、上课的人"},
	{"suites, virtual time", "测试套件、虚拟时间", "internal/locktest internal/bubble", "classes", "上课的人"},
	{"exercises, grader", "练习、评分", "cmd/exercises cmd/primers cmd/shell internal/grader docs/exercises", "classes", "上课的人"},
	{"bench", "基准测试", "bench internal/counter", "benchmark", "做基准测试的人"},
	{"zkserver", "zkserver", "zkserver internal/jute", "all", "所有人"},
	{"zklock", "zklock", "zklock internal/chaos docs/production", "engineers", "工程师"},
	{"command", "命令", "cmd/zklock", "engineers", "工程师"},
	{"the rest", "其余", "", "contributors", "贡献者"},
	{"other locks, a module of their own", "其他锁，单独的模块", "docs/other-locks", "articles", "读文章的人"},
}

// weightsFile has the lines of Go of each wing at the last release, with its tests and the articles' listings. A wing
// may have fewer lines now, and no more.
const weightsFile = "weights.txt"

func weigh(tree fs.FS) (map[string]int, error) {
	weights := make(map[string]int)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		weights[wingOf(name)] += bytes.Count(text, []byte("\n"))
		return err
	})
	return weights, err
}

func wingOf(file string) string {
	for _, w := range wings {
		for folder := range strings.FieldsSeq(w.folders) {
			if strings.HasPrefix(file, folder+"/") {
				return w.name
			}
		}
	}
	return "the rest"
}

// parseWeights reads a weights.txt: a line for each wing, with its lines of Go and its name.
func parseWeights(text string) (map[string]int, error) {
	weights := make(map[string]int)
	for line := range strings.Lines(text) {
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", weightsFile, line, err)
		}
		weights[strings.TrimSpace(name)] = lines
	}
	return weights, nil
}

func total(weights map[string]int) (sum int) {
	for _, lines := range weights {
		sum += lines
	}
	return sum
}

// lastWeights returns the weights in weights.txt. With -update it first lowers the numbers there to the tree's.
func lastWeights(t *testing.T) map[string]int {
	t.Helper()
	text := testenv.Must(os.ReadFile(weightsFile))(t)
	last := testenv.Must(parseWeights(string(text)))(t)
	if !site.Updates() {
		return last
	}
	now := testenv.Must(weigh(os.DirFS(root)))(t)
	var b strings.Builder
	for _, w := range wings {
		last[w.name] = min(last[w.name], now[w.name])
		fmt.Fprintf(&b, "%6d %s\n", last[w.name], w.name)
	}
	require.NoError(t, os.WriteFile(weightsFile, []byte(b.String()), 0o644))
	return last
}

func TestNoWingGetsHeavier(t *testing.T) {
	last := lastWeights(t)
	now := testenv.Must(weigh(os.DirFS(root)))(t)
	for name, lines := range now {
		require.LessOrEqual(t, lines, last[name], "the wing %q was lighter at the last release. Take out what you replace. "+
			"If that is in another wing, move the difference between their numbers in internal/site/%s", name, weightsFile)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(last)), slices.Collect(maps.Keys(now)),
		"a wing without a folder, or the other way round")
}

// raised returns a message for each version of weights.txt in which the sum of all weights is larger than in the one
// before. versions begin with the newest.
func raised(versions []string) (faults []string) {
	for i := range len(versions) - 1 {
		after, errAfter := parseWeights(versions[i])
		before, errBefore := parseWeights(versions[i+1])
		if errAfter == nil && errBefore == nil && total(after) > total(before) {
			faults = append(faults, fmt.Sprintf("%d lines are allowed in place of %d", total(after), total(before)))
		}
	}
	return faults
}

// TestNoLimitWasRaised looks at all versions of weights.txt. A source archive has only the last one.
func TestNoLimitWasRaised(t *testing.T) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", args...).Output()
		return string(out), err
	}
	log, err := git("log", "--format=%H", "--", weightsFile)
	if err != nil {
		require.Empty(t, os.Getenv("GIT_DIR"), "git log: %v", err) // .ci/run names the history
		t.Skip("no history here: git log says ", err)
	}
	versions := []string{string(testenv.Must(os.ReadFile(weightsFile))(t))} // the newest first: what is not committed
	for commit := range strings.FieldsSeq(log) {
		versions = append(versions, testenv.Must(git("show", commit+":./"+weightsFile))(t))
	}
	require.Empty(t, raised(versions), "the limit of the whole never rises: a change takes out what it replaces")
}

func TestALimitThatWasRaisedIsFound(t *testing.T) {
	require.Empty(t, raised([]string{"5 a\n6 b\n", "5 a\n6 b\n", "6 a\n6 b\n"}))
	require.Empty(t, raised([]string{"9 a\n2 b\n", "5 a\n6 b\n"}), "lines moved from one wing to another")
	require.Empty(t, raised([]string{"5 a\n"}))
	require.Equal(t, []string{"12 lines are allowed in place of 11"}, raised([]string{"4 a\n6 b\n", "6 a\n6 b\n", "5 a\n6 b\n"}))
}

func TestTheWeightOfAWingIsThatOfItsFiles(t *testing.T) {
	weights, err := weigh(fstest.MapFS{
		"zklock/internal/client/proof_test.go": {Data: []byte("package client\n\n")},
		"zklock/README.md":                     {Data: []byte("\n\n\n")},
		"internal/bugs/listings/a_queue.go":    {Data: []byte("package listings\n")},
		"docs/other-locks/redis/lock.go":       {Data: []byte("package redis\n")},
		"zklocked/lock.go":                     {Data: []byte("package zklocked\n")},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"zklock": 2, "bugs of the articles": 1, "other locks, a module of their own": 1, "the rest": 1}, weights)
}

// priceList is the table of the wings with their weights at the last release. A Text's Chinese is found by its English.
func priceList(t *testing.T, lang i18n.Language) string {
	list := i18n.Text("\n| wing | folders | lines of Go | for whom |\n|---|---|---:|---|\n").In(lang)
	last := lastWeights(t)
	for _, w := range wings {
		folders := ""
		if w.folders != "" {
			folders = "`" + strings.ReplaceAll(w.folders, " ", "` `") + "`"
		}
		name, reader := i18n.Both(w.name, w.zh), i18n.Both(w.reader, w.readerZh)
		list += fmt.Sprintf("| %s | %s | %d | %s |\n", name.In(lang), folders, last[w.name], reader.In(lang))
	}
	return list + "\n"
}
