// Package player plays one schedule of a lock: the real lock, the real client
// library and the wire protocol, against the embedded server, in virtual time.
//
// [Play] plays a [World] and asks at each [Point] which action comes next. Package explore asks a search, and package
// film a person, or a seed that decides how long each packet takes. A [Camera] gets what a film needs.
//
// A [Player] has a [Client] for each session, each with a [Line] to the server, on which a [Frame] is a packet, and a
// [Contender] for each goroutine that wants the lock. In the code they are w (a World under way), c, l, p and k.
//
// The loop is in player.go, what can be chosen in action.go and fault.go, what a contender calls in calls.go, what is
// checked in check.go, and the hashes that a search needs in situation.go.
//
// # How a schedule works
//
// Each client has a line to the server, in memory, on which packets stay until the explorer delivers them, in order.
// Between two actions the explorer waits until every goroutine waits for something. Goroutines of one client that run
// at the same time may send their requests in any order; the explorer always puts them into the same one. Time passes
// only when nothing else can happen, when a client reconnects, and when a session expires of a lock that uses a clock.
//
// # What is not a choice
//
//   - The order in which goroutines of one client run between two packets.
//   - A pause of a client between two of its requests, except for [Stop],
//     [Stall] and the gaps of [Subject].Begin.
//   - The effect of a ping: the line answers it.
//   - With World.Shared, which of two goroutines of a client gets the answer to
//     which of two equal requests. Explore such a world at random: depth first
//     it may come to a schedule that does not repeat.
package player
