package runner

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zkserver"
)

// A Case is a case in the process that runs it. What it says of a failure goes to the process that has asked for it, by
// way of self, the watchdog. In a process that nobody watches, self is nil, and a Case is a plain test: the watchdog's
// methods that a Case calls do nothing then, and the others are called only if self is not nil.
type Case struct {
	*testing.T
	Asked string // the name by which it was asked for
	// About is what an earlier run of the case has passed to Again. What is tested cannot read it.
	About string

	instant time.Time // of the last request, in virtual time
}

func newCase(t *testing.T, name, about string) *Case { return &Case{T: t, Asked: name, About: about} }

// In returns the case for the inside of a bubble, which has a testing.T of its own.
func (c *Case) In(t *testing.T) *Case { return newCase(t, c.Asked, c.About) }

// Watched reports whether a watchdog watches the case, in its own process. Otherwise it runs in the test's process.
func (c *Case) Watched() bool { return self != nil }

// Step reports to the watchdog that the case goes on.
func (c *Case) Step() {
	if self != nil {
		self.steps.Add(1)
	}
}

// Errorf keeps the words, like Fatalf and Skip below, for the process that has asked for the case.
func (c *Case) Errorf(message string, args ...any) {
	c.Helper()
	f := fromTestify(fmt.Sprintf(message, args...))
	self.addFailure(f)
	c.T.Error(f.String())
}

func (c *Case) Fatalf(message string, args ...any) {
	c.Helper()
	c.Errorf(message, args...)
	c.FailNow()
}

func (c *Case) Skip(args ...any) {
	c.Helper()
	self.change(func() { self.skip = fmt.Sprint(args...) })
	c.T.Skip(args...)
}

// Fail fails the case, whose process ends here. Trace is the lab's address of a failed schedule, from the # on, or "".
func (c *Case) Fail(words i18n.Text, trace string) {
	c.Helper()
	if self == nil {
		c.T.Fatal(words.In(i18n.Of("")))
	}
	self.change(func() { self.trace = trace })
	self.addFailure(Failure{Text: words})
	c.T.Fail()
	self.caseReturned(true)
}

// Observe reports every request that reaches the server to the watchdog. Call it in the server's bubble, at first.
func (c *Case) Observe(srv *zkserver.Server) {
	if self == nil {
		return
	}
	srv.Hold(func(zkserver.Request) bool {
		c.Step()
		if now := time.Now(); !now.Equal(c.instant) {
			c.instant = now
			self.requestsNow.Store(0)
		}
		self.requestsNow.Add(1)
		return false
	})
}

// Bound ends a case that takes more virtual time than most: the lock waits forever, and its client's pings keep time
// going. Call it in the bubble, and stop at the end of the case.
func (c *Case) Bound(most time.Duration) (stop func() bool) {
	return time.AfterFunc(most, func() {
		if self == nil {
			panic(c.Name() + ": days of virtual time have passed")
		}
		self.stuck("the lock hangs: days of virtual time have passed")
	}).Stop
}

// Does notes that an operation of the lock is under way, until done is called: the watchdog names it.
func (c *Case) Does(what string) (done func()) {
	self.change(func() { self.doing = append(self.doing, what) })
	return func() {
		self.change(func() {
			if i := slices.Index(self.doing, what); i >= 0 {
				self.doing = slices.Delete(self.doing, i, i+1)
			}
		})
	}
}

// Left reports to the watchdog that the case's own function has returned. If the case has failed, the process ends
// here: what hangs would keep the bubble from ending.
func (c *Case) Left() { self.caseReturned(c.Failed()) }

// Over ends the process of a case that has passed and whose goroutines do not end.
func (c *Case) Over() { self.caseEnded(true, processEnds) }

// Again has the case run again, in a new process, in which About is this text. This run of it is over.
func (c *Case) Again(about string) { self.change(func() { self.again = about }) }

// First reports whether the process has run no case before.
func (c *Case) First() (isFirst bool) {
	self.change(func() { isFirst = self.cases == 1 })
	return isFirst
}

// fromTestify returns the failure of an assertion of testify: the message comes before testify's own words, in English.
func fromTestify(text string) Failure {
	text = strings.TrimSuffix(text, "\n")
	if !strings.Contains(text, "\tError Trace:\t") {
		return Failure{Text: i18n.Same(text)}
	}

	// Testify prints a label, such as "Error:", and its text in the columns after it, on one or several lines.
	parts := make(map[string][]string) // the lines of each label
	label := ""
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(fields) < 3 {
			continue
		}
		if name := strings.TrimSpace(fields[1]); strings.HasSuffix(name, ":") {
			label = strings.TrimSuffix(name, ":")
		}
		if label == "Error" && strings.TrimSpace(fields[2]) == "Diff:" {
			label = "Diff" // it repeats the two values
		}
		parts[label] = append(parts[label], strings.TrimRight(fields[2], " \t"))
	}
	var places []string
	for _, place := range parts["Error Trace"] {
		place = filepath.Base(strings.TrimSpace(place))
		if place != "." && len(places) < 5 { // "." is the base of an empty line
			places = append(places, place)
		}
	}
	words := strings.TrimSpace(strings.Join(parts["Error"], "\n    "))
	if message := strings.Join(parts["Messages"], "\n"); message != "" {
		words = message + "\n    " + words
	}
	return Failure{i18n.Same(words), strings.Join(places, " < ")}
}
