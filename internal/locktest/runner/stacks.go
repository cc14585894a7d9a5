package runner

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
)

// What the stacks of goroutines, and the output of a process that has ended, say of the lock. In a text of stacks, as
// runtime.Stack and a panic print it, an empty line is between two goroutines: the part of one is called a block here.

// whyDied says why a process has ended in the middle of a case, or, if the case's own function has left, after it.
func whyDied(output string, state *os.ProcessState, left bool) i18n.Text {
	why, rest := "", "" // the line with the cause, and those after it, the stacks
	for line := range strings.Lines(output) {
		if why == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
			why = strings.TrimSpace(line)
		} else if why != "" {
			rest += line
		}
	}
	switch {
	case strings.Contains(why, "main bubble goroutine has exited"):
		return i18n.Textf(
			"the lock leaks a goroutine: the case is over, every contender has let go, and the goroutine still waits%s", leakedAt(rest))
	case strings.Contains(why, "all goroutines in bubble are blocked"):
		return i18n.Textf("the lock hangs: every goroutine waits for another one%s", leakedAt(rest))
	case strings.Contains(why, "synctest channel from outside bubble"):
		return i18n.Textf("the lock uses a client of an earlier case%s: keep none in a variable of the package", leakedAt(rest))
	case why != "":
		at := i18n.Text("")
		if place := placeOf(rest, func(string) bool { return true }); place != "" {
			at = i18n.Textf(", in %s", place)
		}
		return i18n.Textf("the lock panics: %s%s", strings.TrimPrefix(why, "panic: "), at)
	case left:
		return i18n.Textf("the process ends (%v) after the case is over: the lock calls os.Exit or log.Fatal", state)
	}
	return i18n.Textf(
		"the process ends (%v) in the middle of the case: the lock calls os.Exit or log.Fatal; return an error", state)
}

// leakedAt returns where a goroutine that is left waits.
func leakedAt(stacks string) i18n.Text {
	inside := func(block string) bool { // and not the goroutine that has made the bubble
		return strings.Contains(block, inBubble) && !strings.Contains(block, "testing/synctest.Test(")
	}
	if place := placeOf(stacks, inside); place != "" {
		return i18n.Textf(" in %s", place)
	}
	return ""
}

// Leaked returns where a goroutine of the lock waits now.
func Leaked() i18n.Text { return leakedAt(bubble.Stacks()) }

