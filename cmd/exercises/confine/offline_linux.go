package confine

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
)

// offlineArg is the argument of a process whose exit status says whether it has a network.
const offlineArg = "offline"

// namespaces are the clone flags that cut a process off. They ask for an empty network namespace. An account without
// rights may make one only in a user namespace, so both are tried first, then the network namespace alone. The flags
// are 0 if the kernel, or the container around this process, allows neither.
var namespaces = sync.OnceValue(func() uintptr {
	self, err := os.Executable()
	if err != nil {
		return 0
	}
	for _, flags := range []uintptr{syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, syscall.CLONE_NEWNET} {
		probe := exec.Command(self, offlineArg) // init, below, exits with 0 if it has no network
		cloneWith(probe, flags)
		if probe.Run() == nil {
			return flags
		}
	}
	return 0
})

// Offline cuts a process off the network, if the system allows that, and reports whether it
// does. The loopback interface of the process is down, too.
func Offline(cmd *exec.Cmd) bool {
	flags := namespaces()
	cloneWith(cmd, flags)
	return flags != 0
}

// cloneWith has a command start with clone flags.
func cloneWith(cmd *exec.Cmd, flags uintptr) {
	if flags == 0 {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags = flags
	if flags&syscall.CLONE_NEWUSER != 0 { // inside it is the same account: otherwise it could not use its own files
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

func init() {
	if len(os.Args) != 2 || os.Args[1] != offlineArg {
		return
	}
	list, err := net.Interfaces()
	isUp := func(i net.Interface) bool { return i.Flags&net.FlagUp != 0 }
	if err != nil || slices.ContainsFunc(list, isUp) {
		os.Exit(1)
	}
	os.Exit(0)
}
