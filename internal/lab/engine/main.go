//go:build js && wasm

// Command engine runs in the lab's page, in a worker: the locks, the
// client library, the embedded server and the explorer, in virtual time.
//
// A bubble of testing/synctest needs a test, so the engine is a test that does not end. When it is ready, it calls
// zklabReady(). From then on the worker calls zklab(text, progress): text is a request in JSON, progress is called with
// JSON while the request is being answered, and the result is a promise of the answer in JSON.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"runtime/debug"
	"syscall/js"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
)

// A job is a request that waits for its turn.
type job struct {
	text            string
	progress        js.Value // a function, if the worker has given one
	resolve, reject js.Value // of the promise
}

// do answers a request. A lock that panics in its own call is an error; one that panics in a goroutine of its own ends
// the engine, and the page starts another.
func (j job) do(t *testing.T) {
	var answer []byte
	err := i18n.Errorf("the run was ended by the test that it runs in") // a failed test ends before it sets another
	t.Run("", func(t *testing.T) {
		defer func() {
			if p := recover(); p != nil {
				err = i18n.Errorf("panic: %v", p)
			}
		}()
		var result any
		result, err = lab.Answer(t, []byte(j.text), func(p any) {
			if b, err := json.Marshal(p); err == nil && j.progress.Type() == js.TypeFunction {
				j.progress.Invoke(string(b))
			}
		})
		if err == nil {
			answer, err = json.Marshal(result)
		}
	})
	if err != nil {
		failure := js.Global().Get("Error").New(err.Error())
		failure.Set("zh", i18n.TextOf(err).In(i18n.Chinese))
		j.reject.Invoke(failure)
		return
	}
	j.resolve.Invoke(string(answer))
}

// serve answers one request after the other, and does not return.
func serve(t *testing.T) {
	jobs := make(chan job, 64)
	js.Global().Set("zklab", js.FuncOf(func(_ js.Value, args []js.Value) any {
		j := job{text: args[0].String()}
		if len(args) > 1 {
			j.progress = args[1]
		}
		var executor js.Func
		executor = js.FuncOf(func(_ js.Value, functions []js.Value) any { // which the promise calls at once
			executor.Release()
			j.resolve, j.reject = functions[0], functions[1]
			jobs <- j
			return nil
		})
		return js.Global().Get("Promise").New(executor)
	}))
	js.Global().Call("zklabReady")
	for j := range jobs {
		j.do(t)
	}
}

func main() {
	// A lock in a bubble must not log: in a page, what is written goes through a channel that a goroutine outside
	// of the bubble serves, and that ends the engine.
	zk.DefaultLogger = log.New(io.Discard, "", 0)
	// A film of a hundred clients makes garbage fast. The page has memory for it and one core.
	debug.SetGCPercent(800)
	if os.Getenv("ZKLOCK_LAB_ONCE") != "" {
		// The page wants one film that is the same each time: the collector's goroutines would run beside it.
		debug.SetGCPercent(-1)
	}
	debug.SetMemoryLimit(160 << 20)
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "lab", F: serve}}, nil, nil)
}
