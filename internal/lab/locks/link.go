package locks

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// An Address is the part behind the # in the page's address: one scene, or two locks in the same scene.
// internal/lab/page/link.js has the same, and a test compares them.
type Address struct {
	Locks  []string
	Scene         // its Lock is the first of Locks
	Beside bool   // "vs=parent": the run without the last change is shown, too
	Mode   string // "watch", "schedule" or "find"

	// For a schedule that somebody chooses, as in player.World.
	Packets                                       bool
	Sequence                                      int32
	OneOwner, Stranger, Behind, Ensemble, Missing bool

	Want  player.Kind // the only violation that ends the schedule; "": any
	Extra []string    // what else the page's address has, such as "t=1500ms" or "lang=zh"
}

// Open returns the address of a lock's own scene.
func (l Lock) Open() Address {
	if l.Scene == nil {
		return l.addressOf(Scene{Lock: l.Name, Contenders: 6, Seed: 1})
	}
	return l.addressOf(*l.Scene)
}

// Tell returns the address of the scene of a lock's story.
func (l Lock) Tell() Address { return l.addressOf(l.Story.Scene) }

func (l Lock) addressOf(s Scene) Address {
	a := Address{Locks: []string{l.Name}, Scene: s, Mode: "watch"}
	if len(s.Choices) > 0 || l.Group == Museum || l.Goal != nil { // there may be nothing to choose
		a.Mode = "schedule"
	}
	return a
}

func isSet(value string) bool { return value == "1" || value == "true" } // as link.js reads a flag

type flag struct {
	key   string
	field *bool
}

// flags are the fields that are true or false in a chosen schedule, by their keys.
func (a *Address) flags() []flag {
	return []flag{
		{"packets", &a.Packets}, {"oneowner", &a.OneOwner}, {"stranger", &a.Stranger}, {"behind", &a.Behind}, {"ensemble", &a.Ensemble}, {"missing", &a.Missing},
	}
}

// String is the address, from the # on. The order is that of link.js.
func (a Address) String() string {
	pairs := []string{"lock=" + strings.Join(a.Locks, ","), fmt.Sprint("n=", a.Contenders)}
	add := func(key string, value any) { pairs = append(pairs, fmt.Sprint(key, "=", value)) }
	if a.Shared {
		add("shared", 1)
	}
	if a.Measured {
		add("measured", 1)
	} else {
		add("latency", strconv.FormatFloat(cmp.Or(a.LatencyMs, 20), 'f', -1, 64))
	}
	add("seed", a.Seed)
	if len(a.Changes) > 0 {
		add("do", joinEach(a.Changes, ",", func(c film.Change) string { return FormatTime(c.At) + "." + c.Who + "." + withDashes(c.Do) }))
	}
	if a.Beside {
		add("vs", "parent")
	}
	if a.Mode != "watch" {
		add("mode", a.Mode)
		add("kinds", joinEach(a.Kinds, ",", withDashes))
		add("faults", a.Faults)
		if a.Sequence != 0 {
			add("sequence", a.Sequence)
		}
		for _, f := range a.flags() {
			if *f.field {
				add(f.key, 1)
			}
		}
	}
	if len(a.Scripts) > 0 {
		add("scripts", joinEach(a.Scripts, ",", callsText))
	}
	if a.Mode != "watch" { // once more: link.js has the scripts before these
		if a.Want != "" {
			add("want", wantName(a.Want))
		}
		if len(a.Choices) > 0 {
			add("choices", joinEach(a.Choices, ",", escape))
		}
	}
	return "#" + strings.Join(append(pairs, a.Extra...), "&")
}

// joinEach joins the items of a list, each in its format.
func joinEach[T any](list []T, separator string, format func(T) string) string {
	var all []string
	for _, x := range list {
		all = append(all, format(x))
	}
	return strings.Join(all, separator)
}

