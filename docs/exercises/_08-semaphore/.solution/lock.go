// Package semaphore is a fair queue in which as many contenders are inside at a
// time as there are permits: step 3's queue, in which the contenders with the
// smallest numbers are inside.
//
// With n permits a contender is inside when fewer than n nodes are before its
// own. So it waits for the n nodes just before its own: while all of them are there
// it cannot be inside, and it may be as soon as one of them has gone, whichever
// that is. To watch only one of them is not enough, because those inside leave
// in any order; to watch the list wakes everybody.
//
// Cost: a contender that has to wait sends create, children, n times get (with
// the watch), children and delete. If those inside leave in the order in which
// they came a release wakes one waiter, and n at most if not. A contender that
// gets in while some of the nodes that it watches are there keeps a watch and
// a goroutine for each until they go.
package semaphore

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrNotAcquired is returned by Release when the contender is not inside: it
// never was, its session has ended since, or an earlier Release let it out but
// the reply was lost.
var ErrNotAcquired = errors.New("semaphore: not acquired")

const prefix = "place-" // the server appends the number, ten digits

// A Semaphore is one contender for a place inside. It is for one goroutine at a
// time, and can be used again after Release.
type Semaphore struct {
	conn    *zk.Conn
	path    string
	permits int
	node    string // our node's path while we are inside; "" when we are not
}

// New returns a contender for the semaphore whose queue is under path. All
// contenders must agree on the number of permits. The parent and all nodes above
// it are created when they are needed.
func New(conn *zk.Conn, path string, permits int) *Semaphore {
	return &Semaphore{conn: conn, path: path, permits: permits}
}

// Acquire waits until it is inside, for as long as that takes. If it returns an
// error, it is not inside, and it has left the queue or the error says that its
// node is still there.
func (s *Semaphore) Acquire() error {
	node, err := s.enqueue()
	if err != nil {
		return err
	}
	watched := make(map[string]*atomic.Bool)
	// One event that has not been looked at is enough: the list is read after it.
	woken := make(chan zk.Event, 1)
	for {
		before, err := s.before(node)
		if err != nil {
			return s.giveUp(node, err)
		}
		if len(before) < s.permits {
			s.node = node
			return nil
		}
		gone, err := s.watch(before[len(before)-s.permits:], watched, woken)
		if err != nil {
			return s.giveUp(node, err)
		}
		if gone {
			continue
		}
		if event := <-woken; event.Err != nil {
			return s.giveUp(node, event.Err)
		}
	}
}

// TryAcquire goes inside if there is room. It does not wait for a release. If it
// returns false and no error, there is no room, and no node of ours is left
// behind.
func (s *Semaphore) TryAcquire() (bool, error) {
	node, err := s.enqueue()
	if err != nil {
		return false, err
	}
	before, err := s.before(node)
	if err == nil && len(before) < s.permits {
		s.node = node
		return true, nil
	}
	return false, s.giveUp(node, err)
}

// watch sets a watch on each of the nodes that has none, or whose watch has fired: a change
// of its data uses it up. True: one of them has gone already.
func (s *Semaphore) watch(names []string, watched map[string]*atomic.Bool, woken chan zk.Event) (gone bool, err error) {
	for _, name := range names {
		if fired := watched[name]; fired != nil && !fired.Load() {
			continue
		}
		// GetW and not ExistsW: if the node was deleted after the list was
		// read, ExistsW would set a watch that nothing ever fires.
		_, _, changed, err := s.conn.GetW(s.path + "/" + name)
		if errors.Is(err, zk.ErrNoNode) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		fired := new(atomic.Bool)
		watched[name] = fired
		go func() {
			event := <-changed
			fired.Store(true) // before the waiter wakes
			select {
			case woken <- event:
			default:
			}
		}()
	}
	return false, nil
}

// enqueue creates our node, at the end of the queue.
func (s *Semaphore) enqueue() (node string, err error) {
	if s.permits < 1 {
		return "", fmt.Errorf("semaphore: acquire %s: %d permits are less than one", s.path, s.permits)
	}
	for {
		node, err = s.conn.Create(s.path+"/"+prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err == nil {
			return node, nil
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = s.createParents(s.path)
		}
		if err != nil {
			return "", fmt.Errorf("semaphore: acquire %s: %w", s.path, err)
		}
	}
}

func (s *Semaphore) createParents(dir string) error {
	for {
		_, err := s.conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil // another contender was faster
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := s.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// before lists the nodes before ours, in the order of the queue.
func (s *Semaphore) before(node string) (names []string, err error) {
	children, _, err := s.conn.Children(s.path)
	if err != nil {
		return nil, err
	}
	name := path.Base(node)
	found := false
	for _, child := range children {
		if len(child) != len(name) || !strings.HasPrefix(child, prefix) {
			continue // this node is not a contender's
		}
		found = found || child == name
		if child < name {
			names = append(names, child)
		}
	}
	if !found {
		return nil, fmt.Errorf("our node is gone, most likely with its session: %w", zk.ErrNoNode)
	}
	slices.Sort(names)
	return names, nil
}

// giveUp leaves the queue: a node left behind would take a place from all later
// contenders. It returns cause, joined with the error of the delete, if any.
func (s *Semaphore) giveUp(node string, cause error) error {
	if cause != nil {
		cause = fmt.Errorf("semaphore: wait at %s: %w", node, cause)
	}
	if errors.Is(cause, zk.ErrSessionExpired) || errors.Is(cause, zk.ErrClosing) {
		return cause // the server deletes the node at the end of the session
	}
	// When a connection breaks, the requests under way fail. A moment later
	// the client has noticed, and the next delete waits for a new connection.
	var err error
	for range 3 {
		err = s.conn.Delete(node, -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return cause
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(cause, fmt.Errorf("semaphore: %s stays in the queue until its session ends: %w", node, err))
}

// Release goes out. It returns ErrNotAcquired if this contender is not inside.
// After any other error it may still be inside, and Release can be called
// again.
func (s *Semaphore) Release() error {
	if s.node == "" {
		return ErrNotAcquired
	}
	err := s.conn.Delete(s.node, -1)
	if errors.Is(err, zk.ErrNoNode) {
		err = fmt.Errorf("%w: %s is gone, most likely with its session", ErrNotAcquired, s.node)
		s.node = ""
		return err
	}
	if err != nil {
		return fmt.Errorf("semaphore: release %s: %w", s.node, err)
	}
	s.node = ""
	return nil
}
