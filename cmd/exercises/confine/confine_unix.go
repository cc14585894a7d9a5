//go:build linux || darwin

package confine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// limitedArg is the first argument of a process that limits itself and then becomes another program.
const limitedArg = "limited"

// Limit has a command run in a process group of its own, with limits that its processes inherit:
// each may use seconds of the processor and reserve twice as many bytes as memory, and 4 GiB.
// If this program cannot start itself, the command runs without these limits.
func Limit(cmd *exec.Cmd, seconds int, memory int64) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	self, err := os.Executable()
	if err != nil || cmd.Err != nil {
		return
	}
	cmd.Args = append([]string{self, limitedArg, strconv.Itoa(seconds), strconv.FormatInt(memory, 10), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = self
}

func init() {
	args := os.Args[1:]
	if len(args) < 4 || args[0] != limitedArg {
		return
	}
	seconds, err := strconv.ParseUint(args[1], 10, 63) // bits, as a limit has
	memory, err2 := strconv.ParseUint(args[2], 10, 62) // one bit less: twice as much is still below the largest limit
	if err != nil || err2 != nil {
		fmt.Fprintln(os.Stderr, "exercises: limited:", err, err2)
		os.Exit(2)
	}
	set(syscall.RLIMIT_CPU, seconds)
	set(syscall.RLIMIT_FSIZE, maxFile)
	set(syscall.RLIMIT_CORE, 0)
	if runtime.GOOS == "linux" {
		// A Go program reserves addresses that it does not use: some GiB, and more as its heap grows.
		set(syscall.RLIMIT_AS, 2*memory+4<<30)
	}
	err = syscall.Exec(args[3], args[3:], os.Environ()) // it returns only if it fails
	fmt.Fprintln(os.Stderr, "exercises: limited:", err)
	os.Exit(2)
}

// maxFile is how large a file may become, in bytes.
const maxFile = 256 << 20

// set lowers a limit of this process. A limit that is lower already stays. An error is ignored: the cell watches, too.
func set(resource int, n uint64) {
	var now syscall.Rlimit
	if syscall.Getrlimit(resource, &now) == nil && now.Max < n {
		n = now.Max
	}
	syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}

// KillGroup ends a process and the group that it leads.
func KillGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
