// Package servers starts servers of Debian's: for a test that kills its server, and for a command
// whose tests need servers that run.
package servers

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"example.com/zklock/internal/ensemble"
)

// patience is how long a server may take until it serves, on a very busy machine.
const patience = 10 * time.Minute

// A Process is a server that runs.
type Process struct {
	cmd   *exec.Cmd
	log   string        // the file of its output
	ended chan struct{} // closed when it has ended
	stop  os.Signal     // asks it to end: SIGTERM, unless the kind of the server has another one
}

// begin starts a server, and returns when ready returns no error. Its own error has the output of the server.
func begin(ctx context.Context, log string, ready func() error, cmd *exec.Cmd) (*Process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd, log, make(chan struct{}), syscall.SIGTERM}
	go func() {
		cmd.Wait()
		close(p.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return p, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-p.ended:
		case <-ctx.Done():
			p.Kill()
		}
		printed, _ := os.ReadFile(log)
		return nil, fmt.Errorf("%s does not start: %w\n%s", filepath.Base(cmd.Path), err, printed)
	}
}

// Kill kills the server as a power cut would, and returns when it has gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// end asks the server to end, and kills it if it does not.
func (p *Process) end() {
	p.cmd.Process.Signal(p.stop)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.Kill()
	}
}

// FreeAddr returns a free address of loopback. On Linux its host is not 127.0.0.1, from which programs dial, so that no
// program gets the port before the server has it, or while the server is stopped.
func FreeAddr() (string, error) {
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), rand.N(250), 1+rand.N(250))
	}
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// A location is where a server runs: a folder of its own and an address.
type location struct {
	dir, addr, host, port string
}

func (at location) file(name string) string { return filepath.Join(at.dir, name) }

func (at location) write(name, text string) error {
	return os.WriteFile(at.file(name), []byte(text), 0o644)
}

// hasLogged returns a ready function for begin: the server serves when its log has a text.
func (at location) hasLogged(text string) func() error {
	return func() error {
		printed, err := os.ReadFile(at.file("log"))
		if err == nil && !strings.Contains(string(printed), text) {
			err = fmt.Errorf("it does not say %q", text)
		}
		return err
	}
}

// A kind is a server that a command can ask for by its name.
type kind struct {
	variables []string  // of the environment, which get the value of prepare
	user      string    // of the process, if ours is root; "": root
	stop      os.Signal // asks it to end; nil: SIGTERM
	prepare   preparation
}

type (
	command = func(name string, args ...string) *exec.Cmd // as exec.Command, for the user of the server
	// A preparation writes what a server needs, and returns how tests find it, the command that starts it (nil: it runs
	// already), and a function that returns nil once it serves.
	preparation = func(ctx context.Context, at location, as command) (value string, cmd *exec.Cmd, ready func() error, err error)
)

var kinds = map[string]kind{
	"zookeeper": {variables: []string{"ZK"}, prepare: zookeeper("")},
	"zookeeper-extended": { // with TTL nodes and all four-letter words
		variables: []string{"ZK", "ZK_EXTENDED"},
		prepare:   zookeeper("extendedTypesEnabled=true\n4lw.commands.whitelist=*\n"),
	},
	// With SIGTERM it waits for its clients.
	"postgres": {variables: []string{"POSTGRES", "SQL"}, user: "postgres", stop: os.Interrupt, prepare: postgres},
	"mariadb":  {variables: []string{"MARIADB", "SQL"}, user: "mysql", prepare: mariadb},
	"redis":    {variables: []string{"REDIS"}, prepare: redis},
	"etcd":     {variables: []string{"ETCD"}, prepare: etcd},
	"dockerd":  {prepare: dockerd},
}

