package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/i18n"
)

var (
	//go:embed usage.txt
	usageEn string
	//go:embed usage.zh-CN.txt
	usageZh string

	usage = i18n.Both(usageEn, usageZh)
)

func main() {
	counterexample.Serve(os.Args[1:]) // which exits, if playLinks has started this process to play answers
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	lang := i18n.Of("")
	err := run(ctx, os.Args[1:], os.Stdout, &lang)
	stop()
	switch {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case errors.Is(err, context.Canceled):
		os.Exit(130) // as a shell reports the end by an interrupt: 128, and the number of the signal, 2
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "exercises:", i18n.TextOf(err).In(lang))
		os.Exit(2)
	}
}

// endings are the signals after which this command removes what it has made and ends what it has started: an attempt is
// in a process group of its own, which a terminal does not end. A command that nohup has started outlives the terminal.
func endings() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// errFailed ends the command with status 1: an attempt does not pass, and the output says why.
var errFailed = errors.New("failed")

// run runs the command. It sets lang to the language of the flag -lang, for the text of its error.
func run(ctx context.Context, args []string, out io.Writer, lang *i18n.Language) (err error) {
	a := &app{out: out, limits: limits{time: time.Minute, memory: 1 << 30}, language: *lang} // 1 GiB, unless flags say otherwise
	defer func() { *lang = a.language }()
	if len(args) == 0 || strings.TrimLeft(args[0], "-") == "help" || args[0] == "-h" {
		a.print("%s", usage)
		return nil
	}
	if a.root, err = findRoot(); err != nil {
		return err
	}
	if a.stubs, err = readStubs(a.root); err != nil {
		return err
	}

	command, args := args[0], args[1:]
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // else it writes what is wrong, and the usage, in English
	flags.Var(&a.language, "lang", i18n.Usage)
	switch command {
	case "list", "next", "watch", "show", "grade":
		flags.Var((*limit)(&a.limits.time), "limit", i18n.FlagUsage("processor `time` that one attempt may use to build, and again to run"))
	}
	flags.Usage = func() {
		a.print("\n%s", usage)
		a.print("\nFlags of %s:\n%s", command, a.language.Help(flags))
	}
	if command == "grade" {
		return a.gradeAll(ctx, flags, args) // it has flags of its own
	}

	var once, giveUp bool
	var names []string // the arguments
	var e *exercise    // that they name
	commands := map[string]struct {
		least, most int // how many arguments the command takes; if it needs one, that is an exercise
		do          func() error
	}{
		"list":     {0, 0, func() error { return a.list(ctx) }},
		"next":     {0, 0, func() error { return a.next(ctx) }},
		"prepare":  {0, 0, func() error { return a.prepare(ctx) }},
		"hand-out": {0, 1, func() error { return a.handOut(ctx, strings.Join(names, "")) }}, // handOut refuses ""
		"watch":    {0, 1, func() error { return a.watch(ctx, e, once) }},
		"start":    {1, 1, func() error { return a.start(e) }},
		"hint":     {1, 1, func() error { return a.hint(e) }},
		"show":     {1, 1, func() error { return a.show(ctx, e, giveUp) }},
	}
	c, ok := commands[command]
	if !ok {
		return i18n.Errorf("there is no command %q; go run ./cmd/exercises lists them", command)
	}
	switch command {
	case "watch":
		flags.BoolVar(&once, "once", false, i18n.FlagUsage("grade once and end"))
	case "show":
		flags.BoolVar(&giveUp, "give-up", false, i18n.FlagUsage("show it though the exercise is not solved"))
	}

	if names, err = parse(flags, args, c.least, c.most); err != nil {
		return err
	}
	if command == "watch" {
		e, err = a.wanted(ctx, names)
	} else if c.least == 1 {
		e, err = find(names[0])
	}
	if err != nil {
		return err
	}
	return c.do()
}

// parse parses flags, before and after the arguments, and returns the arguments: there must be from least to most.
func parse(flags *flag.FlagSet, args []string, least, most int) (rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, i18n.WrongFlag(flags, err)
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	switch {
	case len(rest) < least: // least is 0 or 1, and the argument is an exercise
		return nil, i18n.Errorf("%s needs the number of an exercise: go run ./cmd/exercises %s 3", flags.Name(), flags.Name())
	case len(rest) > most:
		return nil, i18n.Errorf("%s takes no argument %q", flags.Name(), rest[most])
	}
	return rest, nil
}

// findRoot looks for the repository, upwards from the working directory.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for from := dir; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(unixLines(text)), "module example.com/zklock\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", i18n.Errorf("%s is not in a clone of this repository: change into one and try again", from)
		}
	}
}

func (a *app) say(format string, args ...any) string {
	return i18n.Textf(format, args...).In(a.language)
}

// page returns the name of a page of an exercise in the reader's language: README.md is README.zh-CN.md in Chinese. A
// page that is not there in that language keeps its English name.
func (a *app) page(e *exercise, name string) string {
	twin := a.language.Page(name)
	if _, err := os.Stat(filepath.Join(e.dir(a.root), twin)); err == nil {
		return twin
	}
	return name
}

// stamps are the lines of a Chinese page by which a test finds what was translated.
var stamps = regexp.MustCompile(`(?m)^<!-- en:[0-9a-f]+ -->\n`)
