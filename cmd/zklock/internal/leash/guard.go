//go:build linux || darwin

package leash

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A plan is what the two guards and the starter know of the command. Each gets it as its second argument, in JSON.
type plan struct {
	Below         int           // how many of these three are below: the first guard 2, the second 1, the starter 0
	Grace, Margin time.Duration // what is left of the lease when the command gets SIGTERM, and when SIGKILL
	Foreground    bool          // the command gets the terminal
	Program       string
	Command       []string
}

var verbs = [...]string{"__start", "__guard", "__guard"} // the first arguments of the three, by Below

// The files of a guard and of the starter that are not the standard ones.
const (
	reportFile = 3 // where the starter reports; used by its number, because a File that is garbage is closed
	leaseFile  = 4 // where this process reads the end of the lease; behind it, the same for those below
)

// Helper is what the guards and the starter do. A program that uses Start calls it first of all, with its
// arguments. It returns if this process is none of them.
func Helper(args []string) {
	runtime.LockOSThread() // to the main thread, which lives as long as the process: see attributes
	w := watcher{ended: make(chan bool, 1), gone: make(chan struct{})}
	if len(args) != 2 || !strings.HasPrefix(args[0], "__") || json.Unmarshal([]byte(args[1]), &w.plan) != nil {
		return
	}

	for s := syscall.Signal(1); s < 32; s++ {
		if !signal.Ignored(s) { // if it is, the command ignores it, too
			signal.Notify(make(chan os.Signal), s) // to nobody: Ignore would do, but the command would inherit it
		}
	}
	for fd := reportFile; fd <= leaseFile+w.Below; fd++ {
		syscall.CloseOnExec(fd)
	}

	err := adoptOrphans()
	if err == nil && w.Below > 0 {
		reports, leases := os.NewFile(reportFile, ""), make([]*os.File, w.Below)
		for i := range leases {
			leases[i] = os.NewFile(uintptr(leaseFile+1+i), "")
		}
		err = w.startNext(reports, leases)
		reports.Close() // in a guard: the caller's process notices the end of the starter, which alone has it open
		go w.reap()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "zklock:", err)
		os.Exit(1)
	}
	w.watch()
	os.Exit(0)
}

