// Command lab is a page in which the real locks run: the steps, the client
// library and the embedded server, compiled to WebAssembly, in virtual time.
//
//	go run ./cmd/lab                  # builds, serves on loopback, rebuilds when a lock is saved
//	go run ./cmd/lab -open            # and opens the browser
//	go run ./cmd/lab -open -scene A7  # and that lock's scene in it: docs/scenes.md
//	go run ./cmd/lab -open -lock DIR  # plays the exercise's lock that is in this folder
//	go run ./cmd/lab -out lab.html    # writes one file, which needs no server
//	go run ./cmd/lab -open -lang zh   # in Chinese, which LANG can say, too
//
// go run ./cmd/book makes a site of all pages with the lab in it, and with -read opens the reader.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/loopback"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	lang := languageOfEnvironment()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, &lang); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", i18n.TextOf(err).In(lang))
		os.Exit(i18n.Status(err))
	}
}

// run carries out the command, and sets lang to the language of the flag -lang, if it is given.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, lang *i18n.Language) error {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	say := i18n.FlagUsage
	out := flags.String("out", "", say("write the page to this `file`, which needs no server"))
	open := flags.Bool("open", false, say("open the page in the browser"))
	scene := flags.String("scene", "",
		say("print and open the address of this lock's `scene`, or this address, which begins with #; see docs/scenes.md"))
	lock := flags.String("lock", "",
		say("play the lock in this `folder` in the place of the exercise's that its package clause names"))
	flags.Var(lang, "lang", say("open the page in this `language`, en or zh; otherwise that of LC_ALL or LANG, or of "+
		"the browser if they name none; one in the page's address goes first"))
	addr := flags.String("addr", "127.0.0.1:0", say("serve on this loopback `address`"))
	if help, err := i18n.Parse(flags, args, stderr, lang); help || err != nil {
		return err
	}
	address, err := sceneAddress(*scene)
	if err != nil {
		return err
	}

	b, err := build.New(ctx, ".")
	if err != nil {
		return err
	}
	b.Lang = *lang
	if *lock != "" {
		if b.Own, err = b.OwnLock(*lock); err != nil {
			return err
		}
		address = cmp.Or(address, "#lock=exercise-"+b.Own.Folder)
	}
	if *out != "" {
		return writeTo(ctx, b, *out, stdout)
	}

	ln, err := loopback.Listen(*addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	s := newSite(ln.Addr().String())
	url := "http://" + s.host + "/" + address
	fmt.Fprintln(stdout, i18n.Textf("the lab is at %s", url).In(*lang))
	if *open {
		if err := loopback.OpenBrowser(url); err != nil {
			fmt.Fprintln(stderr, "lab:", i18n.Textf("no browser opens: %v", err).In(*lang))
		}
	}
	go s.watch(ctx, b, time.Tick(300*time.Millisecond))
	return loopback.Serve(ctx, ln, s)
}

func writeTo(ctx context.Context, b *build.Builder, out string, stdout io.Writer) error {
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return i18n.Misusef("-out %s is a folder: name a file in it, or write all pages into it with go run ./cmd/book -out %s", out, out)
	}
	built, err := b.Build(ctx, false) // the exercises are not optional
	if err != nil {
		return err
	}
	page, err := built.OneFile()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, page, 0o644); err != nil {
		return i18n.Errorf("the page cannot be written: %w", err)
	}
	fmt.Fprintln(stdout, i18n.Textf("wrote %s, %.1f MB", out, float64(len(page))/1e6).In(b.Lang))
	return nil
}

// languageOfEnvironment is the language that LC_ALL or LANG names. If they name none, as on Windows, it is
// empty, and the page opens in the browser's language.
func languageOfEnvironment() i18n.Language {
	switch name, _, _ := strings.Cut(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LANG")), "."); name {
	case "", "C", "POSIX":
		return ""
	}
	return i18n.Of("") // without a tag, Of reads LC_ALL and LANG as well
}

// sceneAddress returns the address of a scene; "" if none is given. The scene is the name of its lock, in capitals or
// not (a7 is A7), or the address itself, which begins with #. The address of an exercise's lock is returned
// unchecked, because only the page has these locks.
func sceneAddress(scene string) (string, error) {
	if scene == "" || strings.HasPrefix(scene, "#lock=exercise-") {
		return scene, nil
	}
	if strings.HasPrefix(scene, "#") {
		a, err := locks.ParseAddress(scene)
		if err != nil {
			return "", i18n.Misusef("-scene %s: %w", scene, err)
		}
		return a.String(), nil
	}
	for _, l := range locks.All() {
		if strings.EqualFold(l.Name, scene) {
			return l.Open().String(), nil
		}
	}
	return "", i18n.Misusef("there is no scene %q: docs/scenes.md lists them", scene)
}
