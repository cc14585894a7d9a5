package client

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const whole = 48 * time.Second // a session timeout, T; the instants of these tests are parts of it

var zero = time.Unix(0, 0)

func at(part float64) time.Time { return zero.Add(time.Duration(part * float64(whole))) }

func part(t time.Time) float64 { return float64(t.Sub(zero)) / float64(whole) }

// The requests, by what answers them.
const aWrite, aSync, aRead = aQuorum, theLeader, anyServer

// An answered request, by its instants.
type answered struct {
	by       answerer
	sent, at float64
}

// behindOthers is the answer to a read that was sent while others were under way.
const behindOthers = anyServer - 1

func (a answered) answer() answer {
	return answer{a.by, exchange{sent: at(a.sent), answered: at(a.at), first: a.by != behindOthers}}
}

// after is a prover that is needed, after some answers.
func after(notes []answered) *prover {
	p := &prover{timeout: whole, needed: true}
	for _, a := range notes {
		p.note(a.answer())
	}
	return p
}

func TestTheOrderOfAProof(t *testing.T) {
	for _, c := range []struct {
		name  string
		notes []answered
		until float64
	}{
		{"sign, barrier and commit", []answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}}, 1},
		{"the sign may be a read", []answered{{aRead, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}}, 1},
		{"the barrier may be a write", []answered{{aWrite, 0, 0}, {aWrite, .3, .3}, {aWrite, .3, .3}}, 1},
		{"the barrier is not a read, which a follower that is cut off from the leader answers",
			[]answered{{aWrite, 0, 0}, {aRead, .3, .3}, {aWrite, .31, .31}}, .31 + 3./8},
		{"the commit is not a sync", []answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aSync, .3, .3}}, 3. / 8},
		{"the commit is sent after the answer to the barrier", []answered{{aWrite, 0, 0}, {aSync, .3, .35}, {aWrite, .34, .36}}, .34 + 3./8},
		{"the barrier is sent half a tick after the sign was answered, and not only sent",
			[]answered{{aWrite, 0, .1}, {aSync, .3, .3}, {aWrite, .3, .3}}, .3 + 3./8},
		{"half a tick and a 24th", []answered{{aWrite, 0, 0}, {aSync, .29, .29}, {aWrite, .29, .29}}, .29 + 3./8},
		{"no more than that", []answered{{aWrite, 0, 0}, {aSync, .292, .292}, {aWrite, .292, .292}}, 1},
		{"the safe time begins when the sign was sent", []answered{{aWrite, 0, .1}, {aSync, .4, .4}, {aWrite, .4, .4}}, 1},
		{"the first barrier after the sign counts", []answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aSync, .32, .4}, {aWrite, .35, .41}}, 1},
		{"the latest sign with a barrier counts", []answered{{aWrite, 0, 0}, {aRead, .1, .1}, {aSync, .4, .4}, {aWrite, .4, .4}}, 1.1},
		{"a hundred requests that follow the sign do not push it out",
			slices.Concat([]answered{{aWrite, 0, 0}}, slices.Repeat([]answered{{aRead, .1, .1}}, 100), []answered{{aSync, .3, .3}, {aWrite, .3, .3}}), 1},
		{"the commit is the next sign", []answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}, {aSync, .6, .6}, {aWrite, .6, .6}}, 1.3},
		{"later writes do not put off the next barrier",
			[]answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}, {aWrite, .5, .5}, {aSync, .6, .6}, {aWrite, .6, .6}}, 1.3},
		{"an answer that is noted late takes nothing away", []answered{{aWrite, .05, .05}, {aWrite, 0, .06}}, .05 + 3./8},
		{"a write alone adds nothing to a proof: the process may have been suspended between two pings",
			[]answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}, {aWrite, .9, .9}}, 1},
	} {
		require.InDelta(t, c.until, part(after(c.notes).safeUntil()), 1e-6, c.name)
	}
	p := after(nil)
	for n := range 10 * mostSigns { // a server may answer reads without a quorum, for days
		p.note(answered{aRead, float64(n), float64(n)}.answer())
	}
	require.Equal(t, mostSigns, len(p.signs))
}

func TestASessionLastsIfTheNextProofIsInTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		notes []answered
		now   float64
		lasts bool
	}{
		{"a write", []answered{{aWrite, 0, 0}}, 0, true},
		{"a quarter is left", []answered{{aWrite, 0, 0}}, .12, true},
		{"a quarter is not left", []answered{{aWrite, 0, 0}}, .13, false},
		{"the next barrier is answered in time", []answered{{aWrite, 0, 0}, {aSync, .6, .6}, {aWrite, .65, .66}}, .66, true},
		{"the next barrier is answered late", []answered{{aWrite, 0, 0}, {aSync, .6, .6}, {aWrite, .62, .69}}, .69, false},
		{"a distant server", []answered{{aWrite, 0, .09}}, .09, false},
		{"a server that was fast", []answered{{aWrite, 0, .001}, {aWrite, .01, .1}}, .1, false},
		{"an answer that has waited for others", []answered{{aWrite, 0, .001}, {behindOthers, .01, .1}}, .1, true},
		{"one that has, and came soon", []answered{{aWrite, 0, .09}, {behindOthers, .09, .1}}, .1, true},
		{"a server that was slow", []answered{{aWrite, 0, .09}, {aWrite, .1, .1}}, .1, true},
		{"nothing was answered", nil, 0, false},
	} {
		p := after(c.notes)
		require.Equal(t, c.lasts, p.lasts(at(c.now), p.safeUntil()), c.name)
	}
}

