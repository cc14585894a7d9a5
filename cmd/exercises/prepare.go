package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
)

// A compilation is a call of go that fills its caches.
type compilation struct {
	what i18n.Text
	env  []string
	args []string
}

// preparations compile all that is run in a class.
func preparations() []compilation {
	graders := []string{"test", "-run=^$"} // builds the tests, and runs none
	for _, e := range exercises {
		graders = append(graders, "./docs/exercises/"+e.folder)
	}
	return []compilation{
		{what: "the commands, and the modules that they need",
			args: []string{"build", "./cmd/exercises", "./cmd/primers", "./cmd/lab", "./cmd/book", "./cmd/shell", "./cmd/zklock", "./bench"}},
		{what: "the graders of the exercises", args: graders},
		{what: "what a lock may import", args: append([]string{"build"}, importable...)},
		// Without -o, go would write the program into the working directory, because it is a single one.
		{what: "the lab's page", env: []string{"GOOS=js", "GOARCH=wasm"}, args: []string{"build", "-o", os.DevNull, "./internal/lab/engine"}},
	}
}

// prepare fills the caches of Go, so that in class nothing is fetched, and little is compiled.
func (a *app) prepare(ctx context.Context) error {
	began := time.Now()
	list := preparations()
	for i, c := range list {
		a.print("%d of %d: compiling %s …\n", i+1, len(list), c.what)
		cmd := goTool(ctx, a.root, local, c.args...)
		cmd.Env = append(cmd.Env, c.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return i18n.Errorf("go %s: %w\n%s", strings.Join(c.args, " "), err, out)
		}
	}
	a.print("Ready, in %v.\n", time.Since(began).Round(time.Second))
	return nil
}

// explainWait prints why a first grade takes a while, if stop is not called within three seconds. It does so once for all grades.
func (a *app) explainWait() (stop func() bool) {
	return time.AfterFunc(3*time.Second, func() {
		if terminal(os.Stderr) {
			a.explained.Do(func() {
				fmt.Fprint(os.Stderr, a.say("Compiling: on a new machine the first grade takes a minute or two, and Go may "+
					"fetch modules. go run ./cmd/exercises prepare does that in advance.\n"))
			})
		}
	}).Stop
}
