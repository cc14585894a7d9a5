package stage

import (
	"slices"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/language"
	"example.com/zklock/zkserver"
)

// Held is a request or a reply that a slow network delays.
type Held struct {
	c     *Client
	fault *zkserver.Fault
	what  func(op string) language.Text // says what happens to it
}

func (c *Client) slow(op string) language.Text {
	return language.Say("%s of %s is slow to arrive", "%[2]s 的 %[1]s 还在路上", op, c.text())
}

func (c *Client) slowReply(op string) language.Text {
	return language.Say("%s of %s is carried out, the reply is slow", "%[2]s 的 %[1]s 已经执行，响应还在路上", op, c.text())
}

func (c *Client) lost(op string) language.Text { return LostReply(op, c.Name) }

// LostReply says that the reply to a client's request is lost.
func LostReply(op, client string) language.Text {
	return language.Say("%s of %s is carried out, the reply is lost with the connection", "%[2]s 的 %[1]s 已经执行，连接断开，响应丢失", op, clientText(client))
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
	return &Held{c, c.s.Server.Hold(c.match(op, path)), c.slow}
}

// HoldAny holds the client's next request of one of these kinds.
func (c *Client) HoldAny(ops ...jute.Op) *Held {
	id := c.SessionID()
	return &Held{c, c.s.Server.Hold(func(r zkserver.Request) bool {
		return r.Session == id && slices.Contains(ops, r.Op)
	}), c.slow}
}

// HoldReply holds the reply to the client's next request of this kind on its
// way back, and everything that the server sends after it.
func (c *Client) HoldReply(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.HoldReply(c.match(op, path)), c.slowReply}
}

// LoseReply lets the server carry out the client's next request of this kind.
// The server then closes the connection and sends no reply.
func (c *Client) LoseReply(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.LoseReply(c.match(op, path)), c.lost}
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
		h.c.s.note("", "S", h.what(opName(r.Op)))
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
