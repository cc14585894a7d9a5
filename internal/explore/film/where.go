package film

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/zklock/internal/explore/player"
)

// A Where says at which lines of the lock's source a contender is from an instant on.
type Where struct {
	From time.Duration `json:"at_ns"`
	Who  string        `json:"who"`
	// At has the line that the contender executes or waits in, then that of its caller, and so on, as indices of
	// Film.Places. It is empty if the contender has not called the lock yet, holds it, or is done.
	At []int `json:"at"`
}

// A Place is a line of a source file, such as 03-sequential-predecessor/lock.go.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Func string `json:"func"`
}

// mostFollowed is how many contenders a film may have to show the line at which each is: nobody follows more of them.
const mostFollowed = 12

// sourceRoot is the beginning of the paths of this module's files in a stack.
var sourceRoot = func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "internal/explore/film/where.go")
}()

// machinery are the folders whose functions are on the stack of a contender, and are not a part of its lock.
var machinery = []string{"internal/explore/", "internal/bugs/java/", "internal/bugs/scenes/", "internal/lab/", "docs/exercises/_generated"}

// stackTexts are buffers for the stacks of all goroutines.
var stackTexts = sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}

// noteWhere notes where each contender is. All goroutines must have got as far as they can.
func (r *recorder) noteWhere() {
	if len(r.w.Contenders) > mostFollowed || !r.moved() {
		return
	}
	byGoroutine := make(map[string]*player.Contender, len(r.w.Contenders))
	for _, k := range r.w.Contenders {
		byGoroutine[k.GoID] = k
	}

	const allGoroutines = true
	buf := stackTexts.Get().(*[]byte)
	defer stackTexts.Put(buf)
	n := runtime.Stack(*buf, allGoroutines)
	found := make(map[*player.Contender][]Place, len(byGoroutine))
	for rest := (*buf)[:n]; len(rest) > 0; {
		var stack []byte
		stack, rest, _ = bytes.Cut(rest, []byte("\n\n"))
		if k := byGoroutine[player.GoroutineNumber(stack)]; k != nil {
			found[k] = lockFrames(stack)
		}
	}

	for _, k := range r.w.Contenders { // one whose goroutine has ended is nowhere
		r.place(k, found[k])
	}
}

// moved reports whether any goroutine is elsewhere than at the last look. The text of the stacks would take longer.
func (r *recorder) moved() bool {
	n, ok := runtime.GoroutineProfile(r.stacks)
	for !ok {
		r.stacks = make([]runtime.StackRecord, n+20) // with room for goroutines that are started later
		n, ok = runtime.GoroutineProfile(r.stacks)
	}
	now := r.stacks[1:n] // the first is the goroutine that asks
	if slices.Equal(now, r.lastStacks) {
		return false
	}
	r.lastStacks = append(r.lastStacks[:0], now...)
	return true
}

// lockFrames returns the lines of the lock's source in the text of a stack, from the inside out. The text has two lines
// for each call, such as "main.(*Lock).Lock(0x1, {0x2, 0x3})" and "\t/home/me/lock.go:42 +0x1d".
func lockFrames(stack []byte) (list []Place) {
	lines := strings.Split(string(stack), "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], "created by ") {
			break
		}
		at := strings.TrimPrefix(lines[i+1], "\t")
		file, ok := strings.CutPrefix(at, sourceRoot)
		if !ok {
			continue
		}
		file, number, _ := strings.Cut(file, ":")
		inFolder := func(dir string) bool { return strings.HasPrefix(file, dir) }
		if strings.HasSuffix(file, "_test.go") || slices.ContainsFunc(machinery, inFolder) {
			continue
		}
		number, _, _ = strings.Cut(number, " ")
		line, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		name := lines[i][:strings.LastIndexByte(lines[i], '(')] // the arguments have no parentheses in them
		name = name[strings.LastIndexByte(name, '.')+1:]
		list = append(list, Place{File: file, Line: line, Func: name})
	}
	return list
}

// place records the line of a contender, if that has changed.
func (r *recorder) place(k *player.Contender, list []Place) {
	c := r.contenders[k]
	if slices.Equal(c.at, list) {
		return
	}
	c.at = list
	at := []int{} // not null in JSON
	for _, p := range list {
		i := slices.Index(r.film.Places, p)
		if i < 0 {
			i = len(r.film.Places)
			r.film.Places = append(r.film.Places, p)
		}
		at = append(at, i)
	}
	r.film.Where = append(r.film.Where, Where{From: r.now(), Who: k.Name, At: at})
}
