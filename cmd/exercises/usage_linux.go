package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// groupUsage sums up what the processes of a group use.
func groupUsage(leader int) resources {
	u := resources{waits: true}
	eachProcess(func(pid int, dir string) {
		// This costs one system call for each process of the machine; only the group's files are read.
		if group, err := syscall.Getpgid(pid); err != nil || group != leader {
			return
		}
		fields := procStat(dir)
		if len(fields) <= rss || fields[pgrp] != strconv.Itoa(leader) {
			return // it has ended or left the group since then
		}
		number := func(field int) (n int64) {
			n, _ = strconv.ParseInt(fields[field], 10, 64)
			return n
		}
		u.memory += number(rss) * int64(os.Getpagesize())
		u.processes++
		ticks := number(utime) + number(stime) + number(cutime) + number(cstime)
		u.time += time.Duration(ticks) * (time.Second / hertz)
		threads, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
		for _, thread := range threads {
			stat := procStat(thread)                                         // empty, if the thread has ended
			if len(stat) > 0 && (stat[state] == "R" || stat[state] == "D") { // it runs or could run, or the disk is slow
				u.waits = false
			}
		}
	})
	return u
}

// hertz is the number of ticks of processor time in a second: /proc counts so on any kernel.
const hertz = 100

// The fields of procStat, by their names in proc(5), where state is field 3. The times are of the process, and of the
// children that it has waited for.
const (
	state, pgrp                  = 0, 2
	utime, stime, cutime, cstime = 11, 12, 13, 14
	rss                          = 21 // pages of memory
)

// procStat returns the fields of a file stat after the name, which may contain blanks and parentheses.
func procStat(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	nameEnd := strings.LastIndex(string(text), ") ")
	if err != nil || nameEnd < 0 {
		return nil
	}
	return strings.Fields(string(text)[nameEnd+len(") "):])
}

// sweep kills all processes of a cell, also those that have left their group.
func sweep(id string) {
	for range 100 { // one round is not enough: a process may start another one before it is killed
		found := false
		eachProcess(func(pid int, dir string) {
			env, err := os.ReadFile(filepath.Join(dir, "environ"))
			if err == nil && pid != os.Getpid() && bytes.Contains(env, []byte(cellVariable+"="+id)) {
				found = true
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		if !found {
			return
		}
	}
}

// eachProcess calls f with each process of the machine, and its folder in /proc.
func eachProcess(f func(pid int, dir string)) {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			f(pid, "/proc/"+name)
		}
	}
}
