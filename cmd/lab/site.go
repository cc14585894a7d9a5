package main

import (
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

// The page loads nothing from anywhere else, and no page may show it in a frame.
// WebAssembly needs a word of its own.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A site serves the page and notifies it of each build.
type site struct {
	host string // with the port

	mu       sync.Mutex  // guards what follows
	last     *build.Page // nil: nothing has been built yet
	builds   int         // how many have succeeded
	failure  string      // of the newest build; "": it has not failed
	building bool        // now
	changed  chan struct{}
}

func newSite(host string) *site { return &site{host: host, changed: make(chan struct{})} }

// endBuild notes how a build has ended.
func (s *site) endBuild(b *build.Page, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.building = false
	s.failure = ""
	if err != nil {
		s.failure = err.Error()
	}
	if b != nil {
		s.last = b
		s.builds++
	}
	s.notifyLocked()
}

// beginBuild notes that a build has begun.
func (s *site) beginBuild() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.building = true
	s.notifyLocked()
}

func (s *site) notifyLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *site) state() (b *build.Page, builds int, failure string, building bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.builds, s.failure, s.building, s.changed
}

// watch builds, and builds again when a tick shows that the sources have
// changed, until ctx ends.
func (s *site) watch(ctx context.Context, b *build.Builder, tick <-chan time.Time) {
	for {
		before := b.Stamp()
		s.beginBuild()
		// A page that lacks the exercises is better than none, and worse than one
		// that has them.
		last, _, _, _, _ := s.state()
		made, err := b.Build(ctx, last == nil)
		if ctx.Err() != nil {
			return
		}
		s.endBuild(made, err)
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

func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", policy)
	if r.URL.Path == "/events" {
		s.events(w, r)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	b, builds, failure, _, changed := s.state()
	if b == nil && (name == "index.html" || retries[name] != "") {
		writeWaitPage(w, name, failure)
		return
	}
	for b == nil && failure == "" {
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
		b, builds, failure, _, changed = s.state()
	}
	if b == nil {
		http.Error(w, failure, http.StatusServiceUnavailable)
		return
	}
	body, ok := b.Files[name]
	if name == "engine.wasm" {
		body, ok = b.Wasm, true
	}
	if !ok {
		http.Error(w, "the lab has no "+name+"\n实验室里没有 "+name, http.StatusNotFound)
		return
	}
	if name == "index.html" {
		body = build.InHead(body, fmt.Sprintf(`<meta name="lab-events" content="events?seen=%d">`, builds))
	}
	loopback.Write(w, r, name, body)
}

// waitText is what a page says until the first build has ended.
const waitText = `The Go compiler makes the locks, the client library and the server into one program that runs in this page.
The first time it takes about a minute; then the page opens here.

Go 编译器正在把锁、客户端库和服务器编译成一个在本页里运行的程序。
第一次约需一分钟，完成后页面会自动打开。`

// retries are the scripts of the pages that are shown before the first build: each loads its
// page again after an event that has news.
var retries = map[string]string{
	"building.js": `new EventSource("events?seen=0").onmessage = e => { const m = JSON.parse(e.data); if (m.reload || m.error) location.reload(); };` + "\n",
	"failed.js":   `new EventSource("events?seen=0").onmessage = e => { if (JSON.parse(e.data).reload) location.reload(); };` + "\n",
}

// writeWaitPage answers while nothing has been built, or has failed.
func writeWaitPage(w http.ResponseWriter, name, failure string) {
	w.Header().Set("Content-Type", loopback.ContentType(name))
	if script, ok := retries[name]; ok {
		fmt.Fprint(w, script)
		return
	}
	text, script := waitText, "building.js"
	if failure != "" {
		text, script = failure, "failed.js"
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintf(w, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>zklock: the lab · 实验室</title>\n<script src=\"%s\"></script>\n<pre>%s</pre>\n",
		script, html.EscapeString(text))
}

// events notifies a page, which has seen a number of builds, of changes in the
// sources since: {"building":true}, {"error":"…"} with the compiler's text, or
// {"reload":true} when there is a newer build.
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
	alive := time.NewTicker(30 * time.Second) // finds out that the page has gone
	defer alive.Stop()
	for {
		_, builds, failure, building, changed := s.state()
		var message any
		switch {
		case building:
			message = map[string]bool{"building": true}
		case failure != "":
			message = map[string]string{"error": failure}
		case builds > seen:
			message = map[string]bool{"reload": true}
			seen = builds
		default:
			message = map[string]bool{"current": true}
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