func zookeeper(settings string) preparation {
	return func(_ context.Context, at location, as command) (string, *exec.Cmd, func() error, error) {
		err := at.write("zoo.cfg", fmt.Sprintf("tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=%s\n",
			at.file("data"), at.port, at.host)+"maxClientCnxns=0\nadmin.enableServer=false\n"+settings)
		return at.addr, as("java", "-cp", "/etc/zookeeper/conf:/usr/share/java/zookeeper.jar",
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", at.file("zoo.cfg")), at.serves, err
	}
}

func (at location) serves() error {
	version, mode, err := ensemble.Ask(context.Background(), at.addr)
	if err == nil {
		fmt.Fprintf(os.Stderr, "ZooKeeper %s, %s\n", version, mode)
	}
	return err
}

func postgres(ctx context.Context, at location, as command) (string, *exec.Cmd, func() error, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(folders) == 0 {
		return "", nil, nil, fmt.Errorf("/usr/lib/postgresql has no server (Debian: postgresql)")
	}
	bin := folders[len(folders)-1]
	if err := at.write("password", "secret\n"); err != nil {
		return "", nil, nil, err
	}
	err := quietly(as(bin+"/initdb", "-D", at.file("data"), "-U", "zklock", "-A", "scram-sha-256", "--pwfile="+at.file("password")))
	return "postgres://zklock:secret@" + at.addr + "/postgres",
		as(bin+"/postgres", "-D", at.file("data"), "-h", at.host, "-p", at.port, "-k", ""), at.hasLogged("ready to accept connections"), err
}

func mariadb(ctx context.Context, at location, as command) (string, *exec.Cmd, func() error, error) {
	err := quietly(as("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal",
		"--skip-test-db", "--datadir="+at.file("data")))
	err = cmp.Or(err, at.write("init.sql", `CREATE DATABASE zklock;
DELETE FROM mysql.global_priv WHERE user = '';
FLUSH PRIVILEGES;
CREATE USER zklock IDENTIFIED BY 'secret';
GRANT ALL ON *.* TO zklock;
`))
	cmd := as("mariadbd", "--no-defaults", "--datadir="+at.file("data"), "--bind-address="+at.host, "--port="+at.port,
		"--socket="+at.file("socket"), "--init-file="+at.file("init.sql"))
	// In a zone with summer time: a lock must not live an hour longer or shorter there.
	cmd.Env = append(os.Environ(), "TZ=CET-1CEST,M3.5.0,M10.5.0/3")
	return "mysql://zklock:secret@" + at.addr + "/zklock", cmd, at.hasLogged("ready for connections"), err
}

func redis(_ context.Context, at location, as command) (string, *exec.Cmd, func() error, error) {
	return at.addr, as("redis-server", "--bind", at.host, "--port", at.port, "--dir", at.dir, "--save", ""),
		at.hasLogged("Ready to accept connections"), nil
}

func etcd(_ context.Context, at location, as command) (string, *exec.Cmd, func() error, error) {
	peer, err := FreeAddr()
	url := "http://" + at.addr
	return at.addr, as("etcd", "--data-dir", at.file("data"), "--listen-peer-urls", "http://"+peer,
			"--listen-client-urls", url, "--advertise-client-urls", url,
			"--heartbeat-interval", "1000", "--election-timeout", "10000"), // a request may then take 25 s: the machine may stop
		at.hasLogged("ready to serve client requests"), err
}

// dockerd starts a daemon if none serves. When it ends the containers stay: docker.Open removes those left behind.
func dockerd(ctx context.Context, _ location, as command) (string, *exec.Cmd, func() error, error) {
	serves := func() error { return exec.CommandContext(ctx, "docker", "info").Run() }
	if serves() == nil {
		return "", nil, nil, nil
	}
	return "", as("dockerd"), serves, nil
}

// quietly runs a command. Its error has what the command has printed.
func quietly(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Started are servers that run.
type Started struct {
	Env       []string // VARIABLE=value, by which the tests find them
	dir       string
	processes []*Process
}

// Begin starts servers by their names, and returns when they serve. The caller ends them.
func Begin(ctx context.Context, names ...string) (s *Started, err error) {
	dir, err := os.MkdirTemp("", "zklock-servers-")
	if err != nil {
		return nil, err
	}
	s = &Started{dir: dir}
	defer func() {
		if err != nil {
			s.End()
		}
	}()
	if err := os.Chmod(dir, 0o711); err != nil { // its folders belong to several users
		return s, err
	}
	for _, name := range names {
		if err := s.begin(ctx, name); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// begin starts one server, in a folder of its own, as the user that it needs.
func (s *Started) begin(ctx context.Context, name string) error {
	k, ok := kinds[name]
	if !ok {
		return fmt.Errorf("there is no such server")
	}
	address, err := FreeAddr()
	if err != nil {
		return err
	}
	at := location{dir: filepath.Join(s.dir, name), addr: address}
	at.host, at.port, _ = net.SplitHostPort(address)
	if err := os.Mkdir(at.dir, 0o755); err != nil {
		return err
	}
	as := exec.Command
	if k.user != "" && os.Getuid() == 0 { // it refuses to run as root
		if err := quietly(exec.Command("chown", k.user, at.dir)); err != nil {
			return err
		}
		as = func(name string, args ...string) *exec.Cmd {
			return exec.Command("setpriv", append([]string{"--reuid=" + k.user, "--regid=" + k.user, "--init-groups", name}, args...)...)
		}
	}
	value, cmd, ready, err := k.prepare(ctx, at, as)
	if err != nil {
		return err
	}
	for _, variable := range k.variables {
		s.Env = append(s.Env, variable+"="+value)
	}
	if cmd == nil {
		return nil // it runs already
	}
	p, err := begin(ctx, at.file("log"), ready, cmd)
	if err == nil {
		p.stop = cmp.Or(k.stop, p.stop)
		s.processes = append(s.processes, p)
	}
	return err
}

// End ends the servers, and removes their folders.
func (s *Started) End() {
	for _, p := range s.processes {
		p.end()
	}
	os.RemoveAll(s.dir)
}
