package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/docs/lab/nodetest"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
)

// recorded runs the benchmark with -record and returns the film and the row.
func recorded(t *testing.T, args ...string) (status int, f film.Film, row report.Run, stderr string) {
	t.Helper()
	dir := t.TempDir()
	file, table := filepath.Join(dir, "film.json"), filepath.Join(dir, "out.json")
	status, _, stderr = bench(t, append([]string{"-record", file, "-json", table}, args...)...)
	rows := written[[]report.Run](t, table)
	require.Len(t, rows, 1)
	return status, written[film.Film](t, file), rows[0], stderr
}

// checkRecorded returns the faults of a film that was recorded without
// faults.
func checkRecorded(f film.Film, row report.Run) error {
	var sent time.Duration
	var requests, events, wakeups int64
	replies := make(map[int]bool)
	for i, p := range f.Packets {
		switch {
		case p.ID != i+1 || p.Sent < sent:
			return fmt.Errorf("packet %d leaves at %v, after %v", p.ID, p.Sent, sent)
		case p.Arrived < p.Sent || p.Arrived > f.End:
			return fmt.Errorf("packet %d arrives at %v, and leaves at %v", p.ID, p.Arrived, p.Sent)
		}
		sent = p.Sent
		switch p.Kind {
		case "request":
			requests++
		case "event":
			events++
		case "reply":
			if p.Of < 1 || p.Of >= p.ID || replies[p.Of] {
				return fmt.Errorf("reply %d answers packet %d", p.ID, p.Of)
			}
			replies[p.Of] = true
			if of := f.Packets[p.Of-1]; of.Kind != "request" || of.Client != p.Client || of.Arrived != p.Sent {
				return fmt.Errorf("reply %d does not leave when request %d arrives", p.ID, p.Of)
			}
		}
	}
	var at time.Duration
	nodes, watches := make(map[string]bool), make(map[string]bool)
	holder := ""
	for _, m := range f.Marks {
		if m.At < at || m.At > f.End {
			return fmt.Errorf("a mark at %v comes after one at %v", m.At, at)
		}
		at = m.At
		switch m.Kind {
		case "node":
			if nodes[m.Path] == *m.Made {
				return fmt.Errorf("made %v, twice: %s", *m.Made, m.Path)
			}
			nodes[m.Path] = *m.Made
		case "watch":
			k := m.Client + m.Path + m.Of
			if watches[k] == *m.Set {
				return fmt.Errorf("set %v, twice: %s", *m.Set, k)
			}
			watches[k] = *m.Set
		case "wakeup":
			wakeups++
		case "state":
			switch {
			case m.State == "holds" && holder != "":
				return fmt.Errorf("%s holds the lock while %s does", m.Who, holder)
			case m.State == "holds":
				holder = m.Who
			case m.Who == holder:
				holder = ""
			}
		}
	}
	if requests != row.Requests || events != row.WatchEvents || wakeups != row.WakeUps ||
		int64(f.Counters.Requests) != requests || int64(f.Counters.Events) != events || int64(f.Counters.Wakeups) != wakeups {
		return fmt.Errorf("the film has %d requests, %d events and %d wake-ups, %+v; the table %d, %d and %d",
			requests, events, wakeups, f.Counters, row.Requests, row.WatchEvents, row.WakeUps)
	}
	if len(f.Results) != row.Goroutines {
		return fmt.Errorf("the film has %d results", len(f.Results))
	}
	return nil
}

func TestARecordingIsAFilm(t *testing.T) {
	beside(t)
	for _, lock := range []string{"naive", "herd", "predecessor", "reentrant", "timeout", "zklock"} {
		for _, sessions := range []string{"1", "3", "12"} {
			t.Run(lock+" over "+sessions, func(t *testing.T) {
				beside(t)
				status, f, row, stderr := recorded(t, "-locks", lock, "-n", "12", "-sessions", sessions)
				require.Zero(t, status, stderr)
				require.NoError(t, checkRecorded(f, row))
				require.True(t, f.Recorded)
				require.Contains(t, f.Server, "estimates")
				require.Equal(t, lock, f.Lock)
				require.Len(t, f.Clients, row.Sessions)
				require.Nil(t, f.Violation)
				for _, r := range f.Results {
					require.Contains(t, r, "has unlocked")
				}
			})
		}
	}
}

