//go:build linux

// A test of the commands in README.md: they print what the page shows.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// differs matches what differs from run to run: sessions, ids, times, how long something took, addresses, and tokens.
var differs = regexp.MustCompile(`0x[0-9a-f]+|_c_[0-9a-f]{32}|` +
	`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?|[\d.]+m?s\b|127\.0\.0\.1:\d+|\b\d{4,}\b`)

// same returns what is the same in each run of a line that a command prints. The width of a table's columns is not.
func same(line string) string {
	return strings.Join(strings.Fields(differs.ReplaceAllString(line, "#")), " ")
}

// The test builds zklock as a page says, and runs the page's commands in one shell.
func TestTheCommandsOfThePagesPrintWhatThePagesShow(t *testing.T) {
	for page, lang := range map[string]string{"README.md": "C", "README.zh-CN.md": "zh_CN.UTF-8"} {
		t.Run(page, func(t *testing.T) {
			text := testenv.Must(os.ReadFile(page))(t)
			build := regexp.MustCompile("(?ms)^```\n(go build -o bin/ .*?)^```$").FindSubmatch(text)
			require.NotNil(t, build)

			var lines []string // of all the page's blocks: commands, which begin with $, and what they print
			for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllSubmatch(text, -1) {
				lines = append(lines, strings.Split(strings.TrimSuffix(string(block[1]), "\n"), "\n")...)
			}
			environ := append(os.Environ(), "LC_ALL=", "LANG="+lang)
			folder := t.TempDir() // which a reader makes in the clone
			setUp := strings.ReplaceAll(strings.ReplaceAll(string(build[1]), "$PWD/bin", folder), "bin/", folder)

			// The first command serves, on another port. The others find it by ZOOKEEPER_SERVERS.
			served := exec.CommandContext(t.Context(), "sh", "-ec", "cd ../..\n"+setUp+"exec zklock serve 127.0.0.1:0")
			served.Env = environ
			out := testenv.Must(served.StdoutPipe())(t)
			require.NoError(t, served.Start())
			defer served.Wait()
			defer served.Process.Signal(os.Interrupt)
			printed := bufio.NewReader(out)
			require.Equal(t, "$ zklock serve 127.0.0.1:2181", lines[0])
			lines = lines[1:]
			var addr string
			for ; !strings.HasPrefix(lines[0], "$ "); lines = lines[1:] {
				line := testenv.Must(printed.ReadString('\n'))(t)
				require.Equal(t, same(lines[0]), same(line))
				addr = cmp.Or(addr, regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line))
			}

			shell := exec.CommandContext(t.Context(), "sh")
			shell.Env = append(environ, "ZOOKEEPER_SERVERS="+addr, "PATH="+folder+":"+os.Getenv("PATH"))
			in := testenv.Must(shell.StdinPipe())(t)
			shown, output := testenv.Must2(os.Pipe())(t)
			defer shown.Close()
			shell.Stdout, shell.Stderr = output, output
			require.NoError(t, shell.Start())
			output.Close()
			printed = bufio.NewReader(shown)
			require.GreaterOrEqual(t, strings.Count(strings.Join(lines, "\n"), "\n$ "), 9, "the page has fewer commands")
			for _, line := range lines {
				if command, is := strings.CutPrefix(line, "$ "); is {
					fmt.Fprintln(in, command)
					continue
				}
				require.NoError(t, shown.SetReadDeadline(time.Now().Add(patience)))
				got := testenv.Must(printed.ReadString('\n'))(t, "instead of", line)
				require.Equal(t, same(line), same(got))
			}

			in.Close()
			require.Empty(t, string(testenv.Must(io.ReadAll(printed))(t)), "what the page does not show")
			require.NoError(t, shell.Wait())
		})
	}
}