func TestWhenTheNextRoundIsDue(t *testing.T) {
	proved := []answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}}
	for _, c := range []struct {
		name          string
		notes         []answered
		held          int
		before, round float64
		now, at       float64
		alone         bool
	}{
		{"nothing was answered: a write will be the sign", nil, 0, 0, 0, .5, .5, true},
		{"presumed: a write extends it, at T/12", []answered{{aWrite, 0, 0}}, 1, 0, 0, 0, 1. / 12, true},
		{"presumed: another one, at T/6", []answered{{aWrite, 0, 0}, {aWrite, 1. / 12, 1. / 12}}, 1, 0, 0, .1, 1. / 6, true},
		{"presumed: then the barrier, at 7/24 T", []answered{{aWrite, 0, 0}, {aWrite, 1. / 12, 1. / 12}, {aWrite, 1. / 6, 1. / 6}}, 1, 0, 0, .2, 7. / 24, false},
		{"presumed: far away, one more write, since the proof takes two round trips",
			[]answered{{aWrite, 0, .02}, {aWrite, 1. / 6, .19}}, 1, 0, 0, .2, 1. / 4, true},
		{"presumed: none that puts off the barrier", []answered{{aWrite, 0, .06}, {aWrite, .22, .28}}, 1, 0, 0, .28, .06 + 7./24, false},
		{"presumed: the commit is missing", []answered{{aWrite, 0, 0}, {aSync, .3, .3}}, 0, 0, 0, .31, .31, true},
		{"presumed: the commit is missing, though a later sign has no " +
			"barrier", []answered{{aWrite, 0, 0}, {aRead, .05, .05}, {aSync, .3, .3}}, 0, 0, 0, .31, .31, true},
		{"held: each 7/48 T, and a write alone if no sign has waited long enough", proved, 1, 0, .3, .3, .3 + 7./48, true},
		{"held: the barrier is that of the round before the last", append(proved, answered{aWrite, .4, .4}), 1, .32, .4, .5, .32 + 7./24, false},
		{"held: a busy client needs no round before 7/16 T", append(proved, answered{aWrite, .6, .6}, answered{aWrite, .6, .6}), 1, 0, 0, .6, 1.3 - 9./16, true},
		{"not held: each third of T", proved, 0, 0, .3, .3, .3 + 1./3, false},
		{"not held: half of T before the proof ends", append(proved, answered{aWrite, .6, .6}, answered{aWrite, .6, .6}), 0, 0, 0, .6, .8, true},
		{"a round that is overdue is due now", proved, 0, 0, .3, .9, .9, false},
	} {
		p := after(c.notes)
		p.held = c.held
		p.before, p.round = answered{aSync, c.before, c.before}.answer().exchange, answered{aSync, c.round, c.round}.answer().exchange
		due, alone := p.next(at(c.now))
		require.InDelta(t, c.at, part(due), 1e-6, c.name)
		require.Equal(t, c.alone, alone, c.name)
	}
}

// TestAnOldProofDoesNotCountIfTheNextIsHardlyInTime: nobody needed the session
// for a while, and a lease that begins then would be lost by one late answer. It begins with a write, its create.
func TestAnOldProofDoesNotCountIfTheNextIsHardlyInTime(t *testing.T) {
	for _, c := range []struct {
		last float64
		kept bool
		due  float64
	}{{.6, true, .6 + 7./48}, {.65, false, .65}, {.7, false, .7}} {
		p := after([]answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}})
		require.False(t, p.need(false))
		p.note(answered{aRead, c.last, c.last}.answer())
		p.held, p.before = 1, answered{aSync, .55, .55}.answer().exchange // which puts off nothing
		require.True(t, p.need(true))
		due, _ := p.next(at(c.last))
		require.Equal(t, c.kept, part(p.safeUntil()) > .9)
		require.InDelta(t, c.due, part(due), 1e-6, "a write is due at once")
		p.note(answered{aWrite, c.last + .08, c.last + .08}.answer())
		require.InDelta(t, c.last, part(p.signs[0].sent), 1e-6, "the write puts off the next proof")
		require.False(t, p.need(false))
		p.note(answered{aWrite, .9, .9}.answer())
		require.True(t, p.need(true))
		require.InDelta(t, .9+3./8, part(p.safeUntil()), 1e-6)
	}
}

// TestAnotherLeaseTakesNothingFromTheProof: the proof is old when another lock of the
// client begins to need it, and an earlier lease still needs it.
func TestAnotherLeaseTakesNothingFromTheProof(t *testing.T) {
	p := after([]answered{{aWrite, 0, 0}, {aSync, .3, .3}, {aWrite, .3, .3}, {aSync, .9, .9}, {aWrite, .95, .95}})
	require.False(t, p.need(true))
	require.InDelta(t, 1.3, part(p.safeUntil()), 1e-6)
}
