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
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
)

// The lab's page shows locks at work. It asks its engine to "play" a schedule, choice by choice in a world; to "run" a
// scene in which nothing is chosen, and to film it; and for the "fates" of a schedule: how many random continuations
// end in the violation that is the goal. In the book the page opens without the engine, because the book has the
// answers to the requests of all scenes that its pages play. This file makes these requests and answers.

// A request is one that the lab's page sends to its engine. Do says which of the other fields are set. The fields are
// in alphabetical order, as the page sorts them when it looks up an answer: see requestKey.
type request struct {
	Choices []string       `json:"choices,omitzero"` // of play and fates
	Do      string         `json:"do"`               // "play", "fates" or "run"
	Goal    player.Kind    `json:"goal,omitempty"`   // of fates
	Parts   bool           `json:"parts,omitempty"`  // of run: the page shows a long film while it grows
	Scene   map[string]any `json:"scene,omitempty"`  // of run
	Want    *player.Kind   `json:"want,omitempty"`   // of play
	World   map[string]any `json:"world,omitempty"`  // of play and fates
}

// requestsOf returns the requests that the lab's page sends when it opens an address. films.js and world.js of the page
// make the same requests, with the same fields. The page loads the engine for any request that has no answer here.
func requestsOf(address string) (all []request, err error) {
	a, err := locks.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	switch a.Mode {
	case "schedule":
		all = scheduleRequests(a)
	case "watch":
		for _, lock := range a.Locks {
			all = append(all, runRequest(a, lock, a.Changes))
		}
		if n := len(a.Changes); a.Beside && n > 0 { // beside it is the run without the last change
			all = append(all, runRequest(a, a.Locks[0], a.Changes[:n-1]))
		}
	}
	return all, nil // none for a search, the third mode
}

// scheduleRequests returns the requests for a schedule of choices: to play it, and for its fates, which say how many
// random continuations reach the goal. The fates of a lock's own schedule need no request: they are in the catalogue.
func scheduleRequests(a locks.Address) []request {
	faults := a.Faults
	if len(a.Kinds) == 0 {
		faults = 0 // as world.js has it: without a kind of fault none can happen
	}
	world := map[string]any{"lock": a.Locks[0], "contenders": min(a.Contenders, 6), // as choices.js limits them
		"shared": a.Shared, "packets": a.Packets, "sequence": a.Sequence, "one_owner": a.OneOwner, "stranger": a.Stranger,
		"behind": a.Behind, "ensemble": a.Ensemble, "missing": a.Missing, "scripts": notNull(a.Scripts),
		"kinds": notNull(a.Kinds), "faults": faults}
	all := []request{{Do: "play", Choices: notNull(a.Choices), Want: &a.Want, World: world}}
	l, err := locks.Find(a.Locks[0])
	if err == nil && l.Goal != nil && l.Goal.Kind != "" && !slices.Equal(a.Choices, l.Scene.Choices) {
		all = append(all, request{Do: "fates", Choices: notNull(a.Choices), Goal: l.Goal.Kind, World: world})
	}
	return all
}

// runRequest is the request for the film of a lock in the scene of an address, with these changes.
func runRequest(a locks.Address, lock string, changes []film.Change) request {
	fields := []map[string]any{} // the changes as maps: in JSON the keys of a map are sorted, as the page sorts them
	for _, c := range changes {
		fields = append(fields, map[string]any{"at_ns": c.At, "who": c.Who, "do": c.Do})
	}
	scene := map[string]any{"lock": lock, "contenders": a.Contenders, "shared": a.Shared, "measured": a.Measured,
		"latency_ms": cmp.Or(a.LatencyMs, 20), "seed": a.Seed, "changes": fields, "scripts": notNull(a.Scripts)}
	return request{Do: "run", Parts: true, Scene: scene}
}

// notNull is a list whose JSON is [] if it is empty: a page cannot go through null.
func notNull[T any](list []T) []T { return append([]T{}, list...) }

// requestKey is the text by which the page looks up the answer to a request: JSON with sorted fields.
func requestKey(r request) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(r) // no error: a request has only texts, numbers, lists and maps
	return strings.TrimSuffix(out.String(), "\n")
}

