package zkconn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	lookUpLimit = 3 * time.Second // for a name
	lookUpWait  = time.Second     // for the other names, once there is an address
	lookUpPause = time.Second     // after a look-up without an address
)

var errLookingUp = errors.New("its addresses are being looked up")

// lookupHost is replaced by tests.
var lookupHost = func(ctx context.Context, host string) ([]string, error) {
	return net.DefaultResolver.LookupHost(ctx, host)
}

// hosts is a zk.HostProvider that looks its names up again. Package zk's own does so once, and all names must exist.
//
// The client holds a mutex while Next runs, and any request that fails may need
// it. So Next never waits for a look-up: the answer is used when it is there.
type hosts struct {
	ctx        context.Context // of Connect: Init returns when it ends
	client     *client
	lookupHost func(ctx context.Context, host string) ([]string, error)

	mu        sync.Mutex
	names     []*serverName
	addresses []string // in the order in which they are tried, from next on
	next      int
	tried     int  // addresses that were tried since a session was lost; the one that had it counts
	connected bool // a session has begun since the last call of Next
}

// A serverName is a server as the caller has given it. hosts.mu guards its fields.
type serverName struct {
	server     string // host:port
	host, port string
	busy       bool     // it is being looked up
	addresses  []string // of the last look-up that succeeded
	err        error    // of the last look-up
	warned     bool     // that it has never had an address
}

// Init returns when there is an address to try. It waits a little longer for names that are still being looked up.
func (h *hosts) Init(servers []string) error {
	for _, server := range servers {
		host, port, err := splitServer(server)
		if err != nil {
			return err
		}
		n := &serverName{server: server, host: host, port: port}
		if _, err := netip.ParseAddr(host); err == nil {
			n.addresses = []string{server}
		}
		h.names = append(h.names, n)
	}
	h.arrangeLocked() // not locked: no other goroutine has h yet

	for {
		h.mu.Lock()
		pending, done := h.startLookUpsLocked()
		h.mu.Unlock()
		if err := h.awaitLookUps(pending, done); err != nil || h.Len() > 0 {
			return err
		}
		if err := h.noneExists(); err != nil {
			return err
		}
		select {
		case <-time.After(lookUpPause):
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
}

// awaitLookUps waits until all pending look-ups are done, but once there is an address no longer than lookUpWait.
func (h *hosts) awaitLookUps(pending int, done <-chan struct{}) error {
	var enough <-chan time.Time
	for ; pending > 0; pending-- {
		if enough == nil && h.Len() > 0 {
			enough = time.After(lookUpWait)
		}
		select {
		case <-done:
		case <-enough:
			return nil
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
	return nil
}

// splitServer splits host:port. Its error says what to write in place of a server that cannot work.
func splitServer(server string) (host, port string, err error) {
	if scheme, rest, ok := strings.Cut(server, "://"); ok {
		servers := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '/' })
		first := append(servers, "")[0] // nothing if there is none
		return "", "", fmt.Errorf("%q is not host:port: leave out %s:// and what follows a slash, "+
			"and give each server as a string of its own, such as %q", server, scheme, first)
	}
	if strings.ContainsAny(server, ",; \t\n") {
		return "", "", fmt.Errorf("%q is more than one server: give each as a string of its own, and without a space inside", server)
	}
	if before, root, ok := strings.Cut(server, "/"); ok {
		root, _, _ = strings.Cut(root, ":") // package zk has added the port
		return "", "", fmt.Errorf("%q is not host:port; the client has no chroot: use %q and put /%s in front of each path",
			server, before, root)
	}
	host, port, err = net.SplitHostPort(server)
	address, addressErr := netip.ParseAddr(strings.Trim(server, "[]"))
	number, numberErr := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil && addressErr == nil:
		err = fmt.Errorf("%q is not host:port: give it as \"[%v]:2181\"", server, address)
	case err != nil:
	case host == "":
		err = fmt.Errorf("%q has no host: give each server as host:port", server)
	case numberErr != nil || number == 0:
		err = fmt.Errorf("%q: the port %q is not a number from 1 to 65535", server, port)
	}
	return host, port, err
}

func (h *hosts) noneExists() (all error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.names {
		var err *net.DNSError
		switch {
		case !errors.As(n.err, &err) || !err.IsNotFound:
			return nil
		case all == nil:
			all = n.err
		default:
			all = fmt.Errorf("%w; %w", all, n.err)
		}
	}
	return all
}

// hostOf returns the host of the first name that has this address.
func (h *hosts) hostOf(address string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.names {
		if slices.Contains(n.addresses, address) {
			return n.host
		}
	}
	host, _, err := net.SplitHostPort(address) // of a host provider of the caller's
	if err != nil {
		return address
	}
	return host
}

func (h *hosts) Len() int { return len(h.all()) }

func (h *hosts) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.addresses)
}

// Next returns the next address. retryStart: all have been tried. Then, and after a session, it begins a look-up.
func (h *hosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if retryStart = h.tried >= len(h.addresses); retryStart {
		h.tried = 0
	}
	if retryStart || h.connected {
		h.startLookUpsLocked()
	}
	h.connected = false
	h.tried++
	server = h.addresses[h.next]
	h.next = (h.next + 1) % len(h.addresses)
	return server, retryStart
}

// Connected is called by the client when it has a session at the server that Next has returned last.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried, h.connected = 1, true
}

// startLookUpsLocked begins to look up the names that are not being looked up. At the end of each, done gets a value.
func (h *hosts) startLookUpsLocked() (pending int, done <-chan struct{}) {
	oneDone := make(chan struct{}, len(h.names))
	for _, n := range h.names {
		if _, err := netip.ParseAddr(n.host); err == nil || n.busy {
			continue
		}
		pending++
		n.busy = true
		h.client.lookedUp(n.server, errLookingUp)
		go func() {
			h.lookUp(n)
			oneDone <- struct{}{}
		}()
	}
	return pending, oneDone
}

// lookUp looks up a name, and notes its addresses. It logs a name that has never had one, once.
func (h *hosts) lookUp(n *serverName) {
	ctx, cancel := context.WithTimeout(h.client.ctx, lookUpLimit)
	defer cancel()
	found, err := h.lookupHost(ctx, n.host)

	h.mu.Lock()
	n.busy, n.err = false, err
	h.client.lookedUp(n.server, err)
	warn := err != nil && n.addresses == nil && !n.warned && h.client.ctx.Err() == nil
	n.warned = n.warned || warn
	if err == nil {
		n.addresses = nil
		for _, address := range found {
			n.addresses = append(n.addresses, net.JoinHostPort(address, n.port))
		}
		h.arrangeLocked()
	}
	h.mu.Unlock()

	if warn {
		h.client.logger.Warn("zkconn: a server's name has no address", "server", n.server, "err", err)
	}
}

// arrangeLocked puts new addresses before the known ones, which are dead if the servers have moved.
func (h *hosts) arrangeLocked() {
	known := slices.Concat(h.addresses[h.next:], h.addresses[:h.next])
	var current, fresh []string // the names' addresses, and those of them that are not known yet
	for _, n := range h.names {
		current = append(current, n.addresses...)
	}
	for _, address := range current {
		if !slices.Contains(known, address) && !slices.Contains(fresh, address) {
			fresh = append(fresh, address)
		}
	}

	kept := slices.DeleteFunc(known, func(address string) bool { return !slices.Contains(current, address) })
	rand.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
	h.addresses, h.next = append(fresh, kept...), 0
	h.tried = min(h.tried, len(kept))
}
