package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"

	"example.com/zklock/internal/i18n"
)

// The assertions of a case say in both languages what has happened and what to do; below comes what else was found.
// Where the case has failed is a part of the Failure, so none of them calls Helper.

func (c *Case) Failf(format string, args ...any) { c.failed("", i18n.Textf(format, args...)) }

func (c *Case) NoError(err error, format string, args ...any) {
	if err != nil {
		c.failed(i18n.TextOf(err), i18n.Textf(format, args...))
	}
}

func (c *Case) HasError(err error, format string, args ...any) { c.True(err != nil, format, args...) }

func (c *Case) ErrorIs(err, wanted error, format string, args ...any) {
	if !errors.Is(err, wanted) {
		c.failed(i18n.Textf("the error must wrap %q, and is %s", wanted.Error(), quoted(err)), i18n.Textf(format, args...))
	}
}

func (c *Case) NotErrorIs(err, other error, format string, args ...any) {
	if errors.Is(err, other) {
		c.failed(i18n.Textf("the error must not wrap %q, and is %s", other.Error(), quoted(err)), i18n.Textf(format, args...))
	}
}

func (c *Case) ErrorContains(err error, part, format string, args ...any) {
	if err == nil || !strings.Contains(err.Error(), part) {
		c.failed(i18n.Textf("the error must have %q in it, and is %s", part, quoted(err)), i18n.Textf(format, args...))
	}
}

func quoted(err error) any {
	if err == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", err.Error())
}

func (c *Case) True(is bool, format string, args ...any) {
	if !is {
		c.Failf(format, args...)
	}
}

func (c *Case) False(is bool, format string, args ...any) { c.True(!is, format, args...) }

func (c *Case) Equal(want, got any, format string, args ...any) {
	if !assert.ObjectsAreEqualValues(want, got) {
		c.failed(i18n.Textf("expected: %v, actual: %v", want, got), i18n.Textf(format, args...))
	}
}

func (c *Case) Len(list any, n int, format string, args ...any) {
	if is := reflect.ValueOf(list).Len(); is != n {
		c.failed(i18n.Textf("there are %d, and must be %d: %v", is, n, list), i18n.Textf(format, args...))
	}
}

func (c *Case) Empty(list any, format string, args ...any) { c.Len(list, 0, format, args...) }

func (c *Case) NotEmpty(list any, format string, args ...any) {
	c.True(reflect.ValueOf(list).Len() > 0, format, args...)
}

// Has fails unless all of some nodes are in a list.
func (c *Case) Has(list, some []string, format string, args ...any) {
	for _, node := range some {
		if !slices.Contains(list, node) {
			c.failed(i18n.Textf("%s is not among %v", node, list), i18n.Textf(format, args...))
		}
	}
}

// failed keeps a message for the process that has asked for the case, with found on the next line, and ends the case.
func (c *Case) failed(found, message i18n.Text) {
	if found.String() != "" {
		message = i18n.Join([]i18n.Text{message, found}, "\n    ")
	}
	f := Failure{message, callersOfCase()}
	self.addFailure(f)
	c.T.Error(f.String())
	c.FailNow()
}

// callersOfCase returns where the running case has failed: what has called this package, from the inside out.
func callersOfCase() string {
	callers := make([]uintptr, 30)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	var places []string
	for f, more := frames.Next(); more && len(places) < 5; f, more = frames.Next() { // 5: from a helper to the case
		if strings.Contains(f.Function, "zklock/") && !strings.Contains(f.Function, "internal/locktest/runner.") {
			places = append(places, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		}
	}
	return strings.Join(places, " < ")
}
