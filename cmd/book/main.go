// Command book makes a site of all pages of the project, in both languages: with the steps' code beside their pages, a
// search, the glossary's terms where they occur, and the pages before and after in the order of the README.
//
//	go run ./cmd/book              # serves it on loopback
//	go run ./cmd/book -open        # and opens the browser
//	go run ./cmd/book -read        # and opens the reader: the articles' phrases beside code and lab
//	go run ./cmd/book -out book/   # writes it into a folder, which needs no server and no network
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/loopback"
)

// The scenes are played in bubbles of testing/synctest, which need a test: the command runs in one.
func main() {
	args := os.Args[1:]
	os.Args = os.Args[:1]
	zk.DefaultLogger = log.New(io.Discard, "", 0) // what a lock logs would be written from inside a bubble
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "book", F: func(t *testing.T) {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			lang := i18n.Of("")
			if err := run(ctx, t, args, os.Stdout, os.Stderr, &lang); err != nil {
				fmt.Fprintln(os.Stderr, "book:", i18n.TextOf(err).In(lang))
				os.Exit(i18n.Status(err))
			}
			os.Exit(0)
		}}}, nil, nil)
}

// run carries out the command, and sets lang to the language of the flag -lang, if it is given.
func run(ctx context.Context, t *testing.T, args []string, stdout, stderr io.Writer, lang *i18n.Language) error {
	flags := flag.NewFlagSet("book", flag.ContinueOnError)
	say := i18n.FlagUsage
	out := flags.String("out", "",
		say("write the book into this `folder`: an empty one, one that is not there yet, or one with a book"))
	addr := flags.String("addr", "127.0.0.1:0", say("serve on this loopback `address`"))
	open := flags.Bool("open", false, say("open the book in the browser"))
	read := flags.Bool("read", false, say("open the reader: the reading guide row by row, with the code and the lab beside it"))
	flags.Var(lang, "lang", i18n.Usage)
	help, err := i18n.Parse(flags, args, stderr, lang)
	if help || err != nil {
		return err
	}
	var ln net.Listener
	if *out != "" { // what is wrong with the flags is found before the book is made
		err = checkFolder(*out)
	} else if ln, err = loopback.Listen(*addr); err == nil {
		defer ln.Close()
	}
	if err != nil {
		return err
	}

	builder, err := build.New(ctx, ".")
	if err != nil {
		return err
	}
	b, err := newBook(t, builder.Root)
	if err != nil {
		return err
	}
	labPage, err := builder.Build(ctx, false) // the exercises are not optional
	if err == nil {
		b.files["lab.html"], b.files["wasm.js"], err = labPage.WithoutEngine()
	}
	if err != nil {
		return err
	}
	if *out != "" {
		size, err := b.writeTo(*out)
		if err == nil {
			fmt.Fprintln(stdout, i18n.Textf("wrote %s, %d files, %.1f MB: open %s",
				*out, len(b.files), float64(size)/1e6, filepath.Join(*out, filepath.FromSlash(b.start(*lang)))).In(*lang))
		}
		return err
	}

	what, opened := i18n.Text("book"), b.start(*lang)
	if *read {
		what, opened = "reader", readerPage(*lang)
	}
	url := "http://" + ln.Addr().String() + "/" + opened
	fmt.Fprintln(stdout, i18n.Textf("the %s is at %s", what, url).In(*lang))
	if *open || *read {
		if err := loopback.OpenBrowser(url); err != nil {
			fmt.Fprintln(stderr, "book:", i18n.Textf("no browser opens: %v", err).In(*lang))
		}
	}
	return loopback.Serve(ctx, ln, b.handler(ln.Addr().String()))
}

// mark is a file that each book has, so that a folder can be recognized as one. On GitHub Pages it
// also keeps the folders that begin with _ from being left out.
const mark = ".nojekyll"

// checkFolder makes a folder, if it is not there. One with files that are not those of a book is an error.
func checkFolder(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	entries, errRead := os.ReadDir(dir)
	if err = cmp.Or(err, errRead); err != nil {
		return i18n.Errorf("-out: the book cannot be written: %w", err)
	}
	_, noMark := os.Stat(filepath.Join(dir, mark))
	_, noScript := os.Stat(filepath.Join(dir, "book.js"))
	isBook := noMark == nil && noScript == nil
	if len(entries) > 0 && !isBook {
		return i18n.Misusef("-out %s: the folder has files and is not a book: give an empty one, or a name that is free", dir)
	}
	return nil
}

// writeTo writes the book's files in the place of those of an older book.
func (b *book) writeTo(dir string) (size int, err error) {
	old, err := os.ReadDir(dir)
	for _, file := range old {
		err = cmp.Or(err, os.RemoveAll(filepath.Join(dir, file.Name())))
	}
	for name, text := range b.files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		err = cmp.Or(err, os.MkdirAll(filepath.Dir(target), 0o755))
		if err == nil {
			err = os.WriteFile(target, text, 0o644)
		}
		size += len(text)
	}
	if err != nil {
		err = i18n.Errorf("the book cannot be written: %w", err)
	}
	return size, err
}

// policy is that of the book's pages: they load what lies beside them, and show nothing else in a frame. A file that is
// opened from the disk has no origin: there file: says the same.
const policy = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; " +
	"img-src 'self' file: data:; frame-src 'self' file:; base-uri 'none'; form-action 'none'"

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
