package report

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Facts describe the server and the machine that a figure was measured on.
type Facts struct {
	Members []string  `json:"servers"` // version and mode of each
	Go      string    `json:"go"`
	OS      string    `json:"os"`
	CPU     string    `json:"cpu"`
	CPUs    int       `json:"cpus"`
	Began   time.Time `json:"began"`
	Command string    `json:"command"`
}

// GatherFacts asks the system. Members are the ZooKeeper servers.
func GatherFacts(members []string) Facts {
	return Facts{
		Members: members,
		Go:      runtime.Version(),
		OS:      valueIn("/etc/os-release", "PRETTY_NAME=", runtime.GOOS) + ", " + runtime.GOARCH,
		CPU:     valueIn("/proc/cpuinfo", "model name", "of unknown make"),
		CPUs:    runtime.NumCPU(),
		Began:   time.Now().Truncate(time.Second),
	}
}

// valueIn returns what follows a key at the beginning of a line, which only some systems have.
func valueIn(file, key, otherwise string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key); ok {
			return strings.Trim(v, "\t\n :\"")
		}
	}
	return otherwise
}

// GoClient is the client library of all but Curator, with its version if the program's build information has it.
var GoClient = func() string {
	const module = "github.com/go-zookeeper/zk"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return "go-zookeeper " + dep.Version
			}
		}
	}
	return "go-zookeeper"
}()
