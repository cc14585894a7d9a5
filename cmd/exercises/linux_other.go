//go:build !linux

package main

import "os/exec"

// What a group uses, and whether it waits, is not known here: the clock counts instead.
func groupUsage(int) resources { return resources{waits: true} }

func sweep(string) {}

// Other systems offer an ordinary account nothing to cut a process off with.
func offline(*exec.Cmd) bool { return false }

func offlineProbe([]string) {}
