package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"example.com/zklock/cmd/exercises/confine"
	"example.com/zklock/internal/i18n"
)

// Limits are what one attempt may use. Time is processor time: an attempt does not pay for a machine that is slow.
type limits struct {
	time    time.Duration // of the processor: to build, and again to run
	memory  int64         // in bytes, of all processes of the attempt together
	begin   time.Duration // of the processor, to run each init; 0: as long as beginning, in run.go
	waiting time.Duration // of the clock, in which no process of the attempt can run, because all wait; 0: no limit
	ceiling time.Duration // of the clock: after it, the machine is too busy to grade; 0: busyFactor times as much as time
}

// busyFactor is how much slower than an idle machine the grading machine may be.
const busyFactor = 10

func (l limits) clock() time.Duration { return cmp.Or(l.ceiling, busyFactor*l.time) }

const (
	maxProcesses = 32                    // that live at once; an attempt needs one
	beat         = 50 * time.Millisecond // between two looks at what the cell uses
	cellVariable = "EXERCISES_CELL"      // in the environment of every process of a cell
	maxOutput    = 64 << 10              // bytes of a process's output that are kept
)

// tooBusy says that the machine has not given an attempt the time to be graded.
type tooBusy struct{ error }

// A cell is where the processes of one attempt run: each in a process group, with limits, and
// with a folder of the cell. When the cell ends, they end.
//
// On Unix the system limits processor time, address space and the size of files of each process. On Linux the cell also
// watches the processor time, the memory and the number of processes of its whole group, finds processes that have left
// the group, and has no network if the kernel allows namespaces. On Windows it has the ceiling alone.
type cell struct {
	limits
	id  string // by which its processes are found
	dir string // home, working and temporary directory
	end context.CancelFunc

	mu    sync.Mutex    // guards what follows
	live  map[int]bool  // leaders of process groups
	spent time.Duration // of the processor, by those that have ended
	why   ending
}

// An ending is the reason why a cell is over. Its text is empty while the cell is not over.
type ending struct {
	i18n.Text
	busy    bool // the machine was too busy; nothing is wrong with the attempt
	endless bool // a process has not come to an end
}

// newCell makes a cell that is over when ctx ends. The caller must close it.
func newCell(ctx context.Context, l limits) (*cell, error) {
	dir, err := os.MkdirTemp("", "exercises-")
	if err != nil {
		return nil, err
	}
	c := &cell{limits: l, id: rand.Text(), dir: dir, live: make(map[int]bool)}
	ctx, c.end = context.WithCancel(ctx)
	go c.watch(ctx)
	return c, nil
}

// stop ends all processes. Of several calls, the reason of the first one counts.
func (c *cell) stop(why ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why.String() == "" {
		c.why = why
	}
	for pid := range c.live {
		confine.KillGroup(pid)
	}
}

func (c *cell) over() ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// tooBusy is an error if the cell is over because of the machine.
func (c *cell) tooBusy() error {
	if why := c.over(); why.busy {
		return tooBusy{i18n.Errorf("%s", why.Text)}
	}
	return nil
}

// watch stops the cell when ctx ends or a limit is reached.
func (c *cell) watch(ctx context.Context) {
	ceiling := time.NewTimer(c.clock())
	defer ceiling.Stop()
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	var waited time.Duration // since some process could run
	for {
		select {
		case <-ctx.Done():
			c.stop(ending{Text: "it was interrupted"})
			return
		case <-ceiling.C:
			got := c.usage().time.Round(10 * time.Millisecond)
			advice := 2 * c.clock() / busyFactor // the -limit with which the ceiling is twice as high
			c.stop(ending{busy: true, Text: i18n.Textf(
				"nothing was graded: the machine is too busy. In %v the attempt has got %v of processor time, and may use %v. "+
					"Try again, or wait longer with -limit %v", c.clock(), got, c.time, advice)})
			return
		case <-ticks.C:
		}

		used := c.usage()
		waited += beat
		if !used.waits {
			waited = 0
		}
		switch {
		case used.time > c.time, c.waiting > 0 && waited > c.waiting: // it spins, or it waits for nothing
			c.stop(ending{endless: true, Text: i18n.Textf("it has not come to an end in %v of processor time", c.time)})
		case used.memory > c.memory:
			c.stop(ending{Text: i18n.Textf("it uses more than %s of memory", bytesOf(c.memory))})
		case used.processes > maxProcesses:
			c.stop(ending{Text: i18n.Textf("it starts processes: there are more than %d", maxProcesses)})
		}
	}
}

