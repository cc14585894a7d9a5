package zkconn

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/go-zookeeper/zk"
)

// An Option changes how Connect opens a client. With one that cannot work, Connect returns an error at once.
type Option func(*settings) error

type settings struct {
	logger *slog.Logger
	tls    *tls.Config
	auth   []credential
	client []func(*zk.Conn) // options of package zk
}

type credential struct {
	scheme string
	secret []byte
}

// WithLogger has the client log to logger, which must not block: a warning for each connection that fails or breaks,
// for a session that has expired, for a server whose name has had no address yet, and for a client that was closed
// while a lock used it; and an information for each connection that has a session. By default nothing is logged.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) error {
		if logger == nil {
			return errors.New("WithLogger: the logger is nil")
		}
		s.logger = logger
		return nil
	}
}

// WithTLS has the client speak TLS to every server. config is copied; &tls.Config{} trusts the roots of the system.
//
// A server's certificate must be valid for its host as the caller of Connect gave it, although the client dials an
// address; the host is also sent as the server's name (SNI). If two names have the same address, the first of them
// counts. If config.ServerName is set, it counts for all servers.
//
// A ZooKeeper server offers TLS on its secureClientPort, and by default it demands
// a certificate of the client, too (ssl.clientAuth): config.Certificates.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) error {
		if config == nil {
			return errors.New("WithTLS: the configuration is nil; &tls.Config{} trusts the roots of the system")
		}
		s.tls = config.Clone()
		return nil
	}
}

// LoadTLS returns a configuration for WithTLS from files in PEM: the certificates by which servers are trusted, and the
// client's certificate with its key, which may be in one file. Without ca the roots of the system are trusted.
func LoadTLS(ca, cert, key string) (*tls.Config, error) {
	config := new(tls.Config)
	if ca != "" {
		text, err := os.ReadFile(ca)
		config.RootCAs = x509.NewCertPool()
		if err == nil && !config.RootCAs.AppendCertsFromPEM(text) {
			err = fmt.Errorf("zkconn: %s has no certificate", ca)
		}
		if err != nil {
			return nil, err
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, cmp.Or(key, cert))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// WithAuth has the client prove an identity to each server before its first request, as in WithAuth("digest",
// "user:password"). If a server refuses it, Connect returns an error that wraps zk.ErrAuthFailed. With several of these
// options the session has all of the identities. Without TLS everybody can read the credential on the network.
func WithAuth[C ~string | ~[]byte](scheme string, secret C) Option {
	c := credential{scheme, []byte(secret)}
	return func(s *settings) error {
		switch {
		case scheme == "":
			return errors.New(`WithAuth: the scheme is empty; "digest" is the usual one`)
		case scheme == "sasl":
			return errors.New("WithAuth: the client does not speak SASL; use digest over TLS, or a certificate")
		case scheme == "digest" && !strings.Contains(string(c.secret), ":"):
			return errors.New("WithAuth: a digest credential is user:password")
		}
		s.auth = append(s.auth, c)
		return nil
	}
}

// WithDialer has the client connect with dial, which is given an address, not a name. dial, and Close of a connection,
// may block: no mutex is held meanwhile.
func WithDialer(dial zk.Dialer) Option {
	return func(s *settings) error {
		if dial == nil {
			return errors.New("WithDialer: the dialer is nil")
		}
		s.client = append(s.client, zk.WithDialer(dial))
		return nil
	}
}

// WithZK passes on options of package zk: zk.WithEventCallback, which is given all events; the buffer sizes; and
// zk.WithHostProvider, which then looks up the names itself. For the others there is an option here.
func WithZK(options ...func(*zk.Conn)) Option {
	return func(s *settings) error {
		for _, option := range options {
			if option == nil {
				return errors.New("WithZK: an option is nil")
			}
		}
		s.client = append(s.client, options...)
		return nil
	}
}
