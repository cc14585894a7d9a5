// Package spec says of the servers that -sql, -redis and -etcd name what can be said
// without their clients: these are in the benchmark's second program, whose build takes its
// time.
package spec

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/zklock/internal/language"
)

// A Server is one that a lock is to run on.
type Server struct {
	System string // SQL, Redis or etcd
	Spec   string // "" names none
}

// Check says what is wrong with the form of the spec, and quotes no password.
func (s Server) Check() error {
	if s.Spec == "" || s.Spec == "embedded" && s.System != "etcd" {
		return nil
	}
	scheme, _, hasScheme := strings.Cut(s.Spec, "://")
	switch file, sqlite := strings.CutPrefix(s.Spec, "sqlite:"); {
	case s.System == "SQL" && sqlite && file == "":
		return language.Errorf("it names no file: sqlite:FILE", "没有写文件名：sqlite:FILE")
	case s.System == "SQL" && sqlite:
		return nil
	case hasScheme && schemes[s.System][scheme] == "":
		return language.Errorf("it is not on %s: %s", "不能用 %s：%s", scheme, forms[s.System])
	case !hasScheme && s.System == "SQL":
		return language.Errorf("it is not a database: %s", "不是数据库：%s", forms[s.System])
	}
	_, err := s.addresses()
	return err
}

// forms are what a spec may be.
var forms = map[string]language.Text{
	"SQL":   language.Say("it may be embedded, sqlite:FILE, postgres://user:password@host:port/database or mysql://…", "可以是 embedded、sqlite:FILE、postgres://user:password@host:port/database 或 mysql://…"),
	"Redis": language.Say("it may be embedded, host:port or redis://user:password@host:port", "可以是 embedded、host:port 或 redis://user:password@host:port"),
	"etcd":  language.Say("it may be host:port, or several with commas between them", "可以是 host:port，几个之间用逗号分隔"),
}

// schemes are those of each system's URLs, with the ports that they stand for.
var schemes = map[string]map[string]string{
	"SQL":   {"postgres": "5432", "postgresql": "5432", "mysql": "3306", "mariadb": "3306"},
	"Redis": {"redis": "6379", "rediss": "6379", "unix": "-"},
	"etcd":  {"http": "2379", "https": "2379"},
}

// addresses are those of the server, as far as its spec names them.
func (s Server) addresses() (all []string, err error) {
	specs := []string{s.Spec}
	if s.System == "etcd" {
		specs = strings.Split(s.Spec, ",")
	}
	for _, spec := range specs {
		if !strings.Contains(spec, "://") {
			host, port, err := net.SplitHostPort(spec)
			if err != nil || host == "" || port == "" {
				return nil, language.Errorf("it is not host:port: %s", "不是 host:port：%s", forms[s.System])
			}
			all = append(all, spec)
			continue
		}
		u, err := url.Parse(spec)
		if err != nil { // which quotes the password
			return nil, language.Errorf("it is not a URL: %s; in a password %%, :, /, ?, #, @ and a comma are written %%25, %%3A, %%2F, %%3F, %%23, %%40 and %%2C",
				"不是 URL：%s；密码里的 %%、:、/、?、#、@ 和逗号要写成 %%25、%%3A、%%2F、%%3F、%%23、%%40 和 %%2C", forms[s.System])
		}
		if u.Hostname() != "" {
			all = append(all, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), schemes[s.System][u.Scheme])))
		}
	}
	return all, nil
}

// Reach says why the server cannot be there.
func (s Server) Reach(ctx context.Context) error {
	if s.Spec == "" || s.Spec == "embedded" {
		return nil
	}
	if file, ok := strings.CutPrefix(s.Spec, "sqlite:"); ok {
		_, err := os.Stat(filepath.Dir(file))
		return err
	}
	addresses, err := s.addresses()
	for _, address := range addresses {
		ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
		var nc net.Conn
		nc, err = new(net.Dialer).DialContext(ctx, "tcp", address)
		cancel()
		if err == nil {
			nc.Close()
			return nil
		}
	}
	return err
}

// AnswerTimeout is the time that a server may take to answer.
const AnswerTimeout = 5 * time.Second
