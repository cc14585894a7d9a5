package locktest

import (
	"testing"
	"time"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/zkserver"
)

// A Case is a case of another package, in the process that runs it.
type Case struct {
	*testing.T
	// About is what the asker has said of the case besides its name, which the test
	// bears. What is tested cannot learn it.
	About string

	instant time.Time
}

// An OwnCase is a case of a suite of another package, which makes its world itself.
type OwnCase struct {
	Name  string
	Group Group
	Run   func(c *Case)
}

// NewOwnPlan makes a Plan of such cases.
func NewOwnPlan(cases []OwnCase) Plan {
	p := Plan{groups: make(map[string]Group)}
	byName := make(map[string]OwnCase)
	for _, c := range cases {
		byName[c.Name] = c
		p.names = append(p.names, c.Name)
		p.groups[c.Name] = c.Group
	}
	p.run = func(t *testing.T, name string) { byName[name].Run(&Case{T: t}) }
	return p
}

// Step tells the watchdog that the case goes on.
func (c *Case) Step() { self.step() }

// Fail fails the case, whose process ends here. Trace is the schedule that has
// failed, as an address of the lab, from the # on, or "".
func (c *Case) Fail(words, trace string) {
	c.Helper()
	if self == nil { // the case runs in the process of the test
		c.Fatal(words)
	}
	self.mu.Lock()
	self.trace = trace
	self.mu.Unlock()
	self.note(plain(words))
	c.T.Fail()
	self.left(true)
}

// Ask makes a Remote for cases of another package, which run in processes as
// those of this package do, under the same watchdog. In such a process it has
// run called for each case that is asked for, and returns nil when all have been.
// As with Run, the test must come to this call again when it is called again.
func Ask(t *testing.T, run func(c *Case)) *Remote {
	t.Helper()
	g := grade(t, func(t *testing.T, r request) []jute.Op {
		run(&Case{T: t, About: r.About})
		return nil
	})
	if g == nil {
		return nil
	}
	t.Cleanup(g.close)
	return &Remote{*g}
}

// Observe tells the watchdog of every request that reaches the server. Call it
// where the server's bubble is, before anything is sent.
func (c *Case) Observe(srv *zkserver.Server) {
	srv.Hold(func(zkserver.Request) bool {
		self.step()
		if now := time.Now(); !now.Equal(c.instant) {
			c.instant = now
			self.instant.Store(0)
		}
		self.instant.Add(1)
		return false
	})
}

// Bound ends a case that lets more virtual time pass than any needs: the clients'
// pings keep it going. Call it in the bubble, and stop at the end of the case.
func (c *Case) Bound() (stop func() bool) {
	return time.AfterFunc(bound, func() { self.stuck("the lock hangs: days of virtual time have passed") }).Stop
}

// Call calls f, under a name by which the watchdog speaks of it.
func (c *Case) Call(what string, f func()) {
	defer self.does(what)()
	aside(f)
}

// Note keeps the words of a failure, which need not be the test's, for the asker.
func (c *Case) Note(text string) { self.note(plain(text)) }

// Left tells that the case is over, as far as its own function goes. If it has
// failed the process ends here: what hangs would keep the bubble from ending.
func (c *Case) Left() { self.left(c.Failed()) }

// Says keeps what a case that passes has to say to the asker.
func (c *Case) Says(text string) {
	self.mu.Lock()
	defer self.mu.Unlock()
	self.says = text
}
