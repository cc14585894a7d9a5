//go:build !linux && !darwin

package main

import (
	"context"

	"example.com/zklock/internal/i18n"
)

func helper([]string) {} // in run_unix.go, it is what a process does that guards a command

func (c *call) run(context.Context) int { return c.fail(exitUsage, i18n.Errorf("%s", runElsewhere)) }