// callsText writes the calls of a contender. One without a script of its own locks and unlocks.
func callsText(script []player.Op) string {
	if len(script) == 0 {
		script = []player.Op{player.LockOp, player.UnlockOp}
	}
	return joinEach(script, ".", func(op player.Op) string { return string(op) })
}

// wantName is a kind without the characters that are special in an address or in a shell.
func wantName(k player.Kind) string {
	return strings.NewReplacer(" ", "-", "'", "").Replace(string(k))
}

// Wanted returns the kind of violation that an address names; "" is any.
func Wanted(name string) (player.Kind, error) {
	if name == "" {
		return "", nil
	}
	for _, k := range player.Kinds {
		if wantName(k) == name {
			return k, nil
		}
	}
	return "", i18n.Errorf("want is %q, not a kind of violation", name)
}

// AllBut returns the kinds of violations to ignore if only one is wanted: none if that is "".
func AllBut(want player.Kind) []player.Kind {
	if want == "" {
		return nil
	}
	return player.KindsBut(want)
}

func withDashes(f player.Fault) string { return strings.ReplaceAll(string(f), " ", "-") }

// escape is JavaScript's encodeURIComponent, except that a blank is + and a colon stays.
func escape(s string) string {
	r := strings.NewReplacer("%3A", ":", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	return r.Replace(url.QueryEscape(s))
}

// FormatTime writes a time in the largest unit in which it is a whole number: 1500ms, 2s, 250us or 17ns.
func FormatTime(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d%unit.size == 0 {
			return fmt.Sprint(int64(d/unit.size), unit.name)
		}
	}
	return fmt.Sprint(int64(d), "ns")
}

// ParseAddress reads the part behind the #, with or without it. What is missing is as in a page without an address.
func ParseAddress(text string) (a Address, err error) {
	a, err = parseAnyLock(text)
	if err != nil {
		return a, err
	}
	for _, name := range a.Locks {
		if _, err := Find(name); err != nil {
			return a, err
		}
	}
	return a, nil
}

// parseAnyLock is ParseAddress without a look into the catalogue, which is filled later than the stories are read.
func parseAnyLock(text string) (a Address, err error) {
	a = Address{Locks: []string{"herd", "predecessor"}, Scene: Scene{Contenders: 6, LatencyMs: 20, Seed: 1, Faults: 1}, Mode: "watch"}
	for pair := range strings.SplitSeq(strings.TrimPrefix(text, "#"), "&") {
		key, raw, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(raw)
		if err != nil {
			return a, i18n.Errorf("%s: %w", key, err)
		}
		flagAt := slices.IndexFunc(a.flags(), func(f flag) bool { return f.key == key })
		setField := fields[key]
		switch {
		case flagAt >= 0:
			*a.flags()[flagAt].field = isSet(value)
		case setField != nil:
			err = setField(&a, value)
		case key == "choices": // each is escaped by itself: a comma in it is not one between two
			a.Choices, err = parseEach(raw, url.QueryUnescape)
		case pair != "":
			a.Extra = append(a.Extra, pair)
		}
		if err != nil {
			return a, err
		}
	}
	if len(a.Locks) == 0 {
		return a, i18n.Errorf("no lock is named")
	}
	a.Lock = a.Locks[0]
	return a, nil
}

