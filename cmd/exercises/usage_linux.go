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
		if len(fields) < 22 || fields[2] != strconv.Itoa(leader) {
			return // it has left the group meanwhile
		}
		number := func(field int) (n int64) {
			n, _ = strconv.ParseInt(fields[field], 10, 64)
			return n
		}
		u.memory += number(21) * int64(os.Getpagesize()) // rss
		u.processes++
		// User and system time, of the process and of the children that it has waited for.
		u.time += time.Duration(number(11)+number(12)+number(13)+number(14)) * (time.Second / hertz)
		threads, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
		for _, thread := range threads {
			if state := procStat(thread); len(state) > 0 && (state[0] == "R" || state[0] == "D") { // it runs or could run, or the disk is slow
				u.waits = false
			}
		}
	})
	return u
}

// hertz is how many units of processor time in /proc are a second, on any kernel.
const hertz = 100

// procStat returns the fields of a file stat after the name, which may contain blanks and parentheses. Field n here is
// field n+3 in proc(5).
func procStat(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	name := strings.LastIndex(string(text), ") ")
	if err != nil || name < 0 {
		return nil
	}
	return strings.Fields(string(text)[name+2:])
}

// sweep kills all processes of a cell, also those that have left their group.
func sweep(id string) {
	for range 100 { // a process may start another one before it is killed
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
