package confine

import (
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// offlineArg, in the place of a command, has this process say with its exit status
// that it has no network.
const offlineArg = "offline"

// namespaces are those in which a process is cut off: an empty network namespace,
// and for an account without rights a user namespace, in which it may make one. 0:
// the kernel, or the container around this process, allows neither.
var namespaces = sync.OnceValue(func() uintptr {
	self, err := os.Executable()
	if err != nil {
		return 0
	}
	for _, flags := range []uintptr{syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, syscall.CLONE_NEWNET} {
		probe := exec.Command(self, offlineArg)
		into(probe, flags)
		if probe.Run() == nil {
			return flags
		}
	}
	return 0
})

// Offline cuts a process off the network, where the system lets us. Its loopback
// interface is down, too. It reports whether that is so.
func Offline(cmd *exec.Cmd) bool {
	flags := namespaces()
	into(cmd, flags)
	return flags != 0
}

func into(cmd *exec.Cmd, flags uintptr) {
	if flags == 0 {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags = flags
	if flags&syscall.CLONE_NEWUSER != 0 { // the same account inside, or it could not use its own files
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

func init() {
	if len(os.Args) != 2 || os.Args[1] != offlineArg {
		return
	}
	list, err := net.Interfaces()
	for _, i := range list {
		if i.Flags&net.FlagUp != 0 {
			os.Exit(1)
		}
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
