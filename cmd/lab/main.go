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
	say := i18n.Both
	out := flags.String("out", "", say("write the page to this `file`, which needs no server", "把页面写入这个`文件`，打开它不需要服务器"))
	open := flags.Bool("open", false, say("open the page in the browser", "在浏览器里打开页面"))
	scene := flags.String("scene", "", say("print and open the address of this lock's `scene`, or this address, which begins with #; see docs/scenes.md", "打印并打开某个锁的`场景`的地址，也可以直接写以 # 开头的地址；见 docs/scenes.zh-CN.md"))
	lock := flags.String("lock", "", say("play the lock in this `folder` in the place of the exercise's that its package clause names", "播放这个`文件夹`里的锁，代替 package 子句所指的那个练习的锁"))
	flags.Var(lang, "lang", say("open the page in this `language`, en or zh; otherwise that of LC_ALL or LANG, or of the browser if they name "+
		"none; one in the page's address goes first", "页面的`语言`，en 或 zh；不写则取自 LC_ALL 或 LANG，两者都没有就由浏览器决定；页面地址里写了语言的，以地址为准"))
	addr := flags.String("addr", "127.0.0.1:0", say("serve on this loopback `address`", "在本机回环的这个`地址`上提供服务"))
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
	fmt.Fprintln(stdout, i18n.Textf("the lab is at %s", "实验室的地址：%s", url).In(*lang))
	if *open {
		if err := loopback.OpenBrowser(url); err != nil {
			fmt.Fprintln(stderr, "lab:", i18n.Textf("no browser opens: %v", "无法打开浏览器：%v", err).In(*lang))
		}
	}
	go s.watch(ctx, b, time.Tick(300*time.Millisecond))
	return loopback.Serve(ctx, ln, s)
}

// writeTo builds the page and writes it to a file.
func writeTo(ctx context.Context, b *build.Builder, out string, stdout io.Writer) error {
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return i18n.Misusef("-out %s is a folder: name a file in it, or write all pages into it with go run ./cmd/book -out %s",
			"-out %s 是文件夹：请写出其中的文件名，或者用 go run ./cmd/book -out %s 写入全部页面", out, out)
	}
	const exercisesOptional = false
	built, err := b.Build(ctx, exercisesOptional)
	if err != nil {
		return err
	}
	page, err := built.OneFile()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, page, 0o644); err != nil {
		return i18n.Errorf("the page cannot be written: %w", "页面无法写入：%v", err)
	}
	fmt.Fprintln(stdout, i18n.Textf("wrote %s, %.1f MB", "已写入 %s，%.1f MB", out, float64(len(page))/1e6).In(b.Lang))
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
			return "", i18n.Misusef("-scene %s: %w", "-scene %s：%v", scene, err)
		}
		return a.String(), nil
	}
	for _, l := range locks.All() {
		if strings.EqualFold(l.Name, scene) {
			return l.Open().String(), nil
		}
	}
	return "", i18n.Misusef("there is no scene %q: docs/scenes.md lists them", "没有场景 %q：docs/scenes.zh-CN.md 列出了全部场景", scene)
}
