package giveup

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/steps"
)

// TestExplore allows the lost reply to create as an error: exercise 6 cures it.
func TestExplore(t *testing.T) {
	exploretest.Test(t, explore.Subject{
		Name: "giveup",
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return locks.Alone(New)(conn, path, explore.SessionTimeout)
		},
		NotLocked: func(err error) bool { return errors.Is(err, ErrNotLocked) },
		Queue:     true,
		Contexts:  true,
		Known:     []explore.Known{steps.LostReply, steps.Wrap},
	})
}
