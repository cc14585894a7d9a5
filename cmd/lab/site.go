package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/loopback"
)

// policy lets the page load files of this server only, and no other page show it in a frame.
// WebAssembly needs 'wasm-unsafe-eval'.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A site serves the page and notifies it of each build.
type site struct {
	host string // with the port

	mu      sync.Mutex // guards what follows
	now     state
	changed chan struct{} // closed at the next change of now
}

// A state says what has been built, and what is being built.
type state struct {
	last     *build.Page // nil: nothing has been built yet
	builds   int         // how many have succeeded
	failure  string      // of the newest build; "": it has not failed
	building bool
}

func newSite(host string) *site { return &site{host: host, changed: make(chan struct{})} }

func (s *site) beginBuild() { s.change(func(now *state) { now.building = true }) }

func (s *site) endBuild(page *build.Page, err error) {
	s.change(func(now *state) {
		now.building, now.failure = false, ""
		if err != nil {
			now.failure = err.Error()
		}
		if page != nil {
			now.last = page
			now.builds++
		}
	})
}

func (s *site) change(what func(now *state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.now)
	close(s.changed)
	s.changed = make(chan struct{})
}

// state returns the state, and a channel that is closed when it changes.
func (s *site) state() (now state, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

// watch builds, and builds again when a tick shows that the sources have changed, until ctx ends.
func (s *site) watch(ctx context.Context, b *build.Builder, tick <-chan time.Time) {
	for {
		before := b.Stamp()
		s.beginBuild()
		now, _ := s.state()
		exercisesOptional := now.last == nil // a first page without them is better than none; later, the last page stays
		page, err := b.Build(ctx, exercisesOptional)
		if ctx.Err() != nil {
			return
		}
		s.endBuild(page, err)
		for maps.Equal(before, b.Stamp()) {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
		}
	}
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	loopback.Only(s.host, s.answer).ServeHTTP(w, r)
}

// waitText is what the page shows until the first build has ended.
const waitText = `The Go compiler makes the locks, the client library and the server into one program that runs in this page.
The first time it takes about a minute; then the page opens here.

Go 编译器正在把锁、客户端库和服务器编译成一个在本页里运行的程序。
第一次约需一分钟，完成后页面会自动打开。`

// waitScripts are the scripts of the pages that are there before a build has succeeded. building.js loads its page
// again after any result of the build, failed.js only after a success.
var waitScripts = map[string]string{
	"building.js": `new EventSource("events?seen=0").onmessage = e => { const m = JSON.parse(e.data); if (m.reload || m.error) location.reload(); };` + "\n",
	"failed.js":   `new EventSource("events?seen=0").onmessage = e => { if (JSON.parse(e.data).reload) location.reload(); };` + "\n",
}

func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	if r.URL.Path == "/events" {
		s.events(w, r)
		return
	}

	name := cmp.Or(strings.TrimPrefix(path.Clean(r.URL.Path), "/"), "index.html")
	now, changed := s.state()
	if now.last == nil && (name == "index.html" || waitScripts[name] != "") {
		writeWaitPage(w, name, now.failure)
		return
	}
	for now.last == nil && now.failure == "" { // a file of the page is there after the first build
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
		now, changed = s.state()
	}
	if now.last == nil {
		http.Error(w, now.failure, http.StatusServiceUnavailable)
		return
	}
	body, ok := now.last.Files[name]
	if name == "engine.wasm" {
		body, ok = now.last.Wasm, true
	}
	if !ok {
		http.Error(w, "the lab has no "+name+"\n实验室里没有 "+name, http.StatusNotFound)
		return
	}
	if name == "index.html" {
		body = build.InHead(body, fmt.Sprintf(`<meta name="lab-events" content="events?seen=%d">`, now.builds))
	}
	loopback.Write(w, r, name, body)
}

// writeWaitPage answers while no build has succeeded: with a page, or with its script.
func writeWaitPage(w http.ResponseWriter, name, failure string) {
	w.Header().Set("Content-Type", loopback.ContentType(name))
	if script, ok := waitScripts[name]; ok {
		fmt.Fprint(w, script)
		return
	}
	text, script := waitText, "building.js"
	if failure != "" {
		text, script = failure, "failed.js"
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintf(w, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>zklock: the lab · 实验室</title>\n"+
		"<script src=\"%s\"></script>\n<pre>%s</pre>\n", script, html.EscapeString(text))
}

// events sends the state to a page at once and after each change: {"building":true}, {"error":"…"} with the compiler's
// text, {"reload":true} if there is a newer build than those that the page has seen, or {"current":true}.
func (s *site) events(w http.ResponseWriter, r *http.Request) {
	seen, err := strconv.Atoi(r.URL.Query().Get("seen"))
	if err != nil {
		http.Error(w, "seen is a number", http.StatusBadRequest)
		return
	}
	flush := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	alive := time.NewTicker(30 * time.Second) // writing then fails if the page has gone
	defer alive.Stop()
	for {
		now, changed := s.state()
		message := map[string]any{"current": true}
		switch {
		case now.building:
			message = map[string]any{"building": true}
		case now.failure != "":
			message = map[string]any{"error": now.failure}
		case now.builds > seen:
			message = map[string]any{"reload": true}
			seen = now.builds
		}
		data, _ := json.Marshal(message) // it is a string or a bool
		fmt.Fprintf(w, "data: %s\n\n", data)
		if flush.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-alive.C:
		}
	}
}
