// Tests of the prover, which decides until when a session is safe: tables of instants, without a server. An instant is
// a part of the session timeout, T. proof.go says where the numbers come from.
//
//	sign, answered ── barrierAfter or more ──► barrier, answered ──► commit, answered
//	the session is safe until T after the sign was sent; after a write alone, for writeAlone
package client

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	whole = 48 * time.Second // T

	barrierAfter = 7. / 24                 // half a tick, which is T/4, and T/24 for a ping that is late
	roundEach    = barrierAfter / 2        // from one round to the next while a lock is held: each barrier is a sign, too
	writeAlone   = 1 - 1./3 - barrierAfter // T less the longest pauses before the write: of pings, and of reports
)

var zero = time.Unix(0, 0)

func at(part float64) time.Time { return zero.Add(time.Duration(part * float64(whole))) }

func part(t time.Time) float64 { return float64(t.Sub(zero)) / float64(whole) }

// An answered is a request with its answer.
type answered struct {
	by       answerer // any server for a read, the leader for a sync, a quorum for a write
	sent, at float64  // at: when it was answered
	waited   bool     // another request was under way when it was sent
}

// wrote(.3) was sent at .3 and answered at once. wrote(.3, .4) was answered at .4. The others are alike.
func wrote(at ...float64) answered   { return answered{aQuorum, at[0], at[len(at)-1], false} }
func synced(at ...float64) answered  { return answered{theLeader, at[0], at[len(at)-1], false} }
func didRead(at ...float64) answered { return answered{anyServer, at[0], at[len(at)-1], false} }

func (a answered) answer() answer {
	return answer{a.by, exchange{sent: at(a.sent), answered: at(a.at), first: !a.waited}}
}

// after returns a prover that is needed, and has noted some answers.
func after(all ...answered) *prover {
	p := &prover{timeout: whole, needed: true}
	for _, a := range all {
		p.note(a.answer())
	}
	return p
}

// The sign is any request, the barrier a sync or a write, and the commit a write. Where a row ends with writeAlone, the
// proof is not complete, and only the last write counts.
func TestTheOrderOfAProof(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     *prover
		until float64 // the session is safe
	}{
		{"sign, barrier and commit", after(wrote(0), synced(.3), wrote(.3)), 1},
		{"the sign may be a read", after(didRead(0), synced(.3), wrote(.3)), 1},
		{"the barrier may be a write", after(wrote(0), wrote(.3), wrote(.3)), 1},
		{"the barrier is not a read, which a follower that is cut off from the leader answers",
			after(wrote(0), didRead(.3), wrote(.31)), .31 + writeAlone},
		{"the commit is not a sync", after(wrote(0), synced(.3), synced(.3)), writeAlone},
		{"the commit follows the answer to the barrier", after(wrote(0), synced(.3, .35), wrote(.34, .36)), .34 + writeAlone},
		{"the barrier is sent barrierAfter after the answer to the sign, and not after its sending",
			after(wrote(0, .1), synced(.3), wrote(.3)), .3 + writeAlone},
		{"half a tick, .25, is not enough: a ping may be late", after(wrote(0), synced(.29), wrote(.29)), .29 + writeAlone},
		{"barrierAfter, which is .2917, is enough", after(wrote(0), synced(.292), wrote(.292)), 1},
		{"the safe time begins when the sign was sent", after(wrote(0, .1), synced(.4), wrote(.4)), 1},
		{"the first barrier after the sign counts", after(wrote(0), synced(.3), synced(.32, .4), wrote(.35, .41)), 1},
		{"the latest sign with a barrier counts", after(wrote(0), didRead(.1), synced(.4), wrote(.4)), 1.1},
		{"a hundred requests that follow the sign do not push it out", after(slices.Concat([]answered{wrote(0)},
			slices.Repeat([]answered{didRead(.1)}, 100), []answered{synced(.3), wrote(.3)})...), 1},
		{"the commit is the next sign", after(wrote(0), synced(.3), wrote(.3), synced(.6), wrote(.6)), 1.3},
		{"later writes do not put off the barrier", after(wrote(0), synced(.3), wrote(.3), wrote(.5), synced(.6), wrote(.6)), 1.3},
		{"an answer that is noted late takes nothing away", after(wrote(.05), wrote(0, .06)), .05 + writeAlone},
		{"a write alone adds nothing to a proof: the process may have been suspended between two pings",
			after(wrote(0), synced(.3), wrote(.3), wrote(.9)), 1},
	} {
		require.InDelta(t, c.until, part(c.p.safeUntil()), 1e-6, c.name)
	}
	p := after()
	for n := range 10 * mostSigns { // a server may answer reads without a quorum, for days
		p.note(didRead(float64(n)).answer())
	}
	require.Equal(t, mostSigns, len(p.signs))
}

// A session lasts if the next proof is complete before the safe time ends, and a quarter of T is left.
func TestASessionLastsIfTheNextProofIsInTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     *prover
		now   float64
		lasts bool
	}{
		{"a write makes it safe until .375, and a quarter is left", after(wrote(0)), .12, true},
		{"a quarter is not left", after(wrote(0)), .13, false},
		{"the next proof begins at .6 + barrierAfter, and takes two round trips of .01", after(wrote(0), synced(.6), wrote(.65, .66)), .66, true},
		{"it takes two of .07, and is complete after 1", after(wrote(0), synced(.6), wrote(.62, .69)), .69, false},
		{"a distant server, with a round trip of T/12 or more", after(wrote(0, .09)), .09, false},
		{"a server that was fast", after(wrote(0, .001), wrote(.01, .1)), .1, false},
		{"an answer that has waited for others", after(wrote(0, .001), answered{anyServer, .01, .1, true}), .1, true},
		{"an answer that has waited for others, and came soon", after(wrote(0, .09), answered{anyServer, .09, .1, true}), .1, true},
		{"a server that was slow", after(wrote(0, .09), wrote(.1)), .1, true},
		{"nothing was answered", after(), 0, false},
	} {
		require.Equal(t, c.lasts, c.p.lasts(at(c.now), c.p.safeUntil()), c.name)
	}
}

