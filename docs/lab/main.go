// Command lab is a page in which the real locks run: the steps, the client
// library and the embedded server, compiled to WebAssembly, in virtual time.
//
//	go run ./docs/lab                  # builds, serves on loopback, rebuilds when a lock is saved
//	go run ./docs/lab -open            # and opens the browser
//	go run ./docs/lab -open -scene A7  # and that lock's scene in it: docs/lab/scenes.md
//	go run ./docs/lab -open -lock DIR  # plays the exercise's lock that is in this folder
//	go run ./docs/lab -open -film FILE # shows a trace or a recorded run
//	go run ./docs/lab -out lab.html    # writes one file, which needs no server
//	go run ./docs/lab -read            # opens the reading guide beside code and lab
//	go run ./docs/lab -open -lang zh   # in Chinese, which LANG can say, too
//
// go run ./docs/book writes a site of all pages with the lab and the reader in it. It has
// them from -out DIR/, which writes the lab without its engine.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/loopback"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "write the page to this `file`; a directory gets the parts of which docs/book makes a site")
	open := flags.Bool("open", false, "open the page in the browser")
	scene := flags.String("scene", "", "print and open the address of this lock's `scene`, or this address, which begins with #; see docs/lab/scenes.md")
	lock := flags.String("lock", "", "play the lock in this `folder` in the place of the exercise's that its package clause names")
	film := flags.String("film", "", "show the trace or the recorded run in this `file`, as Open a file does")
	read := flags.Bool("read", false, "open the reader: the reading guide row by row, with the code and the lab beside it")
	lang := environment()
	flags.Var(&lang, "lang", "open the page in this `language`, en or zh; otherwise that of LC_ALL or LANG, or of the browser if they name "+
		"none; one in the page's address goes first")
	addr := flags.String("addr", "127.0.0.1:0", "serve on this loopback `address`")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return errors.New("see -help")
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not understood; see -help", flags.Arg(0))
	}
	at := "" // of the scene, in the page
	if *scene != "" {
		var err error
		if at, err = find(*scene); err != nil {
			return err
		}
	}
	b, err := newBuilder(ctx, ".")
	if err != nil {
		return err
	}
	b.lang = lang
	if *lock != "" {
		if b.own, err = b.ownLock(*lock); err != nil {
			return err
		}
		if at == "" {
			at = "#lock=exercise-" + b.own.folder
		}
	}
	var shown []byte
	if *film != "" {
		if *out != "" || *read {
			return errors.New("-film goes with -open, and not with -out or -read")
		}
		if shown, err = os.ReadFile(*film); err != nil {
			return fmt.Errorf("-film: %w", err)
		}
	}
	if *out != "" {
		return b.writeTo(ctx, *out, stdout)
	}
	ln, err := loopback.Listen(*addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	s := newSite(ln.Addr().String())
	s.film, s.filmName = shown, filepath.Base(*film)
	url := "http://" + s.host + "/" + at
	what := "lab"
	if *read {
		what, url = "reader", "http://"+s.host+"/reader.html"
	}
	fmt.Fprintf(stdout, "the %s is at %s\n", what, url)
	if *open || *read {
		if err := loopback.OpenBrowser(url); err != nil {
			fmt.Fprintf(stderr, "lab: no browser opens: %v\n", err)
		}
	}
	go s.watch(ctx, b, time.Tick(300*time.Millisecond))
	return loopback.Serve(ctx, ln, s)
}

// writeTo builds the page and writes it to a file or a directory.
func (b *builder) writeTo(ctx context.Context, out string, stdout io.Writer) error {
	page, err := b.build(ctx, false)
	if err != nil {
		return err
	}
	size, err := write(out, page)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "wrote %s, %.1f MB\n", out, float64(size)/1e6)
	return nil
}

// environment is the language that LC_ALL or LANG names. If they name none, as on
// Windows, the result is empty: then the browser's language counts.
func environment() language.Language {
	switch name, _, _ := strings.Cut(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LANG")), "."); name {
	case "", "C", "POSIX":
		return ""
	}
	return language.Of("")
}

// find returns the address of a scene: that of the lock of this name, in capitals or
// not (a7 is A7), or an address itself, which begins with #.
//
// The exercises' locks are in the page and not in this program: an address that
// names one is left to the page.
func find(scene string) (string, error) {
	if strings.HasPrefix(scene, "#lock=exercise-") {
		return scene, nil
	}
	if strings.HasPrefix(scene, "#") {
		a, err := locks.ParseAddress(scene)
		if err != nil {
			return "", fmt.Errorf("-scene %s: %w", scene, err)
		}
		return a.String(), nil
	}
	for _, l := range locks.All() {
		if strings.EqualFold(l.Name, scene) {
			return l.Open().String(), nil
		}
	}
	return "", fmt.Errorf("there is no scene %q: docs/lab/scenes.md lists them", scene)
}
