package client

import (
	"slices"
	"time"
)

// A prover knows until when the client's session is safe. It has no clock and sends nothing: all
// that it knows are its arguments, an answer or the present time. All locks of the client that
// have the same session timeout share it, so that a hundred of them cost as many proofs as one.
//
// # The proof
//
// Only the leader ends a session: when it has had no sign of it for the session timeout, T. A follower reports to the
// leader the sessions from which it has had a request. A follower that is cut off from the leader goes on answering
// reads, and a leader that is cut off from a quorum goes on answering syncs. So no single answer shows what has been
// reported to the leader. Three answered requests together do:
//
//   - The sign, any request. The follower has received it.
//   - The barrier, a sync or a write, sent at least 7/24 T after the sign was answered. The leader pings each follower
//     every half tick, so in that time it has sent at least one ping, and the follower has replied with its sessions,
//     that of the sign among them. The leader's messages to a follower keep their order, so the follower replied to
//     that ping before it passed on the answer to the barrier.
//   - The commit, a write, sent after the barrier was answered. The follower's messages to the
//     leader keep their order, too, so the commit came after the reply: the leader had the report
//     of the sign when it handled the commit. The answer came through a quorum, so this leader
//     had not been replaced. A later leader gives each session T from its own start.
//
// So the session lives until T after the sign was sent. If the client has changed servers in between, the new server
// has asked the leader for the session, which is a sign of it, too, and a later one. Half a tick is at most T/4,
// because a server by default agrees to no less than two ticks; the other 1/24 T is for a ping that is late.
//
// While a lock is held, there is a round of a barrier and a commit each 7/48 T. Two rounds are 7/24 T, so the barrier
// is the sign of the round after the next:
//
//	round 1, at 0        its barrier is the sign of round 3
//	round 2, at 7/48 T   its barrier is the sign of round 4
//	round 3, at 14/48 T  completes the proof by the sign at 0: the session is safe until T
//	round 4, at 21/48 T  completes the next proof
//
// So the sign of the last proof is at most 21/48 T = 7/16 T old. No other order of as many requests does better: a
// write is needed for each proof, because only for a write does the leader look whether it has begun to end the
// session. While locks are only waited for, there is a round each third of T.
//
// An observer behind an observer master reports a whole tick late. There the proof needs T to be at least four ticks.
//
// The commit of a round is a multi with one check (see probe in rounds.go). A write that is refused proves nothing if
// one server may refuse it alone (see answersOfOneServer in errors.go).
//
// # Before the first proof
//
// A session is then only presumed to live, for 3/8 T after a write was sent. The leader has carried out the write, so
// the session lived. The leader's last sign of it was no older than the pause between two pings of the client, T/3, and
// the one between two reports of the follower, at most 7/24 T, together. T − T/3 − 7/24 T = 3/8 T. Until the barrier is
// due, writes alone, at T/12 and at T/6, extend that time (see nextWhilePresumed).
//
// What outages a lease outlasts with it is in docs/production.md.
type prover struct {
	timeout     time.Duration // T, of the session; 0 before the first answer
	needed      bool          // somebody needs the session to be safe
	held        int           // locks
	roundTrip   time.Duration // to the server takes at most this, by the last measurement
	signs       []sign        // in the order in which they were sent, without those of complete proofs
	lastRound   exchange      // the first request of the last round, or the one that counts as such
	roundBefore exchange      // the same of the round before
	proved      time.Time     // until when the session is safe, by a proof
	presumed    time.Time     // the same by a write, before there was a valid proof
}

// An answerer is the server whose answer a request needs.
type answerer int

const (
	anyServer answerer = iota // of a read
	theLeader                 // of a sync
	aQuorum                   // of a write, even of one that fails
)

type answer struct {
	by answerer
	exchange
}

// An exchange is a request with its answer.
type exchange struct {
	sent, answered time.Time
	first          bool // no other request was under way when it was sent
}

// A sign may become that of a proof.
type sign struct {
	exchange
	barrier time.Time // when that was answered; zero: it was not
}

// isOpen reports whether the barrier is missing.
func (s sign) isOpen() bool { return s.barrier.IsZero() }

// mostSigns is how many signs are remembered: one of each 48th of T, so those of the last T.
const mostSigns = 48

// betweenPings is how long the leader takes at most from one ping to the next.
func (p *prover) betweenPings() time.Duration { return p.timeout * 7 / 24 }

// isFar reports whether the server is too far away for a lease.
func (p *prover) isFar() bool { return p.roundTrip >= p.timeout/12 }

func (p *prover) isPresumed() bool     { return !p.proved.After(p.presumed) }
func (p *prover) safeUntil() time.Time { return later(p.presumed, p.proved) }

func (p *prover) isBarrier(a answer, s sign) bool {
	return a.by >= theLeader && s.isOpen() && !a.sent.Before(p.barrierDue(s))
}

func (p *prover) isCommit(a answer, s sign) bool {
	return a.by == aQuorum && !s.isOpen() && !a.sent.Before(s.barrier)
}

