// Package explore plays every schedule of a lock within bounds: the real lock, the real client library and the wire
// protocol, against the embedded server, in virtual time. docs/explorer.md explains it to newcomers to model checking.
//
//	r := explore.Explore(t, player.World{Lock: steps.Predecessor(), Contenders: 3}, explore.Search{})
//	if r.Found != nil {
//		t.Error(r.Found) // a Trace: the shortest schedule that shows the violation
//	}
//
// A [player.World] is a lock (a [player.Subject]), contenders with a script each, and the faults that may happen.
// [Explore] goes through its schedules, depth first and complete, or at random from a seed, and returns a [Report]. A
// [player.Trace] is a schedule as data: the choices, and the log of all packets; it is read and written as JSON.
// [Replay] plays one again and fails if it does not repeat. [Play] plays a schedule as far as a person has chosen and
// returns the possible next choices, which a page or a grader needs. [Draw] plays a random one.
//
// This package searches. Package player plays one schedule; its doc says how that works. Package film makes a film of
// one, which the lab shows. Package steps has our locks as Subjects, and exploretest the flags and worlds of go test.
//
// A schedule runs in a testing/synctest bubble, so all functions need a *testing.T; outside of go test, testing.Main
// gives one. One search at a time runs in a process. Explore, player and film build for GOOS=js GOARCH=wasm.
package explore
