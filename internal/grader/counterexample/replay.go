package counterexample

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

// ReplayArg is the argument of a program that calls Serve: it plays answers, which are schedules of the lab, and ends.
const ReplayArg = "replay"

// A Line of Serve's output is an answer that was played.
type Line struct {
	Number int    `json:"number"`
	Played Result `json:"played"`
}

// A Process has called Serve, and has ended.
type Process struct {
	Out, Said  string    // its standard output and its errors
	Ended      error     // how it has ended
	CannotGoOn i18n.Text // why no other process can run; empty if one can
}

// Replay plays answers in processes. run starts one that calls Serve, with the question as its input, and waits for its
// end. A listing may end its process: then the answers after it are played in another. why is empty if all were played.
func Replay(answers map[int]string, run func(question []byte) (Process, error)) (
	played map[int]Result, why i18n.Text, err error) {
	played = make(map[int]Result)
	for left := maps.Clone(answers); len(left) > 0; {
		question, _ := json.Marshal(left) // strings, by number: they can be encoded
		p, err := run(question)
		if err != nil {
			return nil, "", err
		}
		for line := range strings.Lines(p.Out) {
			var l Line
			if json.Unmarshal([]byte(line), &l) != nil {
				continue // the testing package has printed it
			}
			if _, asked := left[l.Number]; asked {
				played[l.Number] = l.Played
				delete(left, l.Number)
			}
		}
		if p.CannotGoOn.String() != "" {
			return played, p.CannotGoOn, nil
		}
		if len(left) > 0 { // the process has ended at the first of them
			first := slices.Min(slices.Collect(maps.Keys(left)))
			played[first] = Result{Words: i18n.Textf("the schedule ends the lab's engine (%s): choose another way to the goal",
				ending(p.Said, p.Ended))}
			delete(left, first)
		}
	}
	return played, "", nil
}

// ending says in one line how a process has ended, from its errors and its exit status.
func ending(said string, status error) string {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return fmt.Sprint(status)
}

// Serve plays the answers that Replay has sent, and exits. If args are not for it, it returns at once.
func Serve(args []string) {
	if len(args) != 1 || args[0] != ReplayArg {
		return
	}
	answers := make(map[int]string)
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		fmt.Fprintln(os.Stderr, "exercises: replay:", err)
		os.Exit(2)
	}
	play := func(t *testing.T) { // a schedule is played in a test
		for _, n := range slices.Sorted(maps.Keys(answers)) {
			if err := json.NewEncoder(os.Stdout).Encode(Line{n, Play(t, n, answers[n])}); err != nil {
				t.Fatal(err)
			}
		}
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: ReplayArg, F: play}}, nil, nil)
}

// Run is the test of the exercise's folder: it judges the answers in a file, a case each.
func Run(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	played := make(map[int]Result)
	for _, task := range locks.Tasks {
		played[task.Number] = Play(t, task.Number, answers[task.Number])
	}
	for _, c := range Cases() {
		t.Run(c.Name.String(), func(t *testing.T) {
			if words := c.Words(played[c.Number]); words.String() != "" {
				t.Error(words.In(i18n.Of("")))
			}
		})
	}
}
