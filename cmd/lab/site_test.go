// Tests of the server of the page: what it answers, and what it tells the page of each build.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/testenv"
)

func readyPage() *build.Page {
	return &build.Page{Wasm: []byte("wasm"), Files: map[string][]byte{
		"index.html": []byte("<html>\n<head>\n</head>\n</html>\n"), "main.js": []byte("run();\n")}}
}

func startSite(t *testing.T) (*site, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	s := newSite(server.Listener.Addr().String())
	server.Config.Handler = s
	server.Start()
	t.Cleanup(server.Close)
	return s, server
}

func get(t *testing.T, url, host string) (*http.Response, string) { // with the header Host, unless host is ""
	t.Helper()
	req := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	if host != "" {
		req.Host = host
	}
	resp := testenv.Must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	return resp, string(testenv.Must(io.ReadAll(resp.Body))(t))
}

func TestNoOtherHostIsAnswered(t *testing.T) {
	s, server := startSite(t)
	s.endBuild(readyPage(), nil)
	_, port := testenv.Must2(net.SplitHostPort(s.host))(t)
	for _, host := range []string{"", "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port} {
		resp, _ := get(t, server.URL+"/engine.wasm", host)
		require.Equal(t, http.StatusOK, resp.StatusCode, host)
	}
	for _, host := range []string{"evil.example", "evil.example:" + port, "localhost", "127.0.0.1:1", "localhost:" + port + ".evil.example"} {
		for _, path := range []string{"/", "/engine.wasm", "/events?seen=0"} {
			resp, body := get(t, server.URL+path, host)
			require.Equal(t, http.StatusMisdirectedRequest, resp.StatusCode, host)
			require.NotContains(t, body, "wasm")
		}
	}
	resp := testenv.Must(http.Post(server.URL+"/", "text/plain", nil))(t)
	resp.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}

func TestEveryAnswerHasThePolicy(t *testing.T) {
	s, server := startSite(t)
	s.endBuild(readyPage(), nil)
	for _, path := range []string{"/", "/main.js", "/engine.wasm", "/none"} {
		resp, _ := get(t, server.URL+path, "")
		csp := resp.Header.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'", path)
		require.Contains(t, csp, "frame-ancestors 'none'", path)
		require.NotContains(t, csp, "unsafe-inline", path)
		require.NotRegexp(t, `'unsafe-eval'|https?:|\*`, csp, path)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Resource-Policy"))
	}
	resp, body := get(t, server.URL+"/engine.wasm", "")
	require.Equal(t, "application/wasm", resp.Header.Get("Content-Type"))
	require.Equal(t, "wasm", body)
	resp, _ = get(t, server.URL+"/../main.go", "")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

type eventReader struct { // of the events that a site sends to a page
	t     *testing.T
	lines *bufio.Scanner
}

func listenTo(t *testing.T, url string) *eventReader {
	t.Helper()
	req := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	resp := testenv.Must(http.DefaultClient.Do(req))(t)
	t.Cleanup(func() { resp.Body.Close() })
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	return &eventReader{t, bufio.NewScanner(resp.Body)}
}

// until reads on to a message of that kind with these words.
func (n *eventReader) until(kind, words string) {
	n.t.Helper()
	for n.lines.Scan() {
		data, ok := strings.CutPrefix(n.lines.Text(), "data: ")
		if !ok {
			continue
		}
		var m map[string]any
		require.NoError(n.t, json.Unmarshal([]byte(data), &m))
		if v, ok := m[kind]; ok && strings.Contains(fmt.Sprint(v), words) {
			return
		}
	}
	n.t.Fatalf("no %s comes: %v", kind, n.lines.Err())
}

func TestAPageIsNotifiedOfEachBuild(t *testing.T) {
	s, server := startSite(t)
	s.endBuild(readyPage(), nil)
	_, body := get(t, server.URL, "")
	m := regexp.MustCompile(`<meta name="lab-events" content="([^"]+)">`).FindStringSubmatch(body)
	require.NotNil(t, m, body)
	n := listenTo(t, server.URL+"/"+m[1])
	n.until("current", "")
	s.beginBuild()
	n.until("building", "")
	s.endBuild(nil, &build.CompileError{Text: "lock.go:1: no"})
	n.until("error", "lock.go:1: no")
	_, body = get(t, server.URL, "")
	require.Contains(t, body, "lab-events", "the last page that compiled is still there")
	s.beginBuild()
	s.endBuild(readyPage(), nil)
	n.until("reload", "")
	// A page with seen=N shows build N. One that was loaded before connects only now.
	listenTo(t, server.URL+"/events?seen=1").until("reload", "")
	listenTo(t, server.URL+"/events?seen=2").until("current", "")
}

// The browser that -open starts has a page at once, which says what is being done.
func TestBeforeTheFirstBuildAPageSaysSo(t *testing.T) {
	s, server := startSite(t)
	s.beginBuild()
	_, body := get(t, server.URL, "")
	require.Contains(t, body, "The Go compiler makes")
	require.Contains(t, body, `src="building.js"`)
	_, body = get(t, server.URL+"/building.js", "")
	require.Contains(t, body, "m.reload || m.error")
	s.endBuild(nil, &build.CompileError{Text: "a<b"})
	_, body = get(t, server.URL, "")
	require.Contains(t, body, "a&lt;b")
	require.Contains(t, body, `src="failed.js"`)
	_, body = get(t, server.URL+"/failed.js", "")
	require.Contains(t, body, "EventSource")
	listenTo(t, server.URL+"/events?seen=0").until("error", "")
	s.endBuild(readyPage(), nil)
	listenTo(t, server.URL+"/events?seen=0").until("reload", "")
}