// withExercises adds the exercises to the catalogue, without their locks, which are not in this program.
var withExercises = sync.OnceFunc(func() {
	for _, e := range locks.Playable {
		locks.AddExercise(e.Folder, "", nil, nil)
	}
})

// catalogue is the catalogue of the lab. An exercise's lock has the title of its page.
func (b *book) catalogue() []locks.Lock {
	withExercises()
	list := locks.All()
	for i, l := range list {
		if p := b.pages["docs/exercises/_"+strings.TrimPrefix(l.Name, "exercise-")+"/README.md"]; p != nil {
			list[i].Title = i18n.Both(p.title, p.in(i18n.Chinese).title)
		}
	}
	return list
}

// collectAnswers stores the answers of the engine to all requests of the scenes that the pages play.
func (b *book) collectAnswers(t *testing.T) error {
	catalogue, err := json.Marshal(b.catalogue())
	if err != nil {
		return err
	}
	b.answers = map[string]json.RawMessage{`{"do":"locks"}`: catalogue}
	for address := range b.played {
		if strings.HasPrefix(address, "#lock=exercise-") {
			continue
		}
		all, err := requestsOf(address)
		if err != nil {
			return err
		}
		for _, r := range all {
			if err := b.storeAnswer(t, r); err != nil {
				return i18n.Errorf("%s: %w", address, err)
			}
		}
	}
	return nil
}

func (b *book) storeAnswer(t *testing.T, r request) (err error) {
	key := requestKey(r)
	if b.answers[key] != nil {
		return nil
	}
	t.Run("film", func(t *testing.T) { // the engine plays in a bubble of synctest, which needs a test: see main
		r.Parts = false // the film is stored as a whole
		var answer any
		if answer, err = lab.Answer(t, []byte(requestKey(r)), func(any) {}); err != nil {
			return
		}
		if f, ok := answer.(*film.Film); ok {
			answer = lab.Part{Film: f} // the page expects parts, and this one is the whole film
		}
		b.answers[key], err = json.Marshal(answer)
	})
	return err
}

// storedPlay returns the stored answer to the request to play an address's schedule; without one, its trace is nil.
func (b *book) storedPlay(address string) (answer lab.PlayedSchedule, err error) {
	all, err := requestsOf(address)
	if err == nil && len(all) > 0 && all[0].Do == "play" {
		err = json.Unmarshal(b.answers[requestKey(all[0])], &answer)
	}
	return answer, err
}

// setInstants gives the arrows of a sequence the instants at which their packets arrive in the film of the same run.
// The nth packet of a kind in the sequence is the nth of that kind to arrive.
func setInstants(s *diagram.Sequence, f *film.Film) {
	packets := slices.DeleteFunc(slices.Clone(f.Packets), func(p film.Packet) bool { return p.Lost || p.Pending })
	slices.SortStableFunc(packets, func(p, q film.Packet) int { return cmp.Compare(p.Arrived, q.Arrived) })
	count, arrived := make(map[diagram.Packet]int), make(map[diagram.Packet]time.Duration)
	for _, p := range packets {
		key := diagram.Packet{Client: p.Client, Kind: p.Kind}
		count[key]++
		key.N = count[key]
		arrived[key] = p.Arrived
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		step.At, step.Timed = arrived[step.Packet]
	}
}

// storyOf returns the story of the lock whose own scene has this address, and the address of the scene in which the
// story is told. That may be another scene. The story is nil if the lock has none.
func storyOf(address string) (story *locks.Story, storyAt string) {
	for _, l := range locks.All() {
		a := l.Open() // the address of the lock's own scene
		if l.Story != nil && a.String() == address {
			a.Scene = l.Story.Scene
			return l.Story, a.String()
		}
	}
	return nil, ""
}

// caption is the text of a stop, with the article's words.
func caption(s locks.Stop, lang i18n.Language) string {
	return strings.TrimSuffix(s.Text.In(lang)+" "+s.Quote, " ")
}
