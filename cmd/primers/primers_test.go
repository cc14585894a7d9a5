package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

const folder = "../../docs/exercises/primers/" // of the pages

// pages returns the page of a primer and its Chinese edition, in this order.
func pages(t *testing.T, number int) []string {
	t.Helper()
	files := testenv.Must(filepath.Glob(fmt.Sprintf(folder+"%02d-*.md", number)))(t)
	require.Len(t, files, 2, "a page for each program, and its Chinese edition")
	require.Equal(t, strings.TrimSuffix(files[0], ".md")+".zh-CN.md", files[1])
	return files
}

// TestThePagesShowWhatTheProgramsPrint runs each program twice against one server:
// what it prints is what its pages show, and it leaves nothing behind.
func TestThePagesShowWhatTheProgramsPrint(t *testing.T) {
	require.Len(t, programs, 10)
	server := zkserver.Run(t, zkserver.WithTick(5*time.Minute)) // a busy machine does not end a session
	address := server.Addr()
	before := server.Children("/")
	defer func(before time.Duration) { patience = before }(patience)
	patience = 10 * time.Minute
	// The server twice: a client waits for a second before it goes to its only one again.
	servers := []string{address, address}
	for number := 1; number <= len(programs); number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, run(number, servers, &out))
			shown := fmt.Sprintf("```\n$ go run ./cmd/primers %d\n%s```\n", number, &out)
			site.HoldsBoth(t, strings.TrimPrefix(pages(t, number)[0], "../../"), "output", i18n.Same(shown))
			out.Reset()
			require.NoError(t, run(number, servers, &out), "a second time")
			require.Equal(t, before, server.Children("/"), "the program has left something at the server")
			// A client waits for a second for the answer to its last request.
			require.Eventually(t, func() bool { return len(server.Watches()) == 0 }, 10*time.Minute, time.Millisecond)
		})
	}
}

// TestAProgramThatFailsReturnsItsError, and no other panic is caught.
func TestAProgramThatFailsReturnsItsError(t *testing.T) {
	servers := []string{zkserver.Run(t).Addr()}
	defer delete(programs, 0)
	programs[0] = func(*programRun) { must(io.EOF) }
	require.ErrorIs(t, run(0, servers, io.Discard), io.EOF)
	programs[0] = func(*programRun) { panic("a bug") }
	require.PanicsWithValue(t, "a bug", func() { run(0, servers, io.Discard) })
}

// TestEachPrimerLeadsOn: to the exercise, and for the first four to the step.
func TestEachPrimerLeadsOn(t *testing.T) {
	for number := range programs {
		files := testenv.Must(filepath.Glob(fmt.Sprintf(folder+"../_%02d-*/README.md", number)))(t)
		require.Len(t, files, 1)
		primer := pages(t, number)[0]
		page := testenv.Must(os.ReadFile(primer))(t)
		require.Contains(t, string(page), "](../"+filepath.Base(filepath.Dir(files[0]))+"/)", "%s names its exercise", primer)
		exercise := testenv.Must(os.ReadFile(files[0]))(t)
		require.Contains(t, string(exercise), "../primers/"+filepath.Base(primer), "%s names its primer", files[0])
		index := testenv.Must(os.ReadFile(folder + "README.md"))(t)
		require.Contains(t, string(index), "]("+filepath.Base(primer)+")")
		if number <= 4 {
			require.Equal(t, 1, strings.Count(string(page), "\n## Questions"), primer)
		}
	}
}

// TestAReaderOfChineseIsHelpedInChinese, also if no server is there.
func TestAReaderOfChineseIsHelpedInChinese(t *testing.T) {
	defer func(before time.Duration) { patience = before }(patience)
	patience = 0
	for args, says := range map[string]string{"-h": "  -zk 地址", "": "预备知识的程序", "11": "预备知识的程序", "1 2": "预备知识的程序",
		"-x": "没有选项 -x", "-zk": "选项 -zk 缺少值", "-zk 127.0.0.1:1 1": "go run ./cmd/zklock serve 127.0.0.1:2181"} {
		var help bytes.Buffer
		reads := i18n.Chinese
		if err := command(strings.Fields(args), io.Discard, &help, &reads); err != nil {
			help.WriteString(i18n.TextOf(err).In(i18n.Chinese))
		}
		require.Contains(t, help.String(), says, args)
		require.Empty(t, append(chinesetest.English(help.String(), "context deadline exceeded"), chinesetest.Flags(help.String())...), args)
	}
}
