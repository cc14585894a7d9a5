// Package player plays one schedule of a lock: the real lock, the real client
// library and the wire protocol, against the embedded server, in virtual time.
//
// [Play] plays a [World] and asks at each [Point] which action comes next. Package explore asks a search, and package
// film a person, or a seed that decides how long each packet takes. A [Camera] gets what a film needs.
//
// A [Player], w in the code (a World under way), has a [Client] c for each session, each with a [Line] l to the server,
// on which a [Frame] p is a packet. It has a [Contender] k for each goroutine that wants the lock. An action is a turn.
//
// The loop is in player.go, what can be chosen in action.go and fault.go, what a contender calls in calls.go, what is
// checked in check.go, and the hashes that a search needs in situation.go.
//
// # How a schedule works
//
// Each client has a line to the server, in memory, on which packets stay until the explorer delivers them, in order.
// Between two actions the explorer waits until every goroutine waits for something. Goroutines of one client that run
// at the same time may send their requests in any order; the explorer always puts them into the same one. Time passes
// when nothing else can happen, when a client reconnects, and, for a lock that uses a clock, before a session expires.
//
// # What is not a choice
//
//   - The order in which goroutines of one client run between two packets.
//   - A pause of a client between two of its requests, except for [Stop], [Stall] and a gap: a place in the lock's code
//     at which a goroutine stops, see [Subject].Begin.
//   - The effect of a ping: the line answers it.
//   - With World.Shared, which of two goroutines of a client gets the answer to which of two equal requests. Explore
//     such a world at random: depth first it may come to a schedule that does not repeat.
package player
