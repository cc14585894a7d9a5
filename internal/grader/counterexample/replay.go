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
)

// ReplayArg is in the place of a command of a process that plays links, by Serve.
const ReplayArg = "replay"

// A Line of the output of that process is an answer that was played.
type Line struct {
	Number int    `json:"number"`
	Played Result `json:"played"`
}

// A Process is such a process that has ended.
type Process struct {
	Out, Said string // its standard output and its errors
	Ended     error
	Over      i18n.Text // why no other can run
}

// Replay plays answers in processes that run starts: its argument is their input. A listing may end
// its process; then the answers after it are played in another. Why says why not all were played.
func Replay(answers map[int]string, run func(question []byte) (Process, error)) (
	played map[int]Result, why i18n.Text, err error) {
	played = make(map[int]Result)
	for rest := maps.Clone(answers); len(rest) > 0; {
		question, err := json.Marshal(rest)
		if err != nil {
			return nil, i18n.Text{}, err
		}
		p, err := run(question)
		if err != nil {
			return nil, i18n.Text{}, err
		}
		for line := range strings.Lines(p.Out) {
			var l Line
			if json.Unmarshal([]byte(line), &l) != nil {
				continue // of the testing package
			}
			if _, asked := rest[l.Number]; asked {
				played[l.Number] = l.Played
				delete(rest, l.Number)
			}
		}
		if p.Over.En != "" {
			return played, p.Over, nil
		}
		if len(rest) > 0 { // it has ended at the first of them
			first := slices.Min(slices.Collect(maps.Keys(rest)))
			played[first] = Result{Words: i18n.Textf(
				"the schedule ends the lab's engine (%s): choose another way to the goal", "这个调度让实验室的引擎中止了（%s）：请换一条路到达目标", ending(p.Said, p.Ended))}
			delete(rest, first)
		}
	}
	return played, i18n.Text{}, nil
}

// ending says how a process has ended, in one line.
func ending(said string, err error) string {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return fmt.Sprint(err)
}

// Serve is the other side of Replay. It returns only if there is nothing to do.
func Serve(args []string) {
	if len(args) != 1 || args[0] != ReplayArg {
		return
	}
	answers := make(map[int]string)
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		fmt.Fprintln(os.Stderr, "exercises: replay:", err)
		os.Exit(2)
	}
	play := func(t *testing.T) { // a schedule needs a test
		for _, n := range slices.Sorted(maps.Keys(answers)) {
			line, err := json.Marshal(Line{n, Play(t, n, answers[n])})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s\n", line)
		}
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: ReplayArg, F: play}}, nil, nil)
}
