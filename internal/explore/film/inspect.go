package film

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/testenv"
)

// A Variable is a field of a contender's lock, as its source names it.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// unchanging are fields, of our locks and the articles' listings, that say where a lock is, and nothing of its state.
var unchanging = []string{"path", "lockPath", "rootNode", "businessCode", "lockName", "thread", "stock", "name"}

// modulePath is the beginning of the paths of this module's packages.
var modulePath = strings.TrimSuffix(reflect.TypeFor[Variable]().PkgPath(), "internal/explore/film")

// An Inspectable lock chooses itself which of its variables are shown.
type Inspectable interface {
	Variables() []Variable
}

// Variables returns a contender's variables. If its lock is not Inspectable, they are the texts and numbers in it and
// in its parts: a student's lock, for example, is a struct with the path of its node. All goroutines must be settled.
func Variables(lock player.Lock) []Variable {
	if inspectable, ok := lock.(Inspectable); ok {
		return inspectable.Variables()
	}
	fields := fieldList{seen: make(map[uintptr]bool)}
	fields.add(reflect.ValueOf(lock), 0)
	return fields.list
}

// A fieldList has the variables of a struct and its parts.
type fieldList struct {
	list []Variable
	seen map[uintptr]bool // the pointers so far: a lock may point back to itself
}

// add adds the fields of a value, and after them those of its parts.
func (l *fieldList) add(v reflect.Value, depth int) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() || v.Kind() == reflect.Pointer && l.seen[v.Pointer()] {
			return
		}
		if v.Kind() == reflect.Pointer {
			l.seen[v.Pointer()] = true
		}
		v = v.Elem()
	}
	const deepest = 3 // parts of parts of parts: a reader looks no deeper
	if v.Kind() != reflect.Struct || !strings.HasPrefix(v.Type().PkgPath(), modulePath) || depth > deepest {
		return
	}

	var parts []reflect.Value
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch f.Kind() {
		case reflect.String, reflect.Int, reflect.Int32, reflect.Int64:
			value := fieldText(name, f)
			listed := slices.ContainsFunc(l.list, func(x Variable) bool { return x.Name == name })
			if value != "" && !listed && !slices.Contains(unchanging, name) {
				l.list = append(l.list, Variable{name, value})
			}
		case reflect.Pointer, reflect.Interface, reflect.Struct:
			parts = append(parts, f)
		}
	}
	for _, part := range parts {
		l.add(part, depth+1)
	}
}

// fieldText is the value of a field that is a text or a number. It is "" for 0, and for a time.Duration and the like.
func fieldText(name string, f reflect.Value) string {
	switch {
	case f.Kind() == reflect.String:
		return f.String()
	case f.Int() == 0 || f.Type().PkgPath() != "":
		return ""
	case name == "session":
		return sessionNumber(f.Int())
	}
	return strconv.FormatInt(f.Int(), 10)
}

// randomText matches a result of rand.Text.
var randomText = regexp.MustCompile(`\b[A-Z2-7]{26}\b`)

// process is the text that zklock writes into its nodes without WithData.
var process = func() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}()

// repeatable is a value, the same in each run and on each machine: random texts are numbered, and no process is named.
func (r *recorder) repeatable(value string) string {
	value = strings.ReplaceAll(value, process, "host:pid")
	if !utf8.ValidString(value) {
		value = fmt.Sprintf("%x", value)
	}
	if len(value) > mostText {
		value = strings.ToValidUTF8(value[:mostText], "") + "…"
	}
	return randomText.ReplaceAllStringFunc(value, func(s string) string {
		if !slices.Contains(r.randomTexts, s) {
			r.randomTexts = append(r.randomTexts, s)
		}
		return "<random " + strconv.Itoa(slices.Index(r.randomTexts, s)+1) + ">"
	})
}

const mostText = 200 // bytes of a value

// sessionNumber is a session's number as ZooKeeper's tools write it.
func sessionNumber(id int64) string {
	if id == 0 {
		return ""
	}
	return "0x" + strconv.FormatInt(id, 16)
}

// noteVariables notes the variables of the contenders' locks. All goroutines must have got as far as they can. The race
// detector does not see that a goroutine is blocked while its variables are read, so with it a film has none.
func (r *recorder) noteVariables() {
	if testenv.Raced || len(r.w.Contenders) > mostFollowed {
		return
	}
	for _, k := range r.w.Contenders {
		if k.Lock == nil {
			continue
		}
		list := Variables(k.Lock)
		for i := range list {
			value := &list[i].Value
			if r.w.Tagged && strings.HasPrefix(*value, "/") { // a path, with the contender's tag: player/tag.go
				*value, _ = player.Untagged(*value)
			}
			*value = r.repeatable(*value)
		}
		if c := r.contenders[k]; !slices.Equal(list, c.variables) {
			c.variables = list
			r.mark(Mark{Kind: "variables", Who: k.Name, Variables: list})
		}
	}
}
