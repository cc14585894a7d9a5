//go:build !linux && !darwin

package main

import (
	"context"
	"errors"
)

func helper([]string) {}

func (c *call) run(context.Context) int {
	return c.fail(exitUsage, errors.New("run is for Linux and macOS: here a command cannot be ended with all that it has started"))
}
