package player

import (
	"path"

	"example.com/zklock/internal/jute"
)

// A Footprint is what an action has touched. Two actions that have touched different things can be swapped.
type Footprint struct {
	Clients    uint64   // a bit for each, by its Index
	Everything bool     // time has passed, or a session or a connection has ended
	Fault      bool     // it was one of the faults that may happen
	Access     []Access // to nodes of the server
}

// An Access is what a request does to a node or, if Kids, to the list of its children.
type Access struct {
	Path string
	Kids bool
	Mode accessMode
}

type accessMode byte

const (
	reads   accessMode = iota // a node, or a list
	writes                    // a node
	adds                      // a child to a list
	appends                   // to a list, a child that gets the parent's next number
	deletes                   // a child from a list
	finds                     // in a list, a node that is read: an append does not say which node it makes
)

// Dependent reports whether the order of two actions may matter.
func (f *Footprint) Dependent(b *Footprint) bool {
	if f.Everything || b.Everything || f.Clients&b.Clients != 0 || f.Fault && b.Fault {
		return true
	}
	for _, x := range f.Access {
		for _, y := range b.Access {
			if x.Kids == y.Kids && x.clashes(y) && x.Path == y.Path {
				return true
			}
		}
	}
	return false
}

// clashes reports whether the order of two accesses to one node, or to one list of children, matters.
func (x Access) clashes(y Access) bool {
	switch {
	case !x.Kids: // only reads can be swapped
		return x.Mode == writes || y.Mode == writes
	case x.Mode == appends || y.Mode == appends: // only a delete changes neither its number nor its name
		return x.Mode != deletes && y.Mode != deletes
	case x.Mode == reads: // a list is read before or after a change
		return y.Mode == adds || y.Mode == deletes
	}
	return y.Mode == reads && (x.Mode == adds || x.Mode == deletes)
}

func (f *Footprint) addClient(c *Client) { f.Clients |= 1 << c.Index }

func (f *Footprint) addRequest(p Frame) {
	parent := path.Dir(p.Path)
	node := func(at string, mode accessMode) { f.Access = append(f.Access, Access{Path: at, Mode: mode}) }
	list := func(at string, mode accessMode) {
		f.Access = append(f.Access, Access{Path: at, Kids: true, Mode: mode})
	}
	switch p.Op {
	case jute.OpGetData, jute.OpExists:
		node(p.Path, reads)
		list(parent, finds)
	case jute.OpGetChildren, jute.OpGetChildren2:
		node(p.Path, reads)
		list(p.Path, reads)
	case jute.OpMulti:
		f.Everything = f.Everything || p.mainOp() != jute.OpCreate // another multi may change any node
		// The parent may have another mark now, and its Stat in the answer has the number of children.
		node(parent, writes)
		list(parent, appends)
		list(parent, reads)
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		node(parent, reads)
		if p.sequential {
			list(parent, appends)
		} else {
			node(p.Path, writes)
			list(parent, adds)
		}
	case jute.OpDelete:
		node(p.Path, writes)
		list(parent, deletes)
	case jute.OpSync:
	default:
		f.Everything = true
	}
}
