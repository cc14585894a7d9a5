package locks

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/explore"
)

// An Address is what stands behind the # in the page's address: one scene, or
// two locks in the same scene. docs/lab/page/link.js has the same, and a test
// compares them.
type Address struct {
	Locks  []string
	Scene         // its Lock is the first
	Beside bool   // with the run before the last change
	Mode   string // "watch", "schedule" or "find"
	// Of somebody who plays the scheduler, as in explore.World.
	Packets  bool
	Sequence int32
	OneOwner bool
	Scripts  [][]explore.Op
	Extra    []string // such as "t=1500ms" or "lang=zh"
}

// Open is the address of a lock's own scene.
func (l Lock) Open() Address {
	a := Address{Locks: []string{l.Name}, Scene: Scene{Lock: l.Name, Contenders: 6, Seed: 1}, Mode: "watch"}
	if l.Scene != nil {
		a.Scene = *l.Scene
		if len(l.Scene.Choices) > 0 || l.Group == Museum || l.Goal != nil {
			a.Mode = "schedule"
		}
	}
	return a
}

// String is the address, from the # on.
func (a Address) String() string {
	list := []string{"lock=" + strings.Join(a.Locks, ","), fmt.Sprint("n=", a.Contenders)}
	add := func(key string, value any) { list = append(list, fmt.Sprint(key, "=", value)) }
	if a.Shared {
		add("shared", 1)
	}
	add("latency", strconv.FormatFloat(cmp.Or(a.LatencyMs, 20), 'f', -1, 64))
	add("seed", a.Seed)
	if len(a.Changes) > 0 {
		var all []string
		for _, c := range a.Changes {
			all = append(all, formatTime(c.At)+"."+c.Who+"."+dashed(c.Do))
		}
		add("do", strings.Join(all, ","))
	}
	if a.Beside {
		add("vs", "parent")
	}
	if a.Mode != "watch" {
		var kinds, choices []string
		for _, k := range a.Kinds {
			kinds = append(kinds, dashed(k))
		}
		add("mode", a.Mode)
		add("kinds", strings.Join(kinds, ","))
		add("faults", a.Faults)
		if a.Packets {
			add("packets", 1)
		}
		if a.Sequence != 0 {
			add("sequence", a.Sequence)
		}
		if a.OneOwner {
			add("oneowner", 1)
		}
		if len(a.Scripts) > 0 {
			var all []string
			for _, script := range a.Scripts {
				if len(script) == 0 {
					script = []explore.Op{explore.LockOp, explore.UnlockOp}
				}
				var ops []string
				for _, op := range script {
					ops = append(ops, string(op))
				}
				all = append(all, strings.Join(ops, "."))
			}
			add("scripts", strings.Join(all, ","))
		}
		for _, c := range a.Choices {
			choices = append(choices, escape(c))
		}
		if len(choices) > 0 {
			add("choices", strings.Join(choices, ","))
		}
	}
	return "#" + strings.Join(append(list, a.Extra...), "&")
}

func dashed(f explore.Fault) string { return strings.ReplaceAll(string(f), " ", "-") }

// escape is encodeURIComponent, except that a blank is + and a colon stays.
func escape(s string) string {
	r := strings.NewReplacer("%3A", ":", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	return r.Replace(url.QueryEscape(s))
}

// formatTime writes 1500ms, 2s, 250us or 17ns.
func formatTime(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d%unit.d == 0 {
			return fmt.Sprint(int64(d/unit.d), unit.name)
		}
	}
	return fmt.Sprint(int64(d), "ns")
}

