//go:build linux || darwin

package leash

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The processes that Start starts are this program, too: one becomes the command, the others are
// its guards. Of this process and two guards any one ends the command in time: two of the three
// may be killed or stopped.
const (
	startVerb = "__start" // PROGRAM ARGS...
	guardVerb = "__guard" // GROUP GRACE
)

// Helper is what those processes do. A program that uses Start calls it first of all, with its
// arguments. It returns if this process is none of them.
func Helper(args []string) {
	runtime.LockOSThread() // to the main thread, which lives as long as the process: see attributes
	switch {
	case len(args) > 2 && args[0] == startVerb:
		syscall.CloseOnExec(3)
		if n, _ := syscall.Read(3, make([]byte, 1)); n == 1 { // 0: the other process has ended before the guards were there
			err := syscall.Exec(args[1], args[2:], os.Environ())
			fmt.Fprintf(os.Stderr, "%s: %v\n", args[1], err)
		}
		os.Exit(126)
	case len(args) == 3 && args[0] == guardVerb:
		group, _ := strconv.Atoi(args[1])
		grace, _ := time.ParseDuration(args[2])
		watch(group, grace)
		os.Exit(0)
	}
}

// A limit is the end of a lease by two clocks: the monotonic one, which stops while the machine
// is suspended, and the wall clock, which may be set.
type limit struct{ monotonic, wall time.Time }

func (l limit) left() time.Duration {
	now := time.Now()
	return min(l.monotonic.Sub(now), l.wall.Sub(now.Round(0)))
}

// parse reads what tell has written. The text may come late; the wall clock is right then.
func parse(text string) limit {
	var left, end int64
	fmt.Sscan(text, &left, &end)
	return limit{time.Now().Add(time.Duration(left)), time.Unix(0, end)}
}

// watch is a guard: it ends the group with the lease, or with the process that writes to its
// standard input. A line there is an end of the lease; before the first, the command has not begun.
// This process may be stopped, or have no processor, at any point. So the clocks are read before what
// is there: if an end has come then, no later one was told in time.
func watch(group int, grace time.Duration) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	text, buffer := "", make([]byte, 4096)
	for end := (limit{}); ; {
		left := end.left()
		n, err := syscall.Read(0, buffer) // the first waits
		switch {
		case n > 0:
			syscall.SetNonblock(0, true)
			text += string(buffer[:n])
			if lines := strings.Split(text, "\n"); len(lines) > 1 {
				end, text = parse(lines[len(lines)-2]), lines[len(lines)-1]
			}
		case err == syscall.EINTR:
		case err != syscall.EAGAIN || left <= 0:
			syscall.Kill(-group, syscall.SIGKILL)
			return
		case left <= grace:
			syscall.Kill(-group, syscall.SIGTERM)
			grace = 0 // no second one
		default:
			time.Sleep(min(end.left()-grace, 50*time.Millisecond)) // no longer: the machine may be suspended, or the clock set
		}
	}
}

// A guard is a process that watches a group.
type guard struct {
	cmd *exec.Cmd
	in  *os.File // it outlives the process: nothing else closes it
}

func newGuard(group int, grace time.Duration) (*guard, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	g := &guard{exec.Command(executable(), guardVerb, strconv.Itoa(group), grace.String()), in}
	g.cmd.Args[0] = "zklock" // for ps
	g.cmd.Stdin, g.cmd.Dir, g.cmd.Env = out, "/", []string{}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return g, g.cmd.Start()
}

// tell tells a guard the end of the lease: what is left of it, and the time. It does not wait: a
// guard that is stopped does not read it. A deadline would not do: it may be over before the write.
func (g *guard) tell(until time.Time) {
	if in, err := g.in.SyscallConn(); err == nil {
		in.Write(func(fd uintptr) bool {
			syscall.Write(int(fd), fmt.Appendln(nil, int64(time.Until(until)), until.UnixNano()))
			return true
		})
	}
}

// executable is this program; on Linux also if its file has been replaced since.
func executable() string {
	path, _ := os.Executable()
	if runtime.GOOS == "linux" {
		path = "/proc/self/exe"
	}
	return path
}
