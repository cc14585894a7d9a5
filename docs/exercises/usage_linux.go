package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// groupUsage sums up a process group.
func groupUsage(leader int) (memory int64, processes int) {
	eachProcess(func(pid int, dir string) {
		// One system call for each process of the machine, and the file only for the group's.
		if group, err := syscall.Getpgid(pid); err != nil || group != leader {
			return
		}
		text, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			return
		}
		name := strings.LastIndex(string(text), ") ") // it may have blanks and parentheses
		if name < 0 {
			return
		}
		fields := strings.Fields(string(text)[name+2:])
		if len(fields) < 22 || fields[2] != strconv.Itoa(leader) {
			return
		}
		pages, _ := strconv.ParseInt(fields[21], 10, 64)
		memory += pages * int64(os.Getpagesize())
		processes++
	})
	return memory, processes
}

// sweep ends the processes that have left their group.
func sweep(id string) {
	for range 100 {
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