// ParseAddress reads what is behind the #, with or without it. What is missing
// is as at the page's start.
func ParseAddress(text string) (a Address, err error) {
	a = Address{Locks: []string{"herd", "predecessor"}, Scene: Scene{Contenders: 6, LatencyMs: 20, Seed: 1, Faults: 1}, Mode: "watch"}
	for pair := range strings.SplitSeq(strings.TrimPrefix(text, "#"), "&") {
		if pair == "" {
			continue
		}
		key, raw, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(raw)
		if err != nil {
			return a, fmt.Errorf("%s: %w", key, err)
		}
		number := func(lo, hi int) int {
			n, e := strconv.Atoi(value)
			if e != nil || n < lo || n > hi {
				err = fmt.Errorf("%s is %q, not a number from %d to %d", key, value, lo, hi)
			}
			return n
		}
		list := slices.DeleteFunc(strings.Split(value, ","), func(s string) bool { return s == "" })
		switch key {
		case "lock":
			a.Locks = list[:min(2, len(list))]
		case "n":
			a.Contenders = number(1, 100)
		case "shared":
			a.Shared = value == "1" || value == "true"
		case "latency":
			if a.LatencyMs, err = strconv.ParseFloat(value, 64); err == nil && !(a.LatencyMs >= 0 && a.LatencyMs <= 10_000) {
				err = fmt.Errorf("latency is %q, not from 0 to 10000", value)
			}
		case "seed":
			a.Seed = uint64(number(0, 1<<53-1))
		case "do":
			for _, s := range list {
				var c explore.Change
				if c, err = parseChange(s); err != nil {
					break
				}
				a.Changes = append(a.Changes, c)
			}
		case "vs":
			a.Beside = value == "parent"
		case "mode":
			if value == "schedule" || value == "find" {
				a.Mode = value
			}
		case "kinds":
			for _, k := range list {
				a.Kinds = append(a.Kinds, explore.Fault(strings.ReplaceAll(k, "-", " ")))
			}
		case "faults":
			a.Faults = number(0, 9)
		case "packets":
			a.Packets = value == "1"
		case "sequence":
			a.Sequence = int32(number(0, 1<<31-1))
		case "oneowner":
			a.OneOwner = value == "1"
		case "scripts":
			for _, script := range list {
				var ops []explore.Op
				for op := range strings.SplitSeq(script, ".") {
					if ops = append(ops, explore.Op(op)); !slices.Contains([]explore.Op{explore.LockOp, explore.TryLockOp, explore.UnlockOp}, explore.Op(op)) {
						err = fmt.Errorf("scripts: %q is not a call of a lock", op)
					}
				}
				a.Scripts = append(a.Scripts, ops)
			}
		case "choices":
			for c := range strings.SplitSeq(raw, ",") {
				if c, err = url.QueryUnescape(c); err != nil {
					break
				}
				if c != "" {
					a.Choices = append(a.Choices, c)
				}
			}
		default:
			a.Extra = append(a.Extra, pair)
		}
		if err != nil {
			return a, err
		}
	}
	for _, name := range a.Locks {
		if _, err := Find(name); err != nil {
			return a, err
		}
	}
	if len(a.Locks) == 0 {
		return a, errors.New("no lock is named")
	}
	a.Lock = a.Locks[0]
	return a, nil
}

// parseChange reads 1500ms.B.lose-reply.
func parseChange(text string) (c explore.Change, err error) {
	what := strings.LastIndexByte(text, '.')
	if what < 0 {
		return c, fmt.Errorf("%q is not a change such as 1500ms.B.lose-reply", text)
	}
	who := strings.LastIndexByte(text[:what], '.')
	if who < 0 {
		return c, fmt.Errorf("%q is not a change such as 1500ms.B.lose-reply", text)
	}
	if c.At, err = time.ParseDuration(text[:who]); err != nil {
		return c, err
	}
	c.Who, c.Do = text[who+1:what], explore.Fault(strings.ReplaceAll(text[what+1:], "-", " "))
	if !slices.Contains(explore.PaceFaults, c.Do) {
		return c, fmt.Errorf("nothing can do %q", c.Do)
	}
	return c, nil
}

// World is the address's world for somebody who plays the scheduler.
func (a Address) World() explore.World {
	l, _ := Find(a.Lock) // ParseAddress has found it
	return l.In(explore.World{Contenders: a.Contenders, Shared: a.Shared, Packets: a.Packets, Kinds: a.Kinds, Faults: a.Faults,
		Sequence: a.Sequence, OneOwner: a.OneOwner, Scripts: a.Scripts})
}
