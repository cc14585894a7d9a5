//go:build linux

package chaos_test

import (
	"os"
	"testing"
	"time"

	"example.com/zklock/internal/ensemble"
)

var removeServers = func() {} // that tests have started in Docker

func TestMain(m *testing.M) {
	ensemble.AnswerTimeout = time.Minute // for a server on a busy machine
	if os.Getenv(clientEnv) != "" {
		os.Exit(beClient())
	}
	status := m.Run()
	removeServers()
	os.Exit(status)
}