// placeOf returns where the first goroutine is that is wanted: its innermost function that is not one of others.
func placeOf(stacks string, wanted func(block string) bool) string {
	for block := range strings.SplitSeq(stacks, "\n\n") {
		_, frames, ok := strings.Cut(block, "]:\n")
		if !ok || !wanted(block) {
			continue
		}
		lines := strings.Split(frames, "\n") // two for each frame: the function with its arguments, and its file
		for i := 0; i+1 < len(lines); i += 2 {
			function, file := lines[i], strings.TrimSpace(lines[i+1])
			if arguments := strings.LastIndex(function, "("); arguments > 0 {
				function = function[:arguments]
			}
			file, _, _ = strings.Cut(file, " +0x")
			if function == "" || strings.HasPrefix(function, "created by ") || ofOthers(function) {
				continue
			}
			shortName := function[strings.LastIndex(function, "/")+1:]
			shortFile := file[strings.LastIndexAny(file, `/\`)+1:]
			return fmt.Sprintf("%s (%s)", shortName, shortFile)
		}
	}
	return ""
}

// ofOthers reports whether a function is the suite's, or the standard library's, whose import paths have no dot.
func ofOthers(function string) bool {
	first, _, slash := strings.Cut(function, "/")
	if !slash { // a path of one element: the standard library, or a program's main package
		first, _, _ = strings.Cut(function, ".")
		return first != "main" && first != "command-line-arguments"
	}
	isStandard := !strings.Contains(first, ".")
	hasPrefix := func(prefix string) bool { return strings.HasPrefix(function, prefix) }
	return isStandard || slices.ContainsFunc(testedWith, hasPrefix)
}

// testedWith are the packages with which a lock is tested.
var testedWith = []string{
	"github.com/go-zookeeper/", "github.com/stretchr/",
	"example.com/zklock/internal/locktest.", "example.com/zklock/internal/locktest/runner.",
	"example.com/zklock/internal/locktest/stage.", "example.com/zklock/internal/locktest/leases.",
	"example.com/zklock/internal/grader/suites.", "example.com/zklock/internal/bubble.", "example.com/zklock/zkserver.",
	"example.com/zklock/internal/wiretap.", "example.com/zklock/internal/jute.", "example.com/zklock/internal/ensemble.",
	"example.com/zklock/zklock/zkconn.",
}

// InLock reports whether a goroutine is in a function of the lock. It does not read the stacks as text: that is slow.
func InLock() bool {
	records := make([]runtime.StackRecord, runtime.NumGoroutine()+10)
	n, ok := runtime.GoroutineProfile(records)
	for !ok {
		records = make([]runtime.StackRecord, n+10)
		n, ok = runtime.GoroutineProfile(records)
	}
	return slices.ContainsFunc(records[:n], func(r runtime.StackRecord) bool {
		lock := false
		for _, pc := range r.Stack() {
			switch ownerOf(pc) {
			case ofTests:
				return false
			case ofLock:
				lock = true
			}
		}
		return lock
	})
}

// An owner says to whose code a program counter belongs.
type owner int

const (
	ofNobody owner = iota // the standard library, the client, this package
	ofTests
	ofLock
)

var knownOwners sync.Map // by program counter

func ownerOf(pc uintptr) owner {
	if known, ok := knownOwners.Load(pc); ok {
		return known.(owner)
	}
	found := ofNobody
	frames := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "testing.tRunner" || f.Function == "main.main":
			found = ofTests
		case found == ofNobody && f.Function != "" && !ofOthers(f.Function):
			found = ofLock
		}
	}
	knownOwners.Store(pc, found)
	return found
}

// whyStuck says where a lock spins or waits, in a case that does not end. isDoing: an operation of it is under way.
func whyStuck(stacks string, isDoing bool) i18n.Text {
	placeIn := func(inState func(state string) bool) (place string) { // of a goroutine that calls the lock
		return placeOf(stacks, func(block string) bool {
			state, _, _ := strings.Cut(block, "\n")
			return strings.Contains(block, asideName) && inState(state)
		})
	}
	busy := placeIn(func(state string) bool { return strings.Contains(state, "[run") }) // running, runnable
	mutex := placeIn(func(state string) bool {
		return strings.Contains(state, "[sync.Mutex.Lock") || strings.Contains(state, "[sync.RWMutex.")
	})
	// Go calls a wait durable if only a goroutine of the same bubble can end it.
	blocked := placeIn(func(state string) bool { return !strings.Contains(state, "(durable)") })

	switch {
	case busy != "":
		return i18n.Textf("the lock spins: it is busy, and sends nothing; it is in %s", busy)
	case mutex != "":
		return i18n.Textf(
			"the lock hangs: it waits for a mutex that another goroutine keeps, which waits itself; let go of a mutex "+
				"before you wait for the lock or for a reply. It is in %s", mutex)
	case blocked != "":
		return i18n.Textf("the lock hangs: it waits for something that never comes, and that is not a watch; it is in %s", blocked)
	case !isDoing:
		return "the case is over, and a goroutine of the lock is busy still"
	}
	return "the lock hangs: it neither returns nor sends anything"
}

// Aside calls f. By its name in a stack, a goroutine that calls the lock is recognized.
func Aside(f func()) { f() }

const asideName = "runner.Aside("

// anyGoroutine reports whether matches returns true for a goroutine, the one that asks and the input's reader apart.
func anyGoroutine(stacks string, matches func(state, frames string) bool) bool {
	for block := range strings.SplitSeq(strings.TrimSpace(stacks), "\n\n") {
		header, frames, _ := strings.Cut(block, "\n")
		if strings.Contains(frames, "runner.(*watchdog).watch(") || strings.Contains(frames, "runner.serve.func1(") {
			continue
		}
		_, state, _ := strings.Cut(header, "[")
		if matches(state, frames) {
			return true
		}
	}
	return false
}

const inBubble = "synctest bubble" // in the state of a goroutine

// spins reports whether a goroutine of the bubble runs, or could run.
func spins(state, _ string) bool {
	return strings.Contains(state, inBubble) && strings.HasPrefix(state, "run") // running, runnable
}

// mayGoOn reports whether a goroutine waits for something else than another goroutine: for a processor, the system, the
// runtime or, outside of the bubble, for real time. If none does, virtual time should have gone on before.
func mayGoOn(state, frames string) bool {
	isOutside := !strings.Contains(state, inBubble)
	for _, waitForAnother := range []string{"chan ", "select", "sync.", "synctest."} {
		if strings.HasPrefix(state, waitForAnother) {
			ofTest := strings.Contains(frames, "testing.") // it waits for the bubble
			return isOutside && !ofTest
		}
	}
	return isOutside || !strings.HasPrefix(state, "sleep")
}
