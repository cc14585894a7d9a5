// Package ensemble opens the ZooKeeper that a benchmark or a test is to run
// against: the embedded one, or one that runs already.
package ensemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

const SpecEmbedded = "embedded" // the spec of the server inside the process

// An Ensemble is a ZooKeeper that can be connected to. All methods may be called from any goroutine.
type Ensemble struct {
	servers []string
	label   string
	dial    wiretap.Dialer
	server  *zkserver.Server // that Open has started, or nil
	inside  bool             // the server is in this process
}

// AnswerTimeout is how long Open waits for a server's answer to srvr. Time in which the whole machine stops does not
// count. Tests with silent servers set a shorter one.
var AnswerTimeout = 10 * time.Second

// retryTimeout is how long one request to a server may take where it is tried more than once.
const retryTimeout = 3 * time.Second

// Open starts or finds the ZooKeeper that spec names: "embedded" (or ""), or "host:port,host:port,…" for servers that
// run already, one of which must answer within a few seconds. Close must be called.
func Open(ctx context.Context, spec string) (*Ensemble, error) {
	if spec == SpecEmbedded || spec == "" {
		s := zkserver.New()
		addr, err := s.Listen("127.0.0.1:0")
		if err != nil {
			s.Close()
			return nil, i18n.Errorf("embedded server: %w", err)
		}
		label := "embedded (in memory, no disk)"
		return &Ensemble{servers: []string{addr}, label: label, dial: net.DialTimeout, server: s, inside: true}, nil
	}
	if err := Check(spec); err != nil {
		return nil, err
	}
	if strings.HasPrefix(spec+":", "docker:") {
		return nil, i18n.Errorf("%s: servers in Docker are started for a command: `%s -- go test ./zklock`, or `%[2]s -- go run ./bench`",
			spec, "go run ./internal/servers/with "+spec)
	}
	servers := strings.Split(spec, ",")
	var errs []error
	for _, s := range servers {
		version, mode, err := askWithin(ctx, s, AnswerTimeout)
		if err == nil {
			if len(servers) > 1 && (mode == "leader" || mode == "follower") {
				mode = fmt.Sprintf("ensemble of %d", len(servers))
			}
			label := fmt.Sprintf("%s (%s)", spec, serverKind(version, mode))
			return &Ensemble{servers: servers, label: label, dial: net.DialTimeout}, nil
		}
		errs = append(errs, err)
	}
	return nil, i18n.Errorf("no ZooKeeper answers: %w", joined(errs))
}

// Check returns an error if a spec has no form that Open takes. Specs of servers in Docker pass: Open explains them.
func Check(spec string) error {
	if spec == SpecEmbedded || strings.HasPrefix(spec+":", "docker:") {
		return nil
	}
	for server := range strings.SplitSeq(spec, ",") {
		host, port, err := net.SplitHostPort(server)
		number, numberErr := strconv.ParseUint(port, 10, 16)
		if err != nil || numberErr != nil || number == 0 || host == "" {
			quoted := strconv.Quote(server)
			if server != spec {
				quoted = spec + ": " + quoted
			}
			return i18n.Errorf("%s is neither embedded nor host:port", quoted)
		}
	}
	return nil
}

// OverPipes returns an Ensemble of the caller's server, reached over net.Pipe: in a
// testing/synctest bubble it and its clients run in virtual time. Close leaves it running. Clients
// get the given addresses, or one if none is given: with several they behave as in an ensemble.
func OverPipes(s *zkserver.Server, addresses ...string) *Ensemble {
	if len(addresses) == 0 {
		addresses = []string{"127.0.0.1:2181"}
	}
	return &Ensemble{servers: addresses, label: "embedded (over pipes)", dial: s.Dial, inside: true}
}

// joined is errors.Join on one line.
type joined []error

func (j joined) Error() string { return strings.ReplaceAll(errors.Join(j...).Error(), "\n", "; ") }

