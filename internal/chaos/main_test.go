//go:build linux

package chaos_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"example.com/zklock/internal/ensemble"
)

// TestMain removes the servers, also when the process gets a signal to end. What a
// killed process leaves, the next one removes.
func TestMain(m *testing.M) {
	ensemble.AnswerTimeout = time.Minute // for a server on a busy machine
	if os.Getenv(clientEnv) != "" {
		os.Exit(beClient())
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		ensemble.CloseShared()
		os.Exit(1)
	}()
	status := m.Run()
	ensemble.CloseShared()
	os.Exit(status)
}
