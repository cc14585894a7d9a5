package leash

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The command is the leader of a group of processes. The kernel kills it when the main thread of its parent ends.
var attributes = syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

// adopt has the kernel give each process below this one that loses its parent to the next above it that
// has called adopt. So wait finds no child only when no process is left below.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// below calls do for each process below this one, at once when it is found: a moment later it may
// have ended, and another one begun. It looks again until it finds no new one.
func below(_ int, do func(pid int)) {
	_, self := numbers(status("self"))
	if len(self) == 0 { // no /proc
		return
	}
	for known, all := 0, map[string]bool{self[0]: true}; known < len(all); {
		known = len(all)
		proc, err := os.Open("/proc")
		for names := []string(nil); err == nil; names, err = proc.Readdirnames(32) { // those that are there now, not long ago
			for _, name := range names {
				if _, err := strconv.Atoi(name); err != nil || all[name] {
					continue
				}
				if parent, own := numbers(status(name)); all[parent] && len(own) >= len(self) {
					all[name] = true
					pid, _ := strconv.Atoi(own[len(self)-1])
					do(pid)
				}
			}
		}
		proc.Close()
	}
}

func status(name string) string {
	text, _ := os.ReadFile("/proc/" + name + "/status") // it may have ended
	return string(text)
}

// numbers returns the parent of a process, and its own numbers: /proc may be that of a namespace of processes around
// this process's, and the process has a number in each one from there inward. While it is being reaped they are 0,
// which to kill means this process's own group: there are none then.
func numbers(status string) (parent string, own []string) {
	_, behind, _ := strings.Cut(status, "\nPPid:")
	fmt.Sscan(behind, &parent)
	_, behind, _ = strings.Cut(behind, "\nNSpid:")
	behind, _, _ = strings.Cut(behind, "\n")
	if own = strings.Fields(behind); slices.Contains(own, "0") {
		return parent, nil
	}
	return parent, own
}