// A broken recording is found: each of these changes makes checkRecorded fail.
func TestAWrongRecordingIsFound(t *testing.T) {
	untried(t)
	srv, addr := listen(t)
	var once sync.Once
	set(t, &meet, func() { // the first holder waits for the others, so that there are events
		once.Do(func() { waitFor(t, "contenders that wait", func() bool { return len(srv.Watches()) == 2 }) })
	})
	_, f, row, stderr := recorded(t, "-zk", addr, "-warmup", "0s", "-locks", "predecessor", "-n", "3")
	require.NoError(t, checkRecorded(f, row), stderr)
	text, err := json.Marshal(f)
	require.NoError(t, err)
	first := func(f *film.Film, kind string) int {
		for i, p := range f.Packets {
			if p.Kind == kind {
				return i
			}
		}
		t.Fatalf("there is no %s", kind)
		return 0
	}
	for name, change := range map[string]func(f *film.Film){
		"a reply leaves too early":     func(f *film.Film) { f.Packets[first(f, "reply")].Sent-- },
		"a request arrives too early":  func(f *film.Film) { f.Packets[0].Arrived = f.Packets[0].Sent - 1 },
		"an event is missing":          func(f *film.Film) { f.Packets[first(f, "event")].Kind = "note" },
		"a request is counted too few": func(f *film.Film) { f.Counters.Requests-- },
		"two hold the lock": func(f *film.Film) {
			for i, m := range f.Marks {
				if m.State == "unlocks" || m.State == "done" {
					f.Marks[i].Who = "nobody"
				}
			}
		},
	} {
		var broken film.Film
		require.NoError(t, json.Unmarshal(text, &broken))
		change(&broken)
		require.Error(t, checkRecorded(broken, row), name)
	}
}

func TestARecordingShowsTwoHolders(t *testing.T) {
	letsTwoIn(t, "none")
	status, f, row, _ := recorded(t, "-locks", "none", "-n", "2", "-warmup", "0s")
	require.Equal(t, exitFailure, status)
	require.NotNil(t, f.Violation)
	require.Equal(t, explore.TwoHolders, f.Violation.Kind)
	require.ErrorContains(t, checkRecorded(f, row), "holds the lock while")
}

func TestWhatCannotBeRecordedIsRefusedFirst(t *testing.T) {
	for _, c := range [][]string{
		{"-n", "101", "-locks", "predecessor"},
		{"-n", "10"},
		{"-n", "10,20", "-locks", "herd"},
		{"-n", "10", "-locks", "herd", "-rounds", "2"},
		{"-n", "10", "-locks", "sqlrow"},
	} {
		file := filepath.Join(t.TempDir(), "film.json")
		status, _, stderr := bench(t, append([]string{"-record", file}, c...)...)
		require.Equal(t, exitUsage, status, "%q", c)
		oneLine(t, stderr, "-record: ")
		require.NoFileExists(t, file)
	}
}

// TestARecordingPlaysInThePage lets the page's own module make its index.
func TestARecordingPlaysInThePage(t *testing.T) {
	beside(t)
	file := filepath.Join(t.TempDir(), "film.json")
	status, _, stderr := bench(t, "-record", file, "-locks", "herd", "-n", "7", "-sessions", "7")
	require.Zero(t, status, stderr)
	f := written[film.Film](t, file)
	got := nodetest.Ask[struct {
		Most, Done, Requests, Leaves int
		Flying                       bool
	}](t, "../docs/lab/page", nil, written[json.RawMessage](t, file), `
import { indexFilm, stateAt, packetsIn, makeClock } from "./film.js";
const F = indexFilm(asked), clock = makeClock([F]);
const holders = t => stateAt(F, t).units.filter(u => u.state === "holds").length;
let most = 0, flying = 0;
for (const t of clock.instants) { most = Math.max(most, holders(t)); flying += packetsIn(F, t, t).length; }
const last = stateAt(F, F.end);
const answer = { most, flying: flying > 0, done: last.units.filter(u => u.state === "done").length, requests: last.requests, leaves: F.leaves.length };`)
	require.Equal(t, 1, got.Most, "one at a time")
	require.True(t, got.Flying)
	require.Equal(t, 7, got.Done)
	require.Equal(t, f.Counters.Requests, got.Requests)
	require.Equal(t, 7, got.Leaves)
}
