package main

import (
	"net/http"
	"path"
	"strings"

	"example.com/zklock/internal/loopback"
)

// policy is that of the book's pages: they load what lies beside them, and show nothing else in a frame. A file that is
// opened from the disk has no origin: there file: says the same.
const policy = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; " +
	"img-src 'self' file: data:; frame-src 'self' file:; base-uri 'none'; form-action 'none'"

// handler serves the book on this machine.
func (b *book) handler(host string) http.Handler {
	return loopback.Only(host, func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		if name == "" || strings.HasSuffix(r.URL.Path, "/") {
			name = path.Join(name, "index.html")
		}
		body, ok := b.files[name]
		if !ok {
			http.Error(w, "the book has no "+name+"\n书里没有 "+name, http.StatusNotFound)
			return
		}
		rules := "frame-ancestors 'self'"
		if name != "lab.html" { // it brings a policy of its own
			rules = policy + "; " + rules
		}
		w.Header().Set("Content-Security-Policy", rules)
		loopback.Write(w, r, name, body)
	})
}
