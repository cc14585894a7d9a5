package main

import (
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

	"example.com/zklock/internal/language"
)

const usage = `Exercises that grade themselves. In the repository's root:

  go run ./docs/exercises list             what is done, and the points
  go run ./docs/exercises next             what to do next
  go run ./docs/exercises start 3          its goal, and its stub with comments in your language
  go run ./docs/exercises watch [3]        grades an exercise each time you save it
  go run ./docs/exercises hint 3           the next hint of exercise 3
  go run ./docs/exercises show 3           the solution, once you have all points
  go run ./docs/exercises grade DIR...     for a lecturer: grades students' folders

Each takes -lang en or -lang zh. go test ./docs/exercises/_03-predecessor grades exercise 3, too.
`

func main() {
	limited(os.Args[1:])
	replaying(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case errors.Is(err, context.Canceled):
		os.Exit(130)
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "exercises:", err)
		os.Exit(2)
	}
}

// endings are the signals after which this command removes what it has made and
// ends what it has started: an attempt is in a process group of its own, which a
// terminal does not end. A command that nohup has started outlives the terminal.
func endings() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// errFailed: all was said, and something does not pass.
var errFailed = errors.New("failed")

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	app := &app{out: out, limits: limits{time: time.Minute, memory: 1 << 30}, language: language.Of("")}
	defer func() { err = app.translated(err) }()
	if len(args) == 0 || args[0] == "help" || strings.TrimLeft(args[0], "-") == "help" || args[0] == "-h" {
		app.print(usage)
		return nil
	}
	if app.root, err = findRoot(); err != nil {
		return err
	}
	command, args := args[0], args[1:]
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(flagTranslator{app})
	flags.Var(&app.language, "lang", language.Usage)
	flags.Usage = func() {
		app.print("\n" + usage)
		app.print("\nFlags of %s:\n", command)
		flags.VisitAll(func(f *flag.Flag) { f.Usage = app.say("%s", f.Usage) })
		flags.PrintDefaults()
	}
	switch command {
	case "list", "next":
		if _, err := parse(flags, args, 0, 0); err != nil {
			return err
		}
		if command == "list" {
			return app.list(ctx)
		}
		return app.next(ctx)
	case "watch":
		once := flags.Bool("once", false, "grade once and end")
		names, err := parse(flags, args, 0, 1)
		if err != nil {
			return err
		}
		e, err := app.wanted(ctx, names)
		if err != nil {
			return err
		}
		return app.watch(ctx, e, *once)
	case "start", "hint", "show":
		giveUp := false
		if command == "show" {
			flags.BoolVar(&giveUp, "give-up", false, "show it though the exercise is not solved")
		}
		names, err := parse(flags, args, 1, 1)
		if err != nil {
			return err
		}
		e, err := find(names[0])
		if err != nil {
			return err
		}
		switch command {
		case "start":
			return app.start(e)
		case "hint":
			return app.hint(e)
		}
		return app.show(ctx, e, giveUp)
	case "grade":
		return app.gradeAll(ctx, flags, args)
	}
	return fmt.Errorf("there is no command %q; go run ./docs/exercises lists them", command)
}

// parse takes flags before and after the arguments.
func parse(flags *flag.FlagSet, args []string, least, most int) (names []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, errFailed // the flag package has said it
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		names, args = append(names, args[0]), args[1:]
	}
	switch {
	case len(names) < least && least == 1:
		return nil, fmt.Errorf("%s needs the number of an exercise: go run ./docs/exercises %s 3", flags.Name(), flags.Name())
	case len(names) > most:
		return nil, fmt.Errorf("%s takes no argument %q", flags.Name(), names[most])
	}
	return names, nil
}

// findRoot looks for the repository, upwards from the working directory.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for from := dir; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module example.com/zklock\n") || strings.HasPrefix(string(text), "module example.com/zklock\r\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a clone of this repository: change into one and try again", from)
		}
	}
}
