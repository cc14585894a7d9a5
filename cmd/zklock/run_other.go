//go:build !linux && !darwin

package main

import (
	"context"

	"example.com/zklock/internal/i18n"
)

func helper([]string) {} // no process of this program guards a command here

func (c *call) run(context.Context) int { return c.fail(exitUsage, i18n.Errorf("%s", runElsewhere)) }
