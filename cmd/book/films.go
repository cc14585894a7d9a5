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

// requests are those of the lab's page when it opens an address: internal/lab/page/films.js and
// internal/lab/page/choices.js ask the same, with the same fields.
func requests(address string) (all []map[string]any, err error) {
	a, err := locks.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	list := func(n int, empty, full any) any { // a page cannot go through null
		if n == 0 {
			return empty
		}
		return full
	}
	none := []any{}
	if a.Mode == "schedule" {
		faults := a.Faults
		if len(a.Kinds) == 0 {
			faults = 0
		}
		world := map[string]any{"lock": a.Locks[0], "contenders": min(a.Contenders, 6), // as choices.js amends it
			"shared": a.Shared, "packets": a.Packets, "sequence": a.Sequence, "one_owner": a.OneOwner,
			"stranger": a.Stranger, "behind": a.Behind, "ensemble": a.Ensemble, "missing": a.Missing,
			"scripts": list(len(a.Scripts), none, a.Scripts), "kinds": list(len(a.Kinds), none, a.Kinds), "faults": faults}
		return []map[string]any{{"do": "play", "choices": list(len(a.Choices), none, a.Choices), "want": string(a.Want),
			"world": world}}, nil
	}
	if a.Mode != "watch" {
		return nil, nil // a search
	}
	addRun := func(lock string, changes []film.Change) {
		made := []any{}
		for _, c := range changes {
			made = append(made, map[string]any{"at_ns": c.At, "who": c.Who, "do": c.Do})
		}
		all = append(all, map[string]any{"do": "run", "parts": true, "scene": map[string]any{"lock": lock, "contenders": a.Contenders, "shared": a.Shared,
			"latency_ms": cmp.Or(a.LatencyMs, 20), "measured": a.Measured, "seed": a.Seed, "changes": made, "scripts": list(len(a.Scripts), none, a.Scripts)}})
	}
	for _, lock := range a.Locks {
		addRun(lock, a.Changes)
	}
	if n := len(a.Changes); a.Beside && n > 0 {
		addRun(a.Locks[0], a.Changes[:n-1])
	}
	return all, nil
}

// requestKey is a request as the page looks it up: JSON with the fields in order.
func requestKey(request map[string]any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(request) // texts, numbers and lists of them
	return strings.TrimSuffix(out.String(), "\n")
}

// withExercises adds the exercises' locks to the catalogue, as the lab's page has them. What
// they do is not in this program.
var withExercises = sync.OnceFunc(func() {
	for _, e := range locks.Playable {
		locks.AddExercise(e.Folder, locks.Text{}, nil, nil)
	}
})

// catalogue is the lab's. An exercise's lock has the title of its page.
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

// film makes the films of all scenes that the pages play.
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
		for _, r := range append(all, fatesRequest(all)...) {
			if err := b.answer(t, r); err != nil {
				return i18n.Errorf("%s: %w", "%s：%v", address, err)
			}
		}
	}
	return nil
}

// fatesRequest is what the page asks about a schedule other than the lock's own, of which the catalogue has them.
func fatesRequest(play []map[string]any) []map[string]any {
	if len(play) != 1 || play[0]["do"] != "play" {
		return nil
	}
	choices, _ := play[0]["choices"].([]string)
	l, err := locks.Find(play[0]["world"].(map[string]any)["lock"].(string))
	if err != nil || l.Goal == nil || l.Goal.Kind == "" || slices.Equal(choices, l.Scene.Choices) {
		return nil
	}
	return []map[string]any{{"do": "fates", "world": play[0]["world"], "choices": choices, "goal": string(l.Goal.Kind)}}
}

// answer asks what the page asks its engine.
func (b *book) answer(t *testing.T, request map[string]any) (err error) {
	k := requestKey(request)
	if b.answers[k] != nil {
		return nil
	}
	t.Run("film", func(t *testing.T) {
		whole := strings.Replace(k, `"parts":true`, `"parts":false`, 1) // only a run has it
		var made any
		if made, err = lab.Answer(t, []byte(whole), func(any) {}); err != nil {
			return
		}
		if f, ok := made.(*film.Film); ok {
			made = lab.Part{Film: f} // all of it
		}
		b.answers[k], err = json.Marshal(made)
	})
	return err
}

// playOf is what the answer to the request of an address has, in which somebody has chosen the schedule. Its trace
// is nil if nobody has.
func (b *book) playOf(address string) (made lab.PlayedSchedule, err error) {
	all, err := requests(address)
	if err == nil && len(all) == 1 && all[0]["do"] == "play" {
		err = json.Unmarshal(b.answers[requestKey(all[0])], &made)
	}
	return made, err
}

// setInstants gives the arrows of a sequence the instants of their packets in the film of the same run: when a request
// is carried out, when a reply or an event arrives.
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

// storyOf is the story of the lock of a scene, and the address of its scene, which may be
// another one; nil: it has none.
func storyOf(address string) (*locks.Story, string) {
	a, err := locks.ParseAddress(address)
	if err != nil || address == "" {
		return nil, ""
	}
	l, err := locks.Find(a.Locks[0])
	if err != nil || l.Story == nil || l.Open().String() != address {
		return nil, ""
	}
	open := l.Open()
	open.Scene = l.Story.Scene
	return l.Story, open.String()
}

// caption is the text of a stop, with the article's words.
func caption(s locks.Stop, lang i18n.Language) string {
	text := s.Text.In(lang)
	if s.Quote != "" {
		text += " " + s.Quote
	}
	return text
}
