package stage

import (
	"slices"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// Held is a request or a reply that a slow network delays.
type Held struct {
	c     *Client
	fault *zkserver.Fault
	what  string
}

// match returns a function that reports whether a request is the client's and
// of this kind.
func (c *Client) match(op jute.Op, path []string) func(zkserver.Request) bool {
	id := c.SessionID()
	return func(r zkserver.Request) bool {
		return r.Session == id && r.Op == op && (len(path) == 0 || r.Path == path[0])
	}
}

// HoldRequest holds the client's next request of this kind, for path if one is
// given, on its way to the server.
func (c *Client) HoldRequest(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.Hold(c.match(op, path)), "is slow to arrive"}
}

// HoldAny holds the client's next request of one of these kinds.
func (c *Client) HoldAny(ops ...jute.Op) *Held {
	id := c.SessionID()
	return &Held{c, c.s.Server.Hold(func(r zkserver.Request) bool {
		return r.Session == id && slices.Contains(ops, r.Op)
	}), "is slow to arrive"}
}

// HoldNth holds the client's n-th request of this kind from now on.
func (c *Client) HoldNth(n int, op jute.Op) *Held {
	match, left := c.match(op, nil), n
	return &Held{c, c.s.Server.Hold(func(r zkserver.Request) bool {
		if match(r) {
			left--
		}
		return match(r) && left == 0
	}), "is slow to arrive"}
}

// HoldReply holds the reply to the client's next request of this kind on its
// way back, and everything that the server sends after it.
func (c *Client) HoldReply(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.HoldReply(c.match(op, path)), "is carried out, the reply is slow"}
}

// LoseReply lets the server carry out the client's next request of this kind.
// The server then closes the connection and sends no reply.
func (c *Client) LoseReply(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.LoseReply(c.match(op, path)), "is carried out, the reply is lost with the connection"}
}

// FailNext answers the client's next request of this kind with an error.
func (c *Client) FailNext(op jute.Op, code jute.Code) {
	c.s.Server.Fail(code, c.match(op, nil))
}

// Reached fails the play unless a request or a reply is held here.
func (h *Held) Reached() {
	h.c.s.Helper()
	h.c.s.Settle()
	select {
	case r := <-h.fault.Hit():
		h.c.s.Note("%v of %v %s", opName(r.Op), h.c, h.what)
	default:
		h.c.s.fails("%v has not sent the request that is to be held", "%v 没有发出要扣住的那个请求", h.c.text())
	}
}

// Release lets the request or the reply go on.
func (h *Held) Release() {
	h.c.s.Helper()
	h.fault.Release()
	h.c.s.Settle()
}
