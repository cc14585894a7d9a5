package zkserver

import (
	_ "embed"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Build is in the answers to srvr and envi, behind the version: by it a program
// knows that it talks to this server, and not to one that has a disk.
const Build = "zklock, embedded, in memory"

// mntr has the lines of a 3.8.0 that has just begun, of which this server can fill in a few.
//
//go:embed mntr.txt
var mntr string

// notServed are words that a real server knows and this one does not. It answers as if they were not on the whitelist.
var notServed = []string{"crst", "dirs", "dump", "gtmk", "hash", "lead", "srst", "stmk", "wchc", "wchp", "wchs"}

// wordAnswers are the commands that monitoring tools send in place of a handshake.
var wordAnswers = map[string]func(s *Server) string{
	"ruok": func(*Server) string { return "imok" },
	"isro": func(*Server) string { return "rw" },
	"srvr": func(s *Server) string { return "Zookeeper version: " + version + "\n" + s.statistics() },
	"stat": func(s *Server) string {
		return "Zookeeper version: " + version + "\nClients:\n" + s.clients(false) + "\n" + s.statistics()
	},
	"cons": func(s *Server) string { return s.clients(true) + "\n" },
	"conf": (*Server).configuration,
	"envi": func(*Server) string { return environment },
	"mntr": (*Server).monitor,
}

const version = "3.8.0-" + Build

// fourLetterWord answers a word. It returns false if it is not one.
func (c *conn) fourLetterWord(word string) bool {
	answer := wordAnswers[word] // nil: not a word, or one that only a real server answers
	if answer == nil && !slices.Contains(notServed, word) {
		return false
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.received++
	text := word + " is not executed because it is not in the whitelist.\n"
	if answer != nil && (s.words[word] || s.words["*"]) {
		text = answer(s)
	}
	c.out.Raw([]byte(text))
	c.endLocked()
	return true
}

func (s *Server) statistics() string {
	return fmt.Sprintf("Latency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n"+
		"Zxid: %#x\nMode: standalone\nNode count: %d\n", s.received, s.sent, len(s.conns), s.zxid, len(s.nodes))
}

// clients is a line for each connection, with what is known of its session if that is asked for.
func (s *Server) clients(sessions bool) string {
	var b strings.Builder
	for _, c := range slices.SortedFunc(maps.Keys(s.conns), older) {
		addr := c.identities[0].id + ":0" // of a pipe: the first identity is the client's IP address
		if a, ok := c.net.RemoteAddr().(*net.TCPAddr); ok {
			addr = a.String()
		}
		interest := 0 // a real server's interestOps
		if c.session != nil {
			interest = 1 // it reads requests
		}
		fmt.Fprintf(&b, " /%s[%d](queued=0,recved=%d,sent=%d", addr, interest, c.received, c.sent)
		if c.session != nil && sessions {
			op := "SESS"
			if c.lastRequest.Op != 0 {
				op = strings.ToUpper(c.lastRequest.Op.String())[:4] // as a real server abbreviates it
			}
			fmt.Fprintf(&b, ",sid=%#x,lop=%s,est=%d,to=%d,lcxid=%#x,lzxid=%#x,lresp=%d,llat=0,minlat=0,avglat=0,maxlat=0",
				c.session.id, op, c.opened.UnixMilli(), c.session.timeout.Milliseconds(), c.lastRequest.Xid, s.zxid, time.Since(s.start).Milliseconds())
		}
		b.WriteString(")\n")
	}
	return b.String()
}

func (s *Server) configuration() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return fmt.Sprintf("clientPort=%s\nsecureClientPort=-1\ndataDir=\ndataDirSize=0\ndataLogDir=\ndataLogSize=0\ntickTime=%d\nmaxClientCnxns=0\n"+
		"minSessionTimeout=%d\nmaxSessionTimeout=%d\nclientPortListenBacklog=-1\nserverId=0\n",
		port, s.tick.Milliseconds(), 2*s.tick.Milliseconds(), 20*s.tick.Milliseconds())
}

// environment says little: the server has no Java, and whose process it is in is nobody's business.
var environment = "Environment:\nzookeeper.version=" + version + "\nhost.name=localhost\njava.version=\njava.vendor=\njava.home=\njava.class.path=\n" +
	"java.library.path=\njava.io.tmpdir=\njava.compiler=<NA>\nos.name=" + runtime.GOOS + "\nos.arch=" + runtime.GOARCH + "\nos.version=\n" +
	"user.name=\nuser.home=\nuser.dir=\nos.memory.free=0MB\nos.memory.max=0MB\nos.memory.total=0MB\n"

// monitor fills in the lines of mntr that are about sessions and nodes.
func (s *Server) monitor() string {
	ephemerals, watches, size := 0, 0, 0
	for _, ss := range s.sessions {
		ephemerals += len(ss.ephemerals)
	}
	for c := range s.conns {
		watches += len(c.watchesLocked())
	}
	for path, n := range s.nodes {
		size += len(path) + len(n.data)
	}
	known := map[string]any{
		"zk_version": version, "zk_server_state": "standalone", "zk_uptime": time.Since(s.start).Milliseconds(),
		"zk_num_alive_connections": len(s.conns), "zk_packets_received": s.received, "zk_packets_sent": s.sent,
		"zk_znode_count": len(s.nodes), "zk_ephemerals_count": ephemerals, "zk_global_sessions": len(s.sessions),
		"zk_watch_count": watches, "zk_approximate_data_size": size,
	}
	var b strings.Builder
	for line := range strings.Lines(mntr) {
		name, _, _ := strings.Cut(line, "\t")
		if value, ok := known[name]; ok {
			line = fmt.Sprintf("%s\t%v\n", name, value)
		}
		b.WriteString(line)
	}
	return b.String()
}
