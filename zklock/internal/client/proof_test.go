// Tests of the prover, which decides until when a session is safe: tables of instants, without a server. proof.go says
// why, and where the numbers come from: a barrier 7/24 T after the sign, a round each 7/48 T, and 3/8 T after a write.
package client

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// whole is the session timeout of these tests, T. Their instants are parts of it: .5 is half a T after zero.
const whole = 48 * time.Second

var zero = time.Unix(0, 0)

func at(part float64) time.Time { return zero.Add(time.Duration(part * float64(whole))) }

func part(t time.Time) float64 { return float64(t.Sub(zero)) / float64(whole) }

// An answered is a request, by what answers it, when it was sent and when it was answered.
type answered struct {
	by       answerer
	sent, at float64
}

// These requests are sent at the first instant, and answered at the last one: wrote(.3) is answered at once.
func wrote(at ...float64) answered   { return answered{aQuorum, at[0], at[len(at)-1]} }
func synced(at ...float64) answered  { return answered{theLeader, at[0], at[len(at)-1]} }
func didRead(at ...float64) answered { return answered{anyServer, at[0], at[len(at)-1]} }

// behindOthers answers a read that was sent while others were under way.
const behindOthers = anyServer - 1

func (a answered) answer() answer {
	return answer{a.by, exchange{sent: at(a.sent), answered: at(a.at), first: a.by != behindOthers}}
}

// after returns a prover that is needed, and has noted some answers.
func after(all ...answered) *prover {
	p := &prover{timeout: whole, needed: true}
	for _, a := range all {
		p.note(a.answer())
	}
	return p
}

// A proof is a sign that the session lives, then a barrier, which the leader answers, then a commit, which a quorum
// answers: the session is then safe for T since the sign was sent. After a write alone it is safe for 3/8 T.
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
			after(wrote(0), didRead(.3), wrote(.31)), .31 + 3./8},
		{"the commit is not a sync", after(wrote(0), synced(.3), synced(.3)), 3. / 8},
		{"the commit is sent after the answer to the barrier", after(wrote(0), synced(.3, .35), wrote(.34, .36)), .34 + 3./8},
		{"the barrier is sent half a tick after the answer to the sign, and not after its sending",
			after(wrote(0, .1), synced(.3), wrote(.3)), .3 + 3./8},
		{"half a tick is not enough: a ping may be late by a 24th", after(wrote(0), synced(.29), wrote(.29)), .29 + 3./8},
		{"half a tick and a 24th are 7/24, enough", after(wrote(0), synced(.292), wrote(.292)), 1},
		{"the safe time begins when the sign was sent", after(wrote(0, .1), synced(.4), wrote(.4)), 1},
		{"the first barrier after the sign counts", after(wrote(0), synced(.3), synced(.32, .4), wrote(.35, .41)), 1},
		{"the latest sign with a barrier counts", after(wrote(0), didRead(.1), synced(.4), wrote(.4)), 1.1},
		{"a hundred requests that follow the sign do not push it out",
			after(slices.Concat([]answered{wrote(0)}, slices.Repeat([]answered{didRead(.1)}, 100), []answered{synced(.3), wrote(.3)})...), 1},
		{"the commit is the next sign", after(wrote(0), synced(.3), wrote(.3), synced(.6), wrote(.6)), 1.3},
		{"later writes do not put off the next barrier", after(wrote(0), synced(.3), wrote(.3), wrote(.5), synced(.6), wrote(.6)), 1.3},
		{"an answer that is noted late takes nothing away", after(wrote(.05), wrote(0, .06)), .05 + 3./8},
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
		{"a write", after(wrote(0)), 0, true},
		{"a quarter is left", after(wrote(0)), .12, true},
		{"a quarter is not left", after(wrote(0)), .13, false},
		{"the next barrier is answered in time", after(wrote(0), synced(.6), wrote(.65, .66)), .66, true},
		{"the next barrier is answered late", after(wrote(0), synced(.6), wrote(.62, .69)), .69, false},
		{"a distant server", after(wrote(0, .09)), .09, false},
		{"a server that was fast", after(wrote(0, .001), wrote(.01, .1)), .1, false},
		{"an answer that has waited for others", after(wrote(0, .001), answered{behindOthers, .01, .1}), .1, true},
		{"one that has, and came soon", after(wrote(0, .09), answered{behindOthers, .09, .1}), .1, true},
		{"a server that was slow", after(wrote(0, .09), wrote(.1)), .1, true},
		{"nothing was answered", after(), 0, false},
	} {
		require.Equal(t, c.lasts, c.p.lasts(at(c.now), c.p.safeUntil()), c.name)
	}
}