// The next round is due by what was answered, whether a lock is held, and when the last two rounds began.
func TestWhenTheNextRoundIsDue(t *testing.T) {
	const extend = writeAlone - barrierAfter // from a write to the one that extends what it says
	proof := []answered{wrote(0), synced(.3), wrote(.3)}
	proved := func(more ...answered) *prover { return after(append(proof, more...)...) }
	for _, c := range []struct {
		name          string
		p             *prover
		held          int     // locks
		before, round float64 // when the round before the last one began, and the last one; 0: none
		now, at       float64 // at: when the next one is due
		alone         bool    // it is a write alone
	}{
		{name: "nothing was answered: a write will be the sign", p: after(), now: .5, at: .5, alone: true},
		{name: "presumed: a write extends it, while barrierAfter is left", p: after(wrote(0)), held: 1, at: extend, alone: true},
		{name: "presumed: and another one", p: after(wrote(0), wrote(.08)), held: 1, now: .1, at: .08 + extend, alone: true},
		{name: "presumed: then the barrier of the first",
			p: after(wrote(0), wrote(.08), wrote(.16)), held: 1, now: .2, at: barrierAfter},
		{name: "presumed: far away, one more write, since the proof takes two round trips",
			p: after(wrote(0, .02), wrote(.16, .19)), held: 1, now: .2, at: .16 + extend, alone: true},
		{name: "presumed: none that puts off the barrier",
			p: after(wrote(0, .06), wrote(.22, .28)), held: 1, now: .28, at: .06 + barrierAfter},
		{name: "presumed: the commit is missing", p: after(wrote(0), synced(.3)), now: .31, at: .31, alone: true},
		{name: "presumed: the commit is missing, though a later sign has no barrier",
			p: after(wrote(0), didRead(.05), synced(.3)), now: .31, at: .31, alone: true},
		{name: "held: roundEach, and a write alone if no sign has waited long enough",
			p: proved(), held: 1, round: .3, now: .3, at: .3 + roundEach, alone: true},
		{name: "held: the barrier is that of the round before the last",
			p: proved(wrote(.4)), held: 1, before: .32, round: .4, now: .5, at: .32 + barrierAfter},
		{name: "held: a busy client needs no round before the sign of its last proof, .3, is three rounds old",
			p: proved(wrote(.6), wrote(.6)), held: 1, now: .6, at: .3 + 3*roundEach, alone: true},
		{name: "not held: each third of T", p: proved(), round: .3, now: .3, at: .3 + 1./3},
		{name: "not held: half of T before the proof ends", p: proved(wrote(.6), wrote(.6)), now: .6, at: 1.3 - .5, alone: true},
		{name: "a round that is overdue is due now", p: proved(), round: .3, now: .9, at: .9},
	} {
		c.p.held = c.held
		c.p.roundBefore, c.p.lastRound = synced(c.before).answer().exchange, synced(c.round).answer().exchange
		due, alone := c.p.next(at(c.now))
		require.InDelta(t, c.at, part(due), 1e-6, c.name)
		require.Equal(t, c.alone, alone, c.name)
	}
}

// Nobody needed the session for a while, and an old proof says that it is safe until 1. Then a lease begins. Its first
// proof begins with the last request. The old proof counts if the next one can be complete T/12 before 1: if the last
// request was answered by 1 - 1/12 - barrierAfter = .625. Otherwise one late answer would lose the lease.
func TestAnOldProofDoesNotCountIfTheNextIsHardlyInTime(t *testing.T) {
	for _, c := range []struct {
		last, until, due float64 // when the last request was answered; until when the session is safe; the next round
	}{
		{last: .6, until: 1, due: .6 + roundEach},     // the old proof counts, and the last request is a round
		{last: .65, until: .3 + writeAlone, due: .65}, // the old proof does not count: a write is due at once
		{last: .7, until: .3 + writeAlone, due: .7},
	} {
		p := after(wrote(0), synced(.3), wrote(.3))
		require.False(t, p.need(false))
		p.note(didRead(c.last).answer())
		p.held, p.roundBefore = 1, synced(.55).answer().exchange // need forgets this round, which would put off the next
		require.True(t, p.need(true), "rounds begin")
		require.InDelta(t, c.until, part(p.safeUntil()), 1e-6, "%v", c)
		due, _ := p.next(at(c.last))
		require.InDelta(t, c.due, part(due), 1e-6, "%v", c)
		p.note(wrote(c.last + .08).answer())
		require.InDelta(t, c.last, part(p.signs[0].sent), 1e-6, "the write puts off the next proof")

		require.False(t, p.need(false))
		p.note(wrote(.9).answer()) // hardly anything is left of the old proof
		require.True(t, p.need(true), "rounds begin again")
		require.InDelta(t, .9+writeAlone, part(p.safeUntil()), 1e-6)
	}
}

// Another lock that begins to need an old proof takes nothing from it as long as an earlier lease needs it, too.
func TestAnotherLeaseTakesNothingFromTheProof(t *testing.T) {
	p := after(wrote(0), synced(.3), wrote(.3), synced(.9), wrote(.95)) // needed already
	require.False(t, p.need(true), "the rounds go on")
	require.InDelta(t, 1.3, part(p.safeUntil()), 1e-6)
}
