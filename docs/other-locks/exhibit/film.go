package exhibit

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/language"
)

// films is where the films are, from the folder of a lock.
const films = "../films"

const (
	latency = 15 * time.Millisecond // of one way
	// A request leaves at the next beat of its client: a waiter's pauses are random, and
	// at most 64 ms long. The clients' beats differ, so that no two things happen at
	// one instant.
	beat   = 100 * time.Millisecond
	offset = 50 * time.Millisecond
)

// A Film is a film of the lab of two clients and a server that is not ZooKeeper. It is
// recorded in a bubble of testing/synctest, so that it is the same each time. The
// server may be outside the bubble.
type Film struct {
	t     testing.TB
	name  string
	look  func() map[string]string
	began time.Time

	mu    sync.Mutex // guards what follows
	film  film.Film
	there map[string]string
	holds []string
}

// NewFilm begins the film of that name of a lock on a system. There is a client for each
// name. Look returns what the server has that matters, and whose it is: the path of
// a key or of a row, and a client.
func NewFilm(t testing.TB, name, lock, system string, look func() map[string]string, clients ...string) *Film {
	f := &Film{t: t, name: name, look: look, began: time.Now(), there: make(map[string]string)}
	f.film = film.Film{
		Lock: lock, Contenders: len(clients), Latency: latency, Recorded: true, System: system,
		Server:  language.Say("%s, in virtual time", "%s，时间是虚拟的", system),
		Changes: []film.Change{}, Packets: []film.Packet{}, Marks: []film.Mark{}, Results: []language.Text{},
	}
	for _, c := range clients {
		f.film.Clients = append(f.film.Clients, film.Client{Name: c, Contenders: []string{c}})
	}
	return f
}

func (f *Film) mark(m film.Mark) {
	m.At = time.Since(f.began)
	f.film.Marks = append(f.film.Marks, m)
}

// Sends records a request that a client sends at its next beat, and returns when it has
// arrived. The server's work comes then, and after it the call of answer, which returns
// when the answer has arrived at the client.
func (f *Film) Sends(client, op, text string) (answer func(text language.Text, ok bool)) {
	due := offset * time.Duration(slices.IndexFunc(f.film.Clients, func(c film.Client) bool { return c.Name == client }))
	now := time.Since(f.began)
	time.Sleep((beat - (now-due)%beat) % beat)
	request := f.packet(film.Packet{Client: client, Who: client, Kind: "request", Op: op, Text: language.Same(text)})
	time.Sleep(latency)
	return func(text language.Text, ok bool) {
		f.Look()
		p := film.Packet{Client: client, Who: client, Kind: "reply", Op: op, Text: text, Of: request}
		if !ok {
			p.Error = text.En
		}
		f.packet(p)
		time.Sleep(latency)
	}
}

// packet records a packet that leaves now, and returns its number.
func (f *Film) packet(p film.Packet) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.ID = len(f.film.Packets) + 1
	p.Sent = time.Since(f.began)
	p.Arrived = p.Sent + latency
	f.film.Packets = append(f.film.Packets, p)
	if p.Kind == "request" {
		f.film.Counters.Requests++
	}
	return p.ID
}

// Look records what has changed at the server.
func (f *Film) Look() {
	now := f.look()
	f.mu.Lock()
	defer f.mu.Unlock()
	yes := func(b bool) *bool { return &b }
	for _, path := range slices.Sorted(maps.Keys(f.there)) {
		if now[path] != f.there[path] {
			f.mark(film.Mark{Kind: "node", Path: path, Owner: f.there[path], Made: yes(false), Text: language.Say("%s is gone", "%s 已被删除", filepath.Base(path))})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if now[path] != f.there[path] {
			f.mark(film.Mark{Kind: "node", Path: path, Owner: now[path], Made: yes(true), Text: language.Say(
				"%s is there, and belongs to %s", "%s 已创建，归 %s 所有", filepath.Base(path), now[path])})
		}
	}
	f.there = now
}

// State records the state of a client: "waits", "holds" and so on. Two that hold
// the lock at once are a violation.
func (f *Film) State(client, state string, text language.Text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mark(film.Mark{Kind: "state", Who: client, State: state, Text: text})
	if state != "unlocks" { // until Unlock has returned the client holds the lock
		f.holds = slices.DeleteFunc(f.holds, func(c string) bool { return c == client })
	}
	if state != "holds" {
		return
	}
	if f.holds = append(f.holds, client); len(f.holds) > 1 {
		v := explore.Violation{Kind: explore.TwoHolders, Who: client, What: explore.AtOnce(f.holds)}
		f.mark(film.Mark{Kind: "violation", Violation: v.Kind, Who: v.Who, Text: v.What})
		if f.film.Violation == nil {
			f.film.Violation = &v
		}
	}
}

// Lost records that a holder has lost the lock, and whether the lock has notified
// it.
func (f *Film) Lost(client string, knows bool, token int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mark(film.Mark{Kind: "lost", Who: client, Knows: &knows, Token: token})
}

// Process records that a client's process is "stopped" or "runs on".
func (f *Film) Process(client, state string, text language.Text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mark(film.Mark{Kind: "client", Who: client, State: state, Text: text})
}

// Note records a remark.
func (f *Film) Note(who string, text language.Text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mark(film.Mark{Kind: "note", Who: who, Text: text})
}

// Compare ends the film, and compares it with the file in the repository; with
// EXHIBITS=write in the environment it is written there.
func (f *Film) Compare() {
	if f.t.Failed() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.film.End = time.Since(f.began) + latency
	for _, c := range f.film.Clients {
		var result language.Text
		for _, m := range f.film.Marks {
			if m.Kind == "state" && m.Who == c.Name && m.Text.En != "" {
				result = m.Text
			}
		}
		f.film.Results = append(f.film.Results, language.Say("%s: %s", "%s：%s", c.Name, result))
	}
	f.film.Seal()
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	require.NoError(f.t, encoder.Encode(f.film))
	// A line for each packet and mark.
	lines := strings.NewReplacer(`{"id":`, "\n{\"id\":", `{"at_ns":`, "\n{\"at_ns\":", `],"`, "],\n\"").Replace(text.String())
	file := filepath.Join(films, f.name+".json")
	if os.Getenv("EXHIBITS") == "write" {
		require.NoError(f.t, os.WriteFile(file, []byte(lines), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(f.t, err)
	require.Equal(f.t, string(want), lines, "%s; EXHIBITS=write go test -run %s writes it", file, f.t.Name())
}

// Names are the clients that have drawn the random texts of a film, such as the value of a
// lock's key.
type Names struct{ clients sync.Map }

// Drawn reports whether a word is a result of rand.Text, and notes which client has used it.
func (n *Names) Drawn(word, client string) bool {
	drawn := len(word) == 26 && strings.ToUpper(word) == word
	if drawn {
		n.clients.Store(word, client)
	}
	return drawn
}

// Client is the client that has drawn a word; "" if there is none.
func (n *Names) Client(word string) string {
	client, _ := n.clients.Load(word)
	name, _ := client.(string)
	return name
}
