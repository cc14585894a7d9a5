package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The clients of the other systems are in the second program, whose build takes its time.
// What can be said without them is said before.

// checkSpec says what is wrong with the form of a server's spec, and quotes no password.
func (c contestant) checkSpec() error {
	if c.system == "" || c.spec == "" || c.spec == "embedded" && c.system != "etcd" {
		return nil
	}
	scheme, _, hasScheme := strings.Cut(c.spec, "://")
	switch file, sqlite := strings.CutPrefix(c.spec, "sqlite:"); {
	case c.system == "SQL" && sqlite && file == "":
		return errors.New("it names no file: sqlite:FILE")
	case c.system == "SQL" && sqlite:
		return nil
	case hasScheme && schemes[c.system][scheme] == "":
		return fmt.Errorf("it is not on %s: %s", scheme, forms[c.system])
	case !hasScheme && c.system == "SQL":
		return fmt.Errorf("it is not a database: %s", forms[c.system])
	}
	_, err := c.addresses()
	return err
}

// forms are what a spec may be.
var forms = map[string]string{
	"SQL":   "it may be embedded, sqlite:FILE, postgres://user:password@host:port/database or mysql://…",
	"Redis": "it may be embedded, host:port or redis://user:password@host:port",
	"etcd":  "it may be host:port, or several with commas between them",
}

// schemes are those of each system's URLs, with the ports that they stand for.
var schemes = map[string]map[string]string{
	"SQL":   {"postgres": "5432", "postgresql": "5432", "mysql": "3306", "mariadb": "3306"},
	"Redis": {"redis": "6379", "rediss": "6379", "unix": "-"},
	"etcd":  {"http": "2379", "https": "2379"},
}

// addresses are those of the server, as far as its spec names them.
func (c contestant) addresses() (all []string, err error) {
	specs := []string{c.spec}
	if c.system == "etcd" {
		specs = strings.Split(c.spec, ",")
	}
	for _, spec := range specs {
		if !strings.Contains(spec, "://") {
			host, port, err := net.SplitHostPort(spec)
			if err != nil || host == "" || port == "" {
				return nil, errors.New("it is not host:port: " + forms[c.system])
			}
			all = append(all, spec)
			continue
		}
		u, err := url.Parse(spec)
		if err != nil { // which quotes the password
			return nil, fmt.Errorf("it is not a URL: %s; in a password %%, :, /, ?, #, @ and a comma are written %%25, %%3A, %%2F, %%3F, %%23, %%40 and %%2C", forms[c.system])
		}
		if u.Hostname() != "" {
			all = append(all, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), schemes[c.system][u.Scheme])))
		}
	}
	return all, nil
}

// checkThere says why a server cannot be there.
func (c contestant) checkThere(ctx context.Context) error {
	if c.spec == "" || c.spec == "embedded" {
		return nil
	}
	if file, ok := strings.CutPrefix(c.spec, "sqlite:"); ok {
		_, err := os.Stat(filepath.Dir(file))
		return err
	}
	addresses, err := c.addresses()
	for _, address := range addresses {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
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

// answerTimeout is the time that a server may take to answer.
const answerTimeout = 5 * time.Second
