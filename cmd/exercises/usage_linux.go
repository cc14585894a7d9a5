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

// groupUsage sums up a process group.
func groupUsage(leader int) resources {
	u := resources{waits: true}
	eachProcess(func(pid int, dir string) {
		// One system call for each process of the machine, and the files only for the group's.
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
		// Of user and system, its own and of the children that it has waited for.
		u.time += time.Duration(number(11)+number(12)+number(13)+number(14)) * (time.Second / hertz)
		threads, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
		for _, thread := range threads {
			if state := procStat(thread); len(state) > 0 && (state[0] == "R" || state[0] == "D") { // runs or could, or the disk is slow
				u.waits = false
			}
		}
	})
	return u
}

// hertz is how many units of /proc's processor time a second has, whatever the kernel's clock.
const hertz = 100

// procStat are the fields of a file stat behind the name, which may have blanks and parentheses: proc(5) counts three more.
func procStat(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	name := strings.LastIndex(string(text), ") ")
	if err != nil || name < 0 {
		return nil
	}
	return strings.Fields(string(text)[name+2:])
}

// sweep ends the processes that have left their group.
func sweep(id string) {
	for range 100 { // one may start another before it is killed
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
