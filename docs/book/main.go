// Command book makes a site of all pages of the project, in both languages: with the
// steps' code beside their pages, a search, the glossary's terms where they occur, and
// the pages before and after in the order of the README.
//
//	go run ./docs/book              # serves it on loopback
//	go run ./docs/book -open        # and opens the browser
//	go run ./docs/book -out book/   # writes it into a folder, which needs no server and no network
//
// docs/book/README.md says what is in it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/loopback"
)

// The scenes are played in bubbles of testing/synctest, which need a test: the command is one.
func main() {
	args := os.Args[1:]
	os.Args = os.Args[:1]
	zk.DefaultLogger = log.New(io.Discard, "", 0) // what a lock logs would be written from inside a bubble
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "book", F: func(t *testing.T) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := run(ctx, t, args, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "book:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}}}, nil, nil)
}

func run(ctx context.Context, t *testing.T, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("book", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "write the book into this `folder`: an empty one, one that is not there yet, or one with a book")
	addr := flags.String("addr", "127.0.0.1:0", "serve on this loopback `address`")
	open := flags.Bool("open", false, "open the book in the browser")
	lang := language.Of("")
	flags.Var(&lang, "lang", language.Usage)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return errors.New("see -help")
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not understood; see -help", flags.Arg(0))
	}
	root, err := checkout(".")
	if err != nil {
		return err
	}
	if *out != "" {
		if err := refuse(*out); err != nil { // before the work
			return err
		}
	}
	b, err := newBook(t, root)
	if err != nil {
		return err
	}
	if err := b.addLab(ctx); err != nil {
		return err
	}
	if *out != "" {
		size, err := b.writeTo(*out)
		if err == nil {
			fmt.Fprintf(stdout, "wrote %s, %d files, %.1f MB: open %s\n", *out, len(b.files), float64(size)/1e6,
				filepath.Join(*out, filepath.FromSlash(b.start(lang))))
		}
		return err
	}
	ln, err := loopback.Listen(*addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	url := "http://" + ln.Addr().String() + "/" + b.start(lang)
	fmt.Fprintf(stdout, "the book is at %s\n", url)
	if *open {
		if err := loopback.OpenBrowser(url); err != nil {
			fmt.Fprintf(stderr, "book: no browser opens: %v\n", err)
		}
	}
	return loopback.Serve(ctx, ln, b.handler(ln.Addr().String()))
}

// checkout is the root of the checkout around a folder.
func checkout(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), "module example.com/zklock\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the book is made of the project's pages: start it inside a clone")
		}
		dir = filepath.Dir(dir)
	}
}

// mark is a file by which a folder is known to be a book. It is the file that keeps GitHub
// Pages from leaving out the folders that begin with _.
const mark = ".nojekyll"

// refuse returns an error if a folder has files that are not a book's: those would mix.
func refuse(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
	}
	if !has(mark) || !has("book.js") {
		return fmt.Errorf("-out %s: the folder has files and is not a book: give an empty one, or a name that is free", dir)
	}
	return nil
}

// writeTo writes the book's files, and removes those of an older book that it no longer has.
func (b *book) writeTo(dir string) (size int, err error) {
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // there is nothing yet
		}
		rel, err := filepath.Rel(dir, name)
		if err == nil && b.files[filepath.ToSlash(rel)] == nil {
			err = os.Remove(name)
		}
		return err
	})
	for name, text := range b.files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, text, 0o644)
		}
		if err != nil {
			return 0, fmt.Errorf("the book cannot be written: %w", err)
		}
		size += len(text)
	}
	return size, err
}