// fields set the fields of an address to the values in its text, by their keys.
var fields = map[string]func(a *Address, value string) error{
	"lock": func(a *Address, value string) error {
		list := items(value)
		a.Locks = list[:min(2, len(list))]
		return nil
	},
	"n":        func(a *Address, value string) error { return parseNumber(&a.Contenders, "n", value, 1, 100) },
	"shared":   func(a *Address, value string) error { a.Shared = isSet(value); return nil },
	"measured": func(a *Address, value string) error { a.Measured = isSet(value); return nil },
	"latency": func(a *Address, value string) (err error) {
		a.LatencyMs, err = strconv.ParseFloat(value, 64)
		if err == nil && !(a.LatencyMs >= 0 && a.LatencyMs <= 10_000) { // NaN is neither
			err = i18n.Errorf("latency is %q, not from 0 to 10000", value)
		}
		return err
	},
	"seed": func(a *Address, value string) error { // up to the largest number that is exact in JavaScript
		return parseNumber(&a.Seed, "seed", value, 0, 1<<53-1)
	},
	"do": func(a *Address, value string) (err error) { a.Changes, err = parseEach(value, parseChange); return err },
	"vs": func(a *Address, value string) error { a.Beside = value == "parent"; return nil },
	"mode": func(a *Address, value string) error {
		if value == "schedule" || value == "find" {
			a.Mode = value
		}
		return nil
	},
	"kinds":    func(a *Address, value string) (err error) { a.Kinds, err = parseEach(value, parseKind); return err },
	"faults":   func(a *Address, value string) error { return parseNumber(&a.Faults, "faults", value, 0, 9) },
	"sequence": func(a *Address, value string) error { return parseNumber(&a.Sequence, "sequence", value, 0, 1<<31-1) },
	"want":     func(a *Address, value string) (err error) { a.Want, err = Wanted(value); return err },
	"scripts":  func(a *Address, value string) (err error) { a.Scripts, err = parseEach(value, parseCalls); return err },
}

// items returns the items of a list that are not empty.
func items(value string) []string {
	return slices.DeleteFunc(strings.Split(value, ","), func(s string) bool { return s == "" })
}

// parseNumber sets a field to the number of a key, which must be from low to high.
func parseNumber[T int | int32 | uint64](to *T, key, value string, low, high int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return i18n.Errorf("%s is %q, not a number from %d to %d", key, value, low, high)
	}
	*to = T(n)
	return nil
}

// parseEach reads the items of a list that commas separate.
func parseEach[T any](value string, read func(string) (T, error)) (list []T, err error) {
	for _, s := range items(value) {
		x, err := read(s)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

func parseKind(text string) (player.Fault, error) { // which has dashes for blanks
	return player.Fault(strings.ReplaceAll(text, "-", " ")), nil
}

// parseCalls reads the calls of a contender, such as lock.unlock.
func parseCalls(text string) (script []player.Op, err error) {
	for call := range strings.SplitSeq(text, ".") {
		op := player.Op(call)
		if op != player.LockOp && op != player.TryLockOp && op != player.UnlockOp && op != player.RelockOp {
			return nil, i18n.Errorf("scripts: %q is not a call of a lock", op)
		}
		script = append(script, op)
	}
	return script, nil
}

var changePattern = regexp.MustCompile(`^([0-9.]+[a-z]+)\.([^.]+)\.([a-z-]+)$`)

// parseChange reads a change, such as 1500ms.B.lose-reply.
func parseChange(text string) (c film.Change, err error) {
	m := changePattern.FindStringSubmatch(text)
	if m == nil {
		return c, i18n.Errorf("%q is not a change such as 1500ms.B.lose-reply", text)
	}
	c.Who = m[2]
	c.Do, _ = parseKind(m[3]) // no error: it takes any text
	if c.At, err = time.ParseDuration(m[1]); err == nil && !slices.Contains(film.PaceFaults, c.Do) {
		err = i18n.Errorf("nothing can do %q", c.Do)
	}
	return c, err
}

// World returns the world of an address in which somebody chooses the schedule.
func (a Address) World() player.World {
	l, _ := Find(a.Lock) // ParseAddress has found it
	w := l.In(player.World{Contenders: a.Contenders, Shared: a.Shared, Packets: a.Packets, Kinds: a.Kinds,
		Faults: a.Faults, Sequence: a.Sequence, OneOwner: a.OneOwner, Stranger: a.Stranger, Behind: a.Behind,
		Ensemble: a.Ensemble, Missing: a.Missing, Scripts: a.Scripts})
	w.Lock.Ignore = append(slices.Clone(w.Lock.Ignore), AllBut(a.Want)...)
	return w
}
