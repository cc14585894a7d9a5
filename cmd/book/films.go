package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
)

// requests returns the requests that the lab's page sends when it opens an address. internal/lab/page/films.js and
// internal/lab/page/choices.js make the same, with the same fields.
func requests(address string) (all []map[string]any, err error) {
	a, err := locks.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	switch a.Mode {
	case "schedule":
		faults := a.Faults
		if len(a.Kinds) == 0 {
			faults = 0
		}
		world := map[string]any{"lock": a.Locks[0], "contenders": min(a.Contenders, 6), // as choices.js limits them
			"shared": a.Shared, "packets": a.Packets, "sequence": a.Sequence, "one_owner": a.OneOwner,
			"stranger": a.Stranger, "behind": a.Behind, "ensemble": a.Ensemble, "missing": a.Missing,
			"scripts": notNull(a.Scripts), "kinds": notNull(a.Kinds), "faults": faults}
		all = append(all, map[string]any{"do": "play", "choices": notNull(a.Choices), "want": string(a.Want), "world": world})
	case "watch":
		for _, lock := range a.Locks {
			all = append(all, runRequest(a, lock, a.Changes))
		}
		if n := len(a.Changes); a.Beside && n > 0 {
			all = append(all, runRequest(a, a.Locks[0], a.Changes[:n-1]))
		}
	}
	return all, nil // a search has none
}

// runRequest is the request for the film of a lock in the scene of an address, with these changes.
func runRequest(a locks.Address, lock string, changes []film.Change) map[string]any {
	fields := []map[string]any{}
	for _, c := range changes {
		fields = append(fields, map[string]any{"at_ns": c.At, "who": c.Who, "do": c.Do})
	}
	scene := map[string]any{"lock": lock, "contenders": a.Contenders, "shared": a.Shared, "measured": a.Measured,
		"latency_ms": cmp.Or(a.LatencyMs, 20), "seed": a.Seed, "changes": fields, "scripts": notNull(a.Scripts)}
	return map[string]any{"do": "run", "parts": true, "scene": scene}
}

// notNull is a list whose JSON is [] if it is empty: a page cannot go through null.
func notNull[T any](list []T) []T {
	return append([]T{}, list...)
}

// requestKey is the text by which the page looks up the answer to a request: JSON with the fields in order.
func requestKey(request map[string]any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(request) // texts, numbers and lists of them
	return strings.TrimSuffix(out.String(), "\n")
}

// withExercises adds the exercises to the catalogue, as the lab's page has them, but without their locks: these are
// not in this program.
var withExercises = sync.OnceFunc(func() {
	for _, e := range locks.Playable {
		locks.AddExercise(e.Folder, locks.Text{}, nil, nil)
	}
})

// catalogue is the catalogue of the lab. An exercise's lock has the title of its page.
func (b *book) catalogue() []locks.Lock {
	withExercises()
	list := locks.All()
	for i, l := range list {
		if p := b.pages["docs/exercises/_"+strings.TrimPrefix(l.Name, "exercise-")+"/README.md"]; p != nil {
			list[i].Title = locks.Text{En: p.title, Zh: p.in(i18n.Chinese).title}
		}
	}
	return list
}

// film has the answers of the engine to all requests for scenes that the pages play: films, mostly.
func (b *book) film(t *testing.T) error {
	catalogue, err := json.Marshal(b.catalogue())
	if err != nil {
		return err
	}
	b.answers = map[string]json.RawMessage{`{"do":"locks"}`: catalogue}
	for address := range b.played {
		if strings.HasPrefix(address, "#lock=exercise-") {
			continue
		}
		all, err := requests(address)
		if err != nil {
			return err
		}
		for _, request := range append(all, fatesRequest(all)...) {
			if err := b.answer(t, request); err != nil {
				return i18n.Errorf("%s: %w", "%s：%v", address, err)
			}
		}
	}
	return nil
}

// fatesRequest returns the request for the fates of a schedule, if the page sends one after its request to play it: for
// a lock with a goal, and a schedule other than the lock's own, whose fates are in the catalogue.
func fatesRequest(all []map[string]any) []map[string]any {
	if len(all) != 1 || all[0]["do"] != "play" {
		return nil
	}
	world, choices := all[0]["world"].(map[string]any), all[0]["choices"].([]string)
	l, err := locks.Find(world["lock"].(string))
	if err != nil || l.Goal == nil || l.Goal.Kind == "" || slices.Equal(choices, l.Scene.Choices) {
		return nil
	}
	return []map[string]any{{"do": "fates", "world": world, "choices": choices, "goal": string(l.Goal.Kind)}}
}

// answer notes the answer of the engine to a request.
func (b *book) answer(t *testing.T, request map[string]any) (err error) {
	key := requestKey(request)
	if b.answers[key] != nil {
		return nil
	}
	t.Run("film", func(t *testing.T) {
		whole := strings.Replace(key, `"parts":true`, `"parts":false`, 1) // the request for a run, not in parts
		var made any
		if made, err = lab.Answer(t, []byte(whole), func(any) {}); err != nil {
			return
		}
		if f, ok := made.(*film.Film); ok {
			made = lab.Part{Film: f} // the page expects parts, and this one is the whole film
		}
		b.answers[key], err = json.Marshal(made)
	})
	return err
}

// playOf returns the answer to the request to play the schedule of an address. If the address has no schedule, the
// trace is nil.
func (b *book) playOf(address string) (made lab.PlayedSchedule, err error) {
	all, err := requests(address)
	if err == nil && len(all) == 1 && all[0]["do"] == "play" {
		err = json.Unmarshal(b.answers[requestKey(all[0])], &made)
	}
	return made, err
}

// setInstants gives the arrows of a sequence the instants at which their packets arrive in the film of the same run.
// The nth packet of a kind in the sequence is the nth of that kind to arrive.
func setInstants(s *diagram.Sequence, f *film.Film) {
	packets := slices.DeleteFunc(slices.Clone(f.Packets), func(p film.Packet) bool { return p.Lost || p.Pending })
	slices.SortStableFunc(packets, func(p, q film.Packet) int { return cmp.Compare(p.Arrived, q.Arrived) })
	number, arrived := make(map[diagram.Packet]int), make(map[diagram.Packet]time.Duration)
	for _, p := range packets {
		one := diagram.Packet{Client: p.Client, Kind: p.Kind}
		number[one]++
		one.N = number[one]
		arrived[one] = p.Arrived
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		step.At, step.Timed = arrived[step.Packet]
	}
}

// storyOf returns the story of the lock whose own scene has this address, and the address of the story's scene, which
// may be another one. The story is nil if there is none.
func storyOf(address string) (story *locks.Story, storyAt string) {
	for _, l := range locks.All() {
		if told := l.Open(); l.Story != nil && told.String() == address {
			told.Scene = l.Story.Scene
			return l.Story, told.String()
		}
	}
	return nil, ""
}

// caption is the text of a stop, with the article's words.
func caption(s locks.Stop, lang i18n.Language) string {
	return strings.TrimSuffix(s.Text.In(lang)+" "+s.Quote, " ")
}
