// Package listings has the articles' ZooKeeper locks, in Go and in the shape of the articles' Java, with all their
// bugs. Comments such as [A7] mark the lines of each bug; docs/bugs.md explains it. One file has one listing.
//
// A listing that waits with what package java offers needs [java.Begin].
package listings

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// A Lock is one contender.
type Lock = interface {
	Lock() error
	Unlock() error
}

// New makes a contender for the lock at path.
type New = func(conn *zk.Conn, path string) Lock

// ErrFalse stands for the article's return value false.
var ErrFalse = errors.New("listings: the lock call returned false")

// False returns ErrFalse if the article's lock call returned false.
func False(ok bool) error {
	if !ok {
		return ErrFalse
	}
	return nil
}
