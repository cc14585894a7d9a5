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

// An Access is what a request does to a node or to a list of children.
type Access struct {
	Path string
	Kids bool // the list
	Mode byte // of a node: 'r' or 'w'; of a list: see clash
}

// clash reports whether the order of two accesses to one list of children matters. Their modes are:
// 'r' reads the list, 'c' makes a child, 'd' deletes one, 'n' makes one that gets the parent's next
// number, and 'g' reads a child by its name, which an 'n' may have made.
func clash(a, b byte) bool {
	both := string([]byte{min(a, b), max(a, b)}) // in the order of the alphabet
	switch both {
	case "cr", "dr", "nr", "gn", "cn", "nn":
		return true
	}
	return false
}

func (f *Footprint) client(c *Client) { f.Clients |= 1 << c.Index }

// request adds what a request does at the server.
func (f *Footprint) request(p Frame) {
	dir := path.Dir(p.Path)
	node := func(at string, mode byte) { f.Access = append(f.Access, Access{Path: at, Mode: mode}) }
	list := func(at string, mode byte) { f.Access = append(f.Access, Access{Path: at, Kids: true, Mode: mode}) }
	switch p.Op {
	case jute.OpGetData, jute.OpExists:
		node(p.Path, 'r')
		list(dir, 'g')
	case jute.OpGetChildren, jute.OpGetChildren2:
		node(p.Path, 'r')
		list(p.Path, 'r')
	case jute.OpMulti:
		f.Everything = f.Everything || p.kindOf() != jute.OpCreate
		// The parent may have another mark now, and its Stat in the answer has the number of children.
		node(dir, 'w')
		list(dir, 'n')
		list(dir, 'r')
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		node(dir, 'r')
		if p.numbered {
			list(dir, 'n')
		} else {
			node(p.Path, 'w')
			list(dir, 'c')
		}
	case jute.OpDelete:
		node(p.Path, 'w')
		list(dir, 'd')
	case jute.OpSync:
	default:
		f.Everything = true
	}
}

// Dependent reports whether the order of two actions may matter.
func (f *Footprint) Dependent(b *Footprint) bool {
	if f.Everything || b.Everything || f.Clients&b.Clients != 0 || f.Fault && b.Fault {
		return true
	}
	for _, x := range f.Access {
		for _, y := range b.Access {
			clashes := x.Kids && clash(x.Mode, y.Mode) || !x.Kids && (x.Mode == 'w' || y.Mode == 'w')
			if clashes && x.Path == y.Path && x.Kids == y.Kids {
				return true
			}
		}
	}
	return false
}