// note learns an answer: how far away the server is, and what the answer proves. It may be the commit of one sign, the
// barrier of others, and a sign itself.
func (p *prover) note(a answer) {
	if took := a.answered.Sub(a.sent); a.first || took < p.roundTrip {
		p.roundTrip = took // any other may have waited for those in front of it
	}
	until := a.sent.Add(p.timeout * 3 / 8) // see "Before the first proof" above
	if a.by == aQuorum && (!p.needed || p.isPresumed()) && until.After(p.presumed) {
		p.presumed = until
	}
	if !p.needed { // no proof is under way
		p.signs = nil
	}

	for i, s := range slices.Backward(p.signs) {
		if p.isCommit(a, s) {
			p.proved = s.sent.Add(p.timeout)
			p.signs = slices.Delete(p.signs, 0, i+1) // earlier ones would prove less
			break
		}
	}
	for i, s := range p.signs {
		if p.isBarrier(a, s) {
			p.signs[i].barrier = a.answered
		}
	}

	n := len(p.signs)
	if n > 0 && a.sent.Sub(p.signs[n-1].sent) < p.timeout/mostSigns {
		return // the last sign is as good
	}
	if n == mostSigns {
		p.signs = p.signs[1:]
	}
	p.signs = append(p.signs, sign{exchange: a.exchange})
}

// forget drops what was learnt of another session, or by another session timeout.
func (p *prover) forget() { p.signs, p.proved, p.presumed = nil, time.Time{}, time.Time{} }

// need learns whether somebody needs the session to be safe, and reports whether the rounds begin. If an earlier proof
// may run out before the next one is complete then, because an answer may be late, it no longer counts.
func (p *prover) need(needed bool) (begins bool) {
	begins, p.needed = needed && !p.needed, needed
	if !begins {
		return false
	}

	p.lastRound, p.roundBefore = exchange{}, exchange{}
	if n := len(p.signs); n > 0 {
		p.lastRound = p.signs[n-1].exchange
	}
	if next := p.lastRound.answered.Add(p.betweenPings()); p.proved.Before(next.Add(p.timeout / 12)) {
		p.proved = time.Time{}
	}
	return true
}

// lasts reports whether a session that is safe until then stays safe until the next proof, if
// each of its requests takes one round trip, and for a quarter of T at least. If a thousand
// others are in front of them, the lease may be lost early, but ends no later than the session.
func (p *prover) lasts(now, until time.Time) bool {
	next, alone := p.next(now)
	if alone && !p.isPresumed() && p.signs[0].isOpen() {
		next = later(next, p.barrierDue(p.signs[0]))
	}
	proofComplete := next.Add(2 * p.roundTrip)
	return !p.isFar() && proofComplete.Before(until) && !isOver(until.Add(-p.timeout/4), now)
}

// barrierDue returns the earliest time at which a request may be the barrier of a sign.
func (p *prover) barrierDue(s sign) time.Time { return s.answered.Add(p.betweenPings()) }

// next returns when the next round is due, and whether it is a write alone: it is if there is no sign for a barrier.
// Other requests of the client may have completed a proof meanwhile, which puts the round off.
func (p *prover) next(now time.Time) (at time.Time, alone bool) {
	lastSign := p.proved.Add(-p.timeout) // when the sign of the last proof was sent
	switch {
	case len(p.signs) == 0:
		return now, true // the write will be a sign
	case p.isPresumed():
		return p.nextWhilePresumed(now)
	case p.held > 0:
		at = later(p.lastRound.sent.Add(p.betweenPings()/2), p.roundBefore.answered.Add(p.betweenPings()))
		at = later(at, lastSign.Add(p.timeout*7/16))
	default:
		at = later(p.lastRound.answered.Add(p.timeout/3), lastSign.Add(p.timeout/2))
	}
	at = later(at, now)
	needsBarrier := func(s sign) bool { return s.isOpen() && !p.barrierDue(s).After(at) }
	return at, !slices.ContainsFunc(p.signs, needsBarrier)
}

// nextWhilePresumed is next while the session is only presumed to live. If only the commit is missing, it is due at
// once. Otherwise the barrier is next, or before it a write alone, if the proof would be late without that.
func (p *prover) nextWhilePresumed(now time.Time) (at time.Time, alone bool) {
	if !p.signs[0].isOpen() {
		return now, true // the write is the commit
	}
	barrier := p.barrierDue(p.signs[0])
	proofComplete := barrier.Add(2 * p.roundTrip)
	renewal := later(p.presumed.Add(-p.betweenPings()), now) // 7/24 T of the presumed time are left
	proofIsLate := renewal.Add(p.timeout / 12).Before(proofComplete)
	answeredInTime := !renewal.Add(p.roundTrip).After(barrier)
	if proofIsLate && answeredInTime {
		return renewal, true
	}
	return barrier, false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isOver reports whether a time has come, by the clock that stops while the machine is suspended, or by the wall clock.
func isOver(t, now time.Time) bool { return !now.Before(t) || !now.Round(0).Before(t.Round(0)) }
