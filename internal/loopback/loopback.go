// Package loopback serves pages to the browsers of this machine, and to nobody else.
package loopback

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"mime"
	"net"
	"net/http"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"syscall"
	"time"

	"example.com/zklock/internal/i18n"
)

// Listen listens on a loopback address.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, i18n.Misusef("-addr %s is not an address: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, i18n.Misusef("-addr %s is not on loopback: the page is for this machine only; use 127.0.0.1:PORT", addr)
	}
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, i18n.Errorf("the port of %s is taken; without -addr a free one is", addr)
	}
	if err != nil {
		return nil, i18n.Errorf("cannot listen on %s: %w", addr, err)
	}
	return ln, nil
}

// Serve serves until ctx ends.
func Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Only calls h for requests that read. It refuses any Host but host, localhost, 127.0.0.1 and ::1 on host's port:
// another site could let its own name lead to 127.0.0.1, and its page could then read from this server (DNS rebinding).
func Only(host string, h http.HandlerFunc) http.Handler {
	_, port, _ := net.SplitHostPort(host)
	hosts := []string{host, "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cache-Control", "no-store")
		switch {
		case !slices.Contains(hosts, r.Host):
			http.Error(w, "this server answers only to http://"+host+"/\n本服务器只响应 http://"+host+"/",
				http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "these pages are only read", http.StatusMethodNotAllowed)
		default:
			h(w, r)
		}
	})
}

// Write answers with a file.
func Write(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	w.Header().Set("Content-Type", ContentType(name))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}

// ContentType is the type of a file with this name.
func ContentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".wasm":
		return "application/wasm"
	default:
		return cmp.Or(mime.TypeByExtension(ext), "application/octet-stream")
	}
}

// OpenBrowser opens a page in the browser.
func OpenBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // it may stay as long as the browser does
	return nil
}
