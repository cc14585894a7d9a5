package guide

import (
	_ "embed"
	"strings"
	"time"

	"example.com/zklock/internal/lab/locks"
)

// A moment is what the reader shows for a phrase of an article: lines of the code, and an instant of a run. TestMoments
// compares it with the films. In moments.txt it is a row, with tabs between the cells (» here). = names a place:
//
//	= oneEvent » zkserver/watch.go fire | c.sendEventLocked(event, path)
//	Watcher(事件监听器) » naive » 234ms » A delete » 01-naive-ephemeral/lock.go waitForRelease » oneEvent
type moment struct {
	phrase string
	// scene is the name of a lock or of a bug, whose story is played, or of one of ownScenes; "" is an empty stage.
	scene string
	at    time.Duration // 0: where the story quotes the phrase, at one of its stops
	event string        // what happens just then, in the words of lastEvent in the test: "A delete", "B holds"
	code  []place
}

// A place is something to show. In a Go file, the name is that of a function, a type, a constant or a variable;
// in a page, that of a heading, whose first block of code is shown. Without a name, file is a picture or a section.
type place struct {
	file, name string
	marks      []string // each is a part of the line to mark, or "first … last" of several lines
}

const (
	step1 = "01-naive-ephemeral/lock.go"
	step2 = "02-herd-effect/lock.go"
	step3 = "03-sequential-predecessor/lock.go"
	step4 = "04-reentrant/lock.go"
	step5 = "05-timeout/lock.go"

	listings = "internal/bugs/listings/"
)

// ownScenes are the addresses of the scenes without a lock's story. do=120ms.B.cut cuts B's connection at 120 ms.
var ownScenes = map[string]string{
	"herd beside chain":                   locks.Opening.String(),
	"a lock in a lock":                    locks.Openings[1].Address.String(),
	"zklock, and C's session ends":        "#lock=zklock&n=3&latency=20&seed=1&do=180ms.C.expire",
	"step 5 is cut off before its reply":  "#lock=timeout&n=3&latency=20&seed=1&do=120ms.B.cut",
	"twenty contenders of the naive lock": "#lock=naive&n=20&latency=20&seed=1",
	"step 3 makes the parents":            "#lock=predecessor&n=2&mode=schedule&missing=1&choices=A:+request,A:+request,A:+request,A:+request",
	"D's first lock, and a session ends":  "#lock=D2&n=3&latency=20&seed=1&do=180ms.B.expire",
}

//go:embed moments.txt
var momentsText string

var moments = readMoments(momentsText) // in the order of the guide

func readMoments(text string) (all []moment) {
	named := make(map[string]place) // places that several moments have
	parsePlace := func(cell string) place {
		if p, ok := named[cell]; ok {
			return p
		}
		parts := strings.Split(cell, " | ")
		file, name, _ := strings.Cut(parts[0], " ")
		return place{file: file, name: name, marks: parts[1:]}
	}
	for line := range strings.Lines(text) {
		cells := append(strings.Split(strings.TrimSpace(line), "\t"), "", "", "") // at least four: a row may end early
		if name, ok := strings.CutPrefix(cells[0], "= "); ok {
			named[name] = parsePlace(cells[1])
			continue
		}
		if cells[0] == "" || strings.HasPrefix(line, "# ") {
			continue
		}

		m := moment{phrase: cells[0], scene: cells[1], event: cells[3]}
		if cells[2] != "" {
			var err error
			if m.at, err = time.ParseDuration(cells[2]); err != nil {
				panic(err)
			}
		}
		for _, cell := range cells[4:] { // the places
			if cell != "" {
				m.code = append(m.code, parsePlace(cell))
			}
		}
		all = append(all, m)
	}
	return all
}

var nothingToSee = map[string]locks.Text{ // why there is nothing, by the phrase
	"悲观锁使用不当还可能产生死锁的情况": "Nothing is to be seen here: a scene of the lab has one lock, and a deadlock needs two.",
	"TreeCache 订阅的代码在源码工程中已经被注释": "Nothing is to be seen here: " +
		"no lock of this project keeps a copy of the tree, and the article's own lines are a comment.",
	"// 这里行使@Test会报错": "Nothing is to be seen here: the test ends the article's program, and the lock has no part in it.",
}