type resources struct {
	memory    int64 // in bytes
	processes int
	time      time.Duration // of the processor; it includes that of processes that have ended
	waits     bool          // no process runs, or could run
}

func (c *cell) usage() resources {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := resources{time: c.spent, waits: true}
	for pid := range c.live {
		u := groupUsage(pid)
		all.memory += u.memory
		all.processes += u.processes
		all.time += u.time
		all.waits = all.waits && u.waits
	}
	return all
}

// close ends the cell. No process and no file of it is left.
func (c *cell) close() {
	c.stop(ending{Text: "it is over"})
	c.end()
	sweep(c.id)
	os.RemoveAll(c.dir)
}

// command prepares a process that has the cell's limits.
func (c *cell) command(program string, args, env []string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(env, cellVariable+"="+c.id)
	// The system's limit is higher than the cell's, so that watch, which may be late, ends the cell and gives the reason.
	seconds := 1 + 2*int(c.time.Seconds())
	confine.Limit(cmd, seconds, c.memory)
	return cmd
}

// ofStudent prepares a process of the student's, in the cell's folder. It has no network, if the system lets us.
func (c *cell) ofStudent(program string, args []string, env ...string) *exec.Cmd {
	cmd := c.command(program, args, append(c.bare(), env...))
	cmd.Dir = c.dir
	confine.Offline(cmd)
	return cmd
}

// started has the cell watch a process that was prepared by command.
func (c *cell) started(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[pid] = true
	if c.why.String() != "" { // the cell is over, and stop has not seen this process
		confine.KillGroup(pid)
	}
}

// done ends a process and all that it has started.
func (c *cell) done(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live[pid] {
		c.spent += groupUsage(pid).time // of those still alive: run adds the time of those that were waited for
		confine.KillGroup(pid)
		delete(c.live, pid)
	}
}

// run runs a process, and then ends all that it has started. Ended is how it ended, and err why it does not start.
func (c *cell) run(cmd *exec.Cmd) (ended, err error) {
	cmd.WaitDelay = time.Minute // for output that a process outside the group keeps open
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.started(cmd.Process.Pid)
	ended = cmd.Wait()
	c.done(cmd.Process.Pid)
	c.mu.Lock()
	c.spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.mu.Unlock()
	return ended, nil
}

// bare is the environment of an attempt's process.
func (c *cell) bare() []string {
	collect := c.memory * 3 / 4 // Go collects garbage at this size, before the attempt is over its limit
	env := []string{"HOME=" + c.dir, "TMPDIR=" + c.dir, "TMP=" + c.dir, "TEMP=" + c.dir, "USERPROFILE=" + c.dir,
		"GOMEMLIMIT=" + strconv.FormatInt(collect, 10)}
	if root, ok := os.LookupEnv("SystemRoot"); ok { // Windows starts no program without it
		env = append(env, "SystemRoot="+root)
	}
	return env
}

// capped keeps the beginning of what is written. The buffer is not embedded, because io.Copy would fill it past Write.
type capped struct{ kept bytes.Buffer }

func (w *capped) Write(b []byte) (int, error) {
	if room := maxOutput - w.kept.Len(); room > 0 {
		w.kept.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (w *capped) String() string { return w.kept.String() }

// bytesOf is a number of bytes for a reader, in the largest unit that divides it.
func bytesOf(n int64) string {
	if n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
