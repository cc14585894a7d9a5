package zkserver

import "net"

// Serve takes over a connection from a client and returns at once: Dial for
// a caller that brings its own line. The server closes nc when it is done
// with it. After Close it returns ErrClosed and leaves nc alone.
func (s *Server) Serve(nc net.Conn) error { return s.serve(nc) }
