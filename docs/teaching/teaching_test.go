package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/zkserver"
)

var update = flag.Bool("update", false, "write what docs/teaching.md takes from the slides and from the shell")

const (
	lecturers = "../teaching.md"
	begin     = "<!-- written by go generate ./... -->\n"
	end       = "<!-- end of what is written -->\n"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// plan is the lecture as a table.
func plan(list []slide) string {
	var b strings.Builder
	b.WriteString("| minute | slide | ask | usual answer, and what to say to it |\n|---:|---|---|---|\n")
	for _, s := range list {
		if s.Minute >= 0 {
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", s.Minute, s.Title, s.ask, s.answer)
		}
	}
	return b.String()
}

// TestThePlanIsThatOfTheSlides: docs/teaching.md has the minutes, the questions and
// the answers of the slides, and the shell as it is.
func TestThePlanIsThatOfTheSlides(t *testing.T) {
	list, err := (&builder{from: ".", lab: "lab.html"}).slides()
	require.NoError(t, err)
	before := -1
	for _, s := range list[1:] {
		require.Greater(t, s.Minute, before, "the minutes of %q", s.Title)
		require.Less(t, s.Minute, 90)
		require.NotEmpty(t, s.ask, "%q asks nothing", s.Title)
		require.NotEmpty(t, s.answer, "%q has no answer", s.Title)
		before = s.Minute
	}
	page := read(t, lecturers)
	shell, err := (&builder{from: "."}).function("shell/main.go main")
	require.NoError(t, err)
	shell = strings.ReplaceAll(shell, "    ", "\t")
	want := regexp.MustCompile(`(?s)`+regexp.QuoteMeta(begin)+`.*`+regexp.QuoteMeta(end)).ReplaceAllLiteralString(page, begin+plan(list)+end)
	want = regexp.MustCompile("(?s)(\n## The lines that replace zkCli.sh\n.*?)```go\n.*?```\n").ReplaceAllStringFunc(want, func(part string) string {
		return part[:strings.Index(part, "```go\n")] + shell
	})
	if *update {
		require.NoError(t, os.WriteFile(lecturers, []byte(want), 0o644))
		page = want
	}
	require.Contains(t, page, plan(list), "the plan is stale: go generate ./...")
	require.Contains(t, page, shell, "the shell is stale: go generate ./...")
}

// TestThePagesNeedNothingElse: no font, script or picture of another address, and the
// lab's page beside them alone.
func TestThePagesNeedNothingElse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, run(io.Discard, ".", dir, "lab.html"))
	for _, name := range []string{"slides.html", "handout.html"} {
		page := read(t, filepath.Join(dir, name))
		require.NotRegexp(t, `(?i)<(script|img|iframe|link)[^>]* (src|href)="(https?:)?//`, page, name)
		require.NotRegexp(t, `(?i)@import|url\(`, page, name)
		require.NotContains(t, page, "```", "%s has Markdown that is not HTML", name)
		for _, m := range regexp.MustCompile(`data-src="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			require.Regexp(t, `^lab\.html#lock=`, m[1])
		}
	}
	require.Equal(t, 6, strings.Count(read(t, filepath.Join(dir, "slides.html")), "data-src="), "the scenes")
	require.NoError(t, run(io.Discard, ".", dir, "../other/lab.html"))
	require.Contains(t, read(t, filepath.Join(dir, "slides.html")), `data-src="../other/lab.html#lock=D3`)
}

// TestWhatDoesNotExistIsAnError: a slide must not lose its code or its scene when the
// repository changes.
func TestWhatDoesNotExistIsAnError(t *testing.T) {
	for md, says := range map[string]string{
		"```go ../../01-naive-ephemeral/lock.go Nothing\n```\n": "no function Nothing",
		"```go ../../nowhere.go Lock\n```\n":                    "nowhere.go",
		"```go shell/main.go\n```\n":                            "want a file and a function",
		"```scene Z9\nx\n```\n":                                 "Z9",
		"```scene #lock=nothing\nx\n```\n":                      "nothing",
		"![a](nowhere.svg)\n":                                   "nowhere.svg",
	} {
		_, err := (&builder{from: ".", lab: "lab.html"}).render(md)
		require.ErrorContains(t, err, says, "%s", md)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "slides.md"), []byte("# One\n\n---\nno heading\n"), 0o644))
	require.ErrorContains(t, run(io.Discard, dir, dir, "lab.html"), "slide 2 has no heading")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "slides.md"), []byte("# One\n"), 0o644))
	require.ErrorContains(t, run(io.Discard, dir, dir, "lab.html"), "handout.md")
}

// TestTheShell plays a session in it, beside another client.
func TestTheShell(t *testing.T) {
	server := zkserver.Run(t)
	address, err := server.Listen()
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "shell.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./shell").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), binary, address)
	cmd.Stdin = strings.NewReader("create /a\ncreate /a\nnonsense\nnumber /b-\nls /\nget /nothing\nls\nwatch /a\ndelete /a\nwatch /a\n")
	out, err = cmd.Output()
	require.NoError(t, err)
	text := string(out)
	for _, line := range []string{"/a <nil>", " zk: node already exists", "/b-0000000001 <nil>", "zk: node does not exist",
		"[] zk: invalid path", "watching <nil>", "deleted <nil>", "watching zk: node does not exist"} {
		require.Contains(t, text, line+"\n")
	}
	require.Regexp(t, `(?m)^\[.*\bb-0000000001\b.*\] <nil>$`, text, "the list")
	require.Contains(t, text, "EventNodeDeleted", "the event of the watch")
	require.Empty(t, server.Sessions(), "its session has ended with it")
}