func (j joined) Unwrap() []error { return j }

// Ask finds out which server listens at addr, host:port. Its mode is standalone, leader or follower.
func Ask(ctx context.Context, addr string) (version, mode string, err error) {
	return askWithin(ctx, addr, retryTimeout)
}

// askWithin is Ask with a time for the answer. When that is over, ctx ends with the cause errMute, which stops the dialer,
// and sets a deadline that has passed, which stops the read. When parent ends, the same happens with another cause.
func askWithin(parent context.Context, addr string, patience time.Duration) (version, mode string, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	go cancelAfter(ctx, patience, cancel)
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		if context.Cause(ctx) == errMute {
			err = i18n.Errorf("%s does not accept a connection within %v", addr, patience)
		}
		return "", "", err
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	if _, err := nc.Write([]byte("srvr")); err != nil {
		return "", "", err
	}
	text, err := io.ReadAll(io.LimitReader(nc, 4096)) // a real server answers at once and closes
	if err != nil && len(text) == 0 {
		if errors.Is(err, os.ErrDeadlineExceeded) && parent.Err() == nil {
			return "", "", i18n.Errorf("%s accepts connections but said nothing within %v", addr, patience)
		}
		return "", "", cmp.Or(parent.Err(), i18n.Errorf("%s: %w", addr, err))
	}
	return parseAnswer(addr, string(text))
}

// parseAnswer reads the answer of a server to srvr.
func parseAnswer(addr, text string) (version, mode string, err error) {
	version, mode = "of unknown version", "mode unknown"
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "Zookeeper version: "); ok {
			version, _, _ = strings.Cut(strings.TrimSpace(v), "-") // without the number of the build
			if strings.Contains(v, zkserver.Build) {
				version = zkserver.Build
			}
		}
		if v, ok := strings.CutPrefix(line, "Mode: "); ok {
			mode = strings.TrimSpace(v)
		}
	}
	notAllowed := strings.Contains(text, "whitelist") // srvr is not on it, but the server serves
	if !notAllowed && !strings.Contains(text, "Zookeeper version: ") {
		said, _, _ := strings.Cut(text, "\n")
		return "", "", i18n.Errorf("%s is not a ZooKeeper that serves: asked srvr, it said %.80q", addr, said)
	}
	return version, mode, nil
}

func serverKind(version, mode string) string {
	if version == zkserver.Build {
		return "embedded, served by another process: in memory, no disk"
	}
	return fmt.Sprintf("ZooKeeper %s, %s", version, mode)
}

var errMute = i18n.Errorf("the server is silent")