// The next round is due by what was answered, whether a lock is held, and when the last two rounds began.
func TestWhenTheNextRoundIsDue(t *testing.T) {
	proof := []answered{wrote(0), synced(.3), wrote(.3)}
	proved := func(more ...answered) *prover { return after(append(proof, more...)...) }
	for _, c := range []struct {
		name          string
		p             *prover
		held          int     // locks
		before, round float64 // when the round before the last one began, and the last one
		now, at       float64 // at: when the next one is due
		alone         bool    // it is a write alone
	}{
		{name: "nothing was answered: a write will be the sign", p: after(), now: .5, at: .5, alone: true},
		{name: "presumed: a write extends it, at T/12", p: after(wrote(0)), held: 1, at: 1. / 12, alone: true},
		{name: "presumed: another one, at T/6", p: after(wrote(0), wrote(1./12)), held: 1, now: .1, at: 1. / 6, alone: true},
		{name: "presumed: then the barrier, at 7/24 T",
			p: after(wrote(0), wrote(1./12), wrote(1./6)), held: 1, now: .2, at: 7. / 24},
		{name: "presumed: far away, one more write, since the proof takes two round trips",
			p: after(wrote(0, .02), wrote(1./6, .19)), held: 1, now: .2, at: 1. / 4, alone: true},
		{name: "presumed: none that puts off the barrier",
			p: after(wrote(0, .06), wrote(.22, .28)), held: 1, now: .28, at: .06 + 7./24},
		{name: "presumed: the commit is missing", p: after(wrote(0), synced(.3)), now: .31, at: .31, alone: true},
		{name: "presumed: the commit is missing, though a later sign has no barrier",
			p: after(wrote(0), didRead(.05), synced(.3)), now: .31, at: .31, alone: true},
		{name: "held: each 7/48 T, and a write alone if no sign has waited long enough",
			p: proved(), held: 1, round: .3, now: .3, at: .3 + 7./48, alone: true},
		{name: "held: the barrier is that of the round before the last",
			p: proved(wrote(.4)), held: 1, before: .32, round: .4, now: .5, at: .32 + 7./24},
		{name: "held: a busy client needs no round before 7/16 T",
			p: proved(wrote(.6), wrote(.6)), held: 1, now: .6, at: 1.3 - 9./16, alone: true},
		{name: "not held: each third of T", p: proved(), round: .3, now: .3, at: .3 + 1./3},
		{name: "not held: half of T before the proof ends", p: proved(wrote(.6), wrote(.6)), now: .6, at: .8, alone: true},
		{name: "a round that is overdue is due now", p: proved(), round: .3, now: .9, at: .9},
	} {
		c.p.held = c.held
		c.p.roundBefore, c.p.lastRound = synced(c.before).answer().exchange, synced(c.round).answer().exchange
		due, alone := c.p.next(at(c.now))
		require.InDelta(t, c.at, part(due), 1e-6, c.name)
		require.Equal(t, c.alone, alone, c.name)
	}
}

// An old proof, by which the session is safe until T, does not count if the next one is hardly in time: nobody needed
// the session for a while, and a lease that begins then, with a write, would be lost by one late answer.
func TestAnOldProofDoesNotCountIfTheNextIsHardlyInTime(t *testing.T) {
	for _, c := range []struct {
		last float64 // when the last request was answered
		kept bool
		due  float64
	}{{last: .6, kept: true, due: .6 + 7./48}, {last: .65, due: .65}, {last: .7, due: .7}} {
		p := after(wrote(0), synced(.3), wrote(.3))
		require.False(t, p.need(false))
		p.note(didRead(c.last).answer())
		p.held, p.roundBefore = 1, synced(.55).answer().exchange // need forgets this round, which would put off the next
		require.True(t, p.need(true), "rounds begin")
		due, _ := p.next(at(c.last))
		require.Equal(t, c.kept, part(p.safeUntil()) > .9)
		require.InDelta(t, c.due, part(due), 1e-6, "a write is due at once")
		p.note(wrote(c.last + .08).answer())
		require.InDelta(t, c.last, part(p.signs[0].sent), 1e-6, "the write puts off the next proof")

		require.False(t, p.need(false)) // at .9 hardly anything is left of either proof
		p.note(wrote(.9).answer())
		require.True(t, p.need(true), "rounds begin again")
		require.InDelta(t, .9+3./8, part(p.safeUntil()), 1e-6)
	}
}

// Another lock that begins to need an old proof takes nothing from it as long as an earlier lease needs it, too.
func TestAnotherLeaseTakesNothingFromTheProof(t *testing.T) {
	p := after(wrote(0), synced(.3), wrote(.3), synced(.9), wrote(.95)) // needed already
	require.False(t, p.need(true), "the rounds go on")
	require.InDelta(t, 1.3, part(p.safeUntil()), 1e-6)
}
