// Package fence is a resource that checks the fencing token of each write.
//
// No lock can stop a holder that was paused and has lost its session unnoticed. The
// resource can: each holder shows a token that is higher than those of all holders
// before it, and the resource refuses a token that is lower than one that it has seen.
//
// The token and the value are the data of one znode. A write names the version of the
// node that it has checked, so that nothing can come between the check and the store.
// What is still wrong: if the node is deleted and made again in between, the new one
// begins at the same version, and a write with an old token passes.
package fence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// ErrStale is returned by Write when a higher token has been seen: the caller
// held the lock once, and does not hold it any more.
var ErrStale = errors.New("fence: stale token")

// A Register is a resource with one value. It is for many goroutines at once,
// and several processes may have the same register open.
type Register struct {
	conn *zk.Conn
	path string
}

// New opens the register at a path. It sends nothing; the first Write makes the
// node and its parents.
func New(conn *zk.Conn, path string) *Register {
	return &Register{conn: conn, path: path}
}

// Write stores a value for the holder of a token. If a write with a higher
// token has been stored before, it returns ErrStale and changes nothing. After
// any other error the value may have been stored or not, and the holder can call
// Write again.
func (r *Register) Write(token int64, value []byte) error {
	data := append(binary.BigEndian.AppendUint64(nil, uint64(token)), value...)
	for {
		seen, _, version, err := r.look()
		if err != nil {
			return err
		}
		switch {
		case version == missing:
			err = r.create(r.path, data)
		case token < seen:
			return fmt.Errorf("%w: %d, and %s has seen %d", ErrStale, token, r.path, seen)
		default:
			_, err = r.conn.Set(r.path, data, version)
		}
		// Another write has come in between: what was checked is no longer true.
		if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) {
			continue
		}
		if err != nil {
			return fmt.Errorf("fence: write %s: %w", r.path, err)
		}
		return nil
	}
}

// Read returns the value and the token that it was written with; before the
// first Write 0 and nil.
func (r *Register) Read() (token int64, value []byte, err error) {
	token, value, _, err = r.look()
	return token, value, err
}

const missing = -1 // is not a node's version

// look returns what is stored, and the version of the node that has it.
func (r *Register) look() (token int64, value []byte, version int32, err error) {
	data, stat, err := r.conn.Get(r.path)
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil, missing, nil
	}
	if err != nil {
		return 0, nil, 0, fmt.Errorf("fence: read %s: %w", r.path, err)
	}
	if len(data) < 8 {
		return 0, nil, 0, fmt.Errorf("fence: %s has no token: another program has made it", r.path)
	}
	return int64(binary.BigEndian.Uint64(data)), data[8:], stat.Version, nil
}

// create makes a node and, if they are missing, those above it. ErrNodeExists
// is about the node itself.
func (r *Register) create(name string, data []byte) error {
	for {
		_, err := r.conn.Create(name, data, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		err = r.create(path.Dir(name), nil)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
}
