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

// adoptOrphans makes this process a subreaper: a process below it that loses its parent becomes a child of the next
// subreaper above. As long as a process is left below, this process has a child to wait for.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// eachBelow calls do for each process below this one, as soon as it is found: a moment later it may
// have ended, and another one may have its number. It looks again until it finds no new one.
func eachBelow(_ int, do func(pid int)) { // other systems need the group
	_, self := numbers(status("self"))
	depth := len(self) // of the namespace of this process
	if depth == 0 {    // no /proc
		return
	}
	all := map[string]bool{self[0]: true} // this process, and those that were found
	for before := 0; before < len(all); {
		before = len(all)
		proc, err := os.Open("/proc")
		for names := []string(nil); err == nil; names, err = proc.Readdirnames(32) { // a few at a time: old names are stale
			for _, name := range names {
				if _, notPID := strconv.Atoi(name); notPID != nil || all[name] {
					continue
				}
				parent, own := numbers(status(name))
				if isBelow := all[parent] && len(own) >= depth; isBelow {
					all[name] = true
					pid, _ := strconv.Atoi(own[depth-1]) // its number in the namespace of this process
					do(pid)
				}
			}
		}
		proc.Close()
	}
}

// status returns the text of /proc/NAME/status; "" if that process has ended.
func status(name string) string {
	text, _ := os.ReadFile("/proc/" + name + "/status")
	return string(text)
}

// numbers returns the number of a process's parent, and the process's own numbers: one in each PID namespace from that
// of /proc, the outermost, to its own. While the process is being reaped its numbers are 0, and none is returned: to
// kill 0 would kill this process's own group.
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