// startNext starts the first of the processes that come below this one. Each of them reads one of the leases.
func (p plan) startNext(reports *os.File, leases []*os.File) error {
	p.Below = len(leases) - 1
	text, _ := json.Marshal(p)
	path, _ := os.Executable()
	if runtime.GOOS == "linux" {
		path = "/proc/self/exe" // also if its file has been replaced since
	}
	cmd := exec.Command(path, verbs[p.Below], string(text))
	cmd.Args[0] = "zklock" // for ps
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = append([]*os.File{reports}, leases...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // in this session: otherwise the command has no terminal
	err := cmd.Start()
	for _, file := range leases {
		file.Close()
	}
	return err
}

// A watcher is a process that ends all that is below it: when the lease ends, or the process that tells it the end
// of the lease. The guards and the starter are watchers, and so is the caller's process.
type watcher struct {
	plan
	leader int           // the command, if this process has started it
	group  int           // the command's, once it is known
	ended  chan bool     // has a value when the command has ended
	gone   chan struct{} // closed when no process is left below
}

// watch reads the ends of the lease, a line each. When no line is left to read, it acts by the last one, and waits.
// Before the first line, the command has not begun. This process may be stopped, or have no processor, at any point. So
// the clocks are read before the lines: if an end has come then, no later one was told in time.
func (w *watcher) watch() {
	isStarter := w.Below == 0
	next := w.Margin // what is left of the lease when this process acts next
	if isStarter {   // it alone sends SIGTERM
		next = w.Grace
	}
	var end leaseEnd               // as the last line has it
	var graceOver <-chan time.Time // what the command leaves behind has had SIGTERM for the time Grace
	unread, buffer := "", make([]byte, 4096)
	for {
		left, notBegun := end.left(), isStarter && w.leader == 0
		n, err := syscall.Read(leaseFile, buffer)
		switch {
		case n > 0:
			syscall.SetNonblock(leaseFile, true) // only the first Read waits for a line
			unread += string(buffer[:n])
			if lines := strings.Split(unread, "\n"); len(lines) > 1 {
				end, unread = w.parseEnd(lines[len(lines)-2]), lines[len(lines)-1]
			}
			continue
		case err == syscall.EINTR:
			continue
		}

		tellerEnded := err != syscall.EAGAIN // the other end of the file is closed
		switch {
		case tellerEnded && notBegun:
			return
		case tellerEnded, left <= w.Margin && !notBegun:
			kill(w.group, w.gone, func([]int) {})
			return
		case notBegun && left > w.Grace: // if less is left, wait for the next end
			if w.startCommand() != nil {
				return
			}
		case left <= next && !notBegun: // in the starter, the first time
			next = w.Margin
			report(warned, 0)
			eachBelow(w.group, func(pid int) { syscall.Kill(pid, syscall.SIGTERM) })
		}

		select {
		case <-w.gone:
			return
		case <-w.ended: // what it leaves behind is ended before the lock is released
			eachBelow(w.group, func(pid int) {
				syscall.Kill(pid, syscall.SIGTERM)
				syscall.Kill(pid, syscall.SIGCONT) // it may be stopped
			})
			next, graceOver = w.Margin, time.After(w.Grace)
		case <-graceOver: // the processes above see to the rest
			return
		case <-time.After(min(max(end.left()-next, 0), 50*time.Millisecond)): // the machine may be suspended, or the clock set
		}
	}
}

// A leaseEnd is the end of a lease by the monotonic clock, which stops with the machine, and by the wall clock, which
// may be set.
type leaseEnd struct{ monotonic, wall time.Time }

// left returns what is left of the lease by the clock that leaves less.
func (e leaseEnd) left() time.Duration {
	now := time.Now()
	return min(e.monotonic.Sub(now), e.wall.Sub(now.Round(0)))
}

// parseEnd reads a line of Extend's. If the line comes late, its wall clock's end is right, and left is too much.
func (w *watcher) parseEnd(line string) leaseEnd {
	var left, end int64
	fmt.Sscan(line, &left, &end, &w.group)
	return leaseEnd{time.Now().Add(time.Duration(left)), time.Unix(0, end)}
}

// startCommand is for the starter: it starts the command.
func (w *watcher) startCommand() error {
	cmd := exec.Command(w.Program)
	cmd.Args, cmd.SysProcAttr = w.Command, &attributes
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if tty := openTerminal(); w.Foreground && tty != nil {
		attributes.Foreground, attributes.Ctty = true, int(tty.Fd())
		defer tty.Close()
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "zklock:", err)
		report(ended, 126<<8) // as if it had exited with 126
		return err
	}
	w.leader, w.group = cmd.Process.Pid, cmd.Process.Pid
	report(begun, w.leader)
	go w.reap()
	return nil
}

// report is for the starter: it tells the caller's process what has happened.
func report(what string, number int) { syscall.Write(reportFile, fmt.Appendln(nil, what, number)) }

// reap reaps all children, those that have lost their parents, too, until no process is left below.
func (w *watcher) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			close(w.gone)
			return
		case pid != w.leader:
		case status.Stopped():
			report(stopped, 0)
		default:
			report(ended, int(status))
			w.ended <- true
		}
	}
}

// kill kills all processes below this one until none is left: one may have started another one just before it was
// killed, and may take a while to end. If some have not ended for long, stuck is called once.
func kill(group int, gone <-chan struct{}, stuck func(pids []int)) {
	late := time.After(5 * time.Second)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var left []int
		eachBelow(group, func(pid int) {
			syscall.Kill(pid, syscall.SIGKILL)
			left = append(left, pid)
		})
		select {
		case <-gone:
			return
		case <-late:
			stuck(left)
		case <-time.After(pause):
		}
	}
}
