//go:build !linux && !darwin

package main

import (
	"context"

	"example.com/zklock/internal/i18n"
)

func helper([]string) {}

func (c *call) run(context.Context) int {
	return c.fail(exitUsage, i18n.Errorf(
		"run is for Linux and macOS: here a command cannot be ended with all that it has started",
		"run 只用于 Linux 和 macOS：在这里，无法连同命令启动的所有进程一起结束它"))
}