// cancelAfter cancels when patience is over, unless ctx ends before. It counts ticks: the time for
// which the whole machine stops is one tick, however long it is.
func cancelAfter(ctx context.Context, patience time.Duration, cancel context.CancelCauseFunc) {
	const ticks = 20
	tick := time.NewTicker(patience / ticks)
	defer tick.Stop()
	for range ticks {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	cancel(errMute)
}

// Servers are the addresses of the servers, host:port each.
func (e *Ensemble) Servers() []string { return slices.Clone(e.servers) }

// String says which ZooKeeper it is, for people to read beside a figure.
func (e *Ensemble) String() string { return e.label }

// Says is String in both languages.
func (e *Ensemble) Says() i18n.Text {
	if e.inside {
		return i18n.Both(e.label, "内嵌（在内存里，不写磁盘）")
	}
	return i18n.Same(e.label)
}

// Members describes each server that answers: its version, and whether it is alone, leads or follows.
func (e *Ensemble) Members(ctx context.Context) (members []string) {
	if e.inside {
		return []string{e.label}
	}
	for _, s := range e.servers {
		if version, mode, err := Ask(ctx, s); err == nil {
			members = append(members, s+": "+serverKind(version, mode))
		}
	}
	return members
}

// Close stops the server that Open started. Clients must have been closed before.
func (e *Ensemble) Close() {
	if e.server != nil {
		e.server.Close()
	}
}

// Embedded reports whether it is the server inside the process.
func (e *Ensemble) Embedded() bool { return e.inside }

// Options says how to connect.
type Options struct {
	SessionTimeout time.Duration           // which the server is asked for; 0: 30 s
	Tap            *wiretap.Tap            // listens in, if it is not nil
	Wrap           func(net.Conn) net.Conn // if it is not nil, is put around each connection: a slow network, for example
	// Buffer is the largest packet that the client sends or takes, in bytes. If zero it sends 1.5 MiB and takes
	// anything, and keeps 3 MiB for that: too much where there are a thousand clients.
	Buffer int
}

// Connect opens a session, and returns when a server has confirmed it or ctx ends. The error is about each server.
func (e *Ensemble) Connect(ctx context.Context, o Options) (*zk.Conn, error) {
	sessionTimeout := cmp.Or(o.SessionTimeout, 30*time.Second)
	sendBuffer := cmp.Or(o.Buffer, 1536<<10) // the client's own
	dial := e.dial
	if o.Wrap != nil {
		dial = func(network, address string, timeout time.Duration) (net.Conn, error) {
			nc, err := e.dial(network, address, timeout)
			if err == nil {
				nc = o.Wrap(nc)
			}
			return nc, err
		}
	}
	if o.Tap != nil {
		dial = o.Tap.Dialer(dial)
	}
	return zkconn.Connect(ctx, e.servers, sessionTimeout, zkconn.WithDialer(zk.Dialer(dial)),
		zkconn.WithZK(zk.WithMaxBufferSize(o.Buffer), zk.WithMaxConnBufferSize(sendBuffer)))
}

// EndSession ends a session that tap has seen beginning, as its own client could, but behind the client's back: to
// the client it looks expired. It returns the zxid of the end, or 0 if the reply that had it was lost.
func (e *Ensemble) EndSession(tap *wiretap.Tap, session int64) (zxid int64, err error) {
	password := tap.Password(session)
	if password == nil {
		return 0, fmt.Errorf("end session %#x: the tap has not seen it begin", session)
	}
	// Each server is asked in turn, and all of them three times. In an ensemble the connection may end before the reply
	// has been sent: the next server says that the session has ended, with the zxid 0 and no error. In the last turn the
	// servers have longer, because they may wait for their disks.
	var errs []error
	for _, patience := range []time.Duration{retryTimeout, retryTimeout, 10 * retryTimeout} {
		for _, server := range e.servers {
			zxid, err := e.endSession(server, session, password, patience)
			if err == nil {
				return zxid, nil
			}
			errs = append(errs, err)
		}
	}
	return 0, fmt.Errorf("end session %#x: %w", session, joined(errs))
}

// endSession asks one server to end a session: it takes the session over, and closes it.
func (e *Ensemble) endSession(server string, session int64, password []byte, patience time.Duration) (zxid int64, err error) {
	nc, err := e.dial("tcp", server, patience)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(patience))
	// Both requests in one write: the client comes back to its session as soon as it has lost its
	// connection to this one, and takes the session over in turn.
	var enc jute.Encoder
	enc.Frame(&jute.ConnectRequest{TimeoutMs: 4000, SessionID: session, Password: password})
	enc.Frame(&jute.RequestHeader{Xid: 1, Op: jute.OpCloseSession})
	if _, err := nc.Write(enc.Bytes()); err != nil {
		return 0, err
	}
	var r jute.ConnectResponse
	var h jute.ReplyHeader
	if err = jute.ReadRecord(nc, &r); err == nil && r.SessionID != 0 { // 0: the session has ended already
		err = jute.ReadRecord(nc, &h)
	}
	if err != nil {
		return 0, i18n.Errorf("%s: %w", server, err)
	}
	return h.Zxid, nil
}
