// Package explore plays every schedule of a lock within bounds: the real lock,
// the real client library and the wire protocol, against the embedded server,
// in virtual time. docs/explorer.md explains it to readers who have never heard
// of model checking.
//
//	r := explore.Explore(t, explore.World{Lock: steps.Predecessor(), Contenders: 3}, explore.Search{})
//	if r.Found != nil {
//		t.Error(r.Found) // a Trace: the shortest schedule that shows the violation
//	}
//
// A [World] is a lock (a [Subject]), contenders with a script each, and the
// faults that may happen. [Explore] goes through its schedules, depth first and
// complete, or at random from a seed, and returns a [Report]. A [Trace] is a
// schedule as data: the choices, and the log of all packets; it is read and
// written as JSON. [Replay] plays one again and fails if it does not repeat.
// [Play] plays a schedule as far as a person has chosen and says what can be
// chosen next, which is what a page or a grader needs. [Draw] plays a random one.
//
// A [Film] is a schedule as something to look at: [PlayFilm] and [FilmOf] make
// one of choices, and [Paced] of a run in which nobody chooses, because each
// packet takes a while that a seed draws. The lab (docs/lab) shows films.
//
// A schedule runs in a testing/synctest bubble, so all functions need a
// *testing.T; outside of go test, testing.Main gives one. One search at a time
// runs in a process. The package builds for GOOS=js GOARCH=wasm. Package
// exploretest has the flags and the worlds of go test, package steps shows the
// locks of this project to the explorer.
//
// # How a schedule is held together
//
// Each client has a line to the server, in memory, on which packets stay until
// the explorer delivers them, in order. Between two actions the explorer waits
// until every goroutine waits for something. Goroutines of one client that run
// at the same time may send their requests in any order; the explorer always
// puts them into the same one. Time passes only when nothing else can happen,
// when a client reconnects, and when a session of a lock that looks at the
// clock expires.
//
// # What is not a choice
//
//   - The order in which goroutines of one client run between two packets.
//   - A pause of a client between two of its requests, except for [Stop],
//     [Stall] and the gaps of [Subject].Begin.
//   - What a ping does: the line answers it.
//   - With World.Shared, which of two goroutines of a client gets the answer to
//     which of two equal requests. Explore such a world at random: depth first
//     it may come to a schedule that does not repeat.
package explore
