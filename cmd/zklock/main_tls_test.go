package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// certified writes a certificate for localhost, which is its own authority, and its key into a file.
func certified(t *testing.T) (file string) {
	key := testenv.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	secret := testenv.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	file = filepath.Join(t.TempDir(), "pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// behindTLS puts TLS before the embedded server. It calls refused when a handshake has failed.
func behindTLS(t *testing.T, zoo *zkserver.Server, config *tls.Config, refused func()) (port string) {
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			secure := tls.Server(nc, config)
			if secure.Handshake() != nil {
				nc.Close()
				refused()
			} else if zoo.Serve(secure) != nil {
				nc.Close()
			}
		}
	}()
	_, port = testenv.Must2(net.SplitHostPort(listener.Addr().String()))(t)
	return port
}

// TestTLSShowsEachSideWhoTheOtherIs: a server that cannot be trusted is one line of error.
func TestTLSShowsEachSideWhoTheOtherIs(t *testing.T) {
	server, client, stranger := certified(t), certified(t), certified(t)
	known := testenv.Must(zkconn.LoadTLS(client, server, ""))(t)
	config := &tls.Config{Certificates: known.Certificates, ClientCAs: known.RootCAs}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	zoo := zkserver.Run(t)
	for _, c := range []struct{ host, ca, cert, want string }{
		{"localhost", server, client, ""},
		{"localhost", stranger, client, "x509: certificate signed by unknown authority"},
		{"127.0.0.1", server, client, "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain"},
		{"localhost", server, stranger, "no session after "}, // TLS 1.3 tells the client later that it is not trusted
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var times atomic.Int32
		port := behindTLS(t, zoo, config, func() {
			if times.Add(1) == 2 { // the first one has been noted
				cancel()
			}
		})
		status, stdout, stderr := do(ctx, t, "who", "-zk", c.host+":"+port, "-ca", c.ca, "-cert", c.cert, "/q")
		if c.want == "" {
			require.Zero(t, status, stderr)
			require.Contains(t, stdout, "nobody holds /q")
			require.Zero(t, times.Load())
			continue
		}
		require.Equal(t, exitUnavailable, status)
		oneLine(t, stderr, c.want)
		require.Empty(t, stdout)
	}
}

func TestCredentialsComeFromAFileOfTheirOwnerOrTheEnvironment(t *testing.T) {
	_, _, conn := onServer(t)
	made(t, conn, "/q/"+zkLock, "secret", zk.DigestACL(zk.PermAll, "ops", "pass")...)
	shows := func(flags ...string) string {
		status, stdout, stderr := do(t.Context(), t, append(append([]string{"who"}, flags...), "/q")...)
		require.Zero(t, status, stderr)
		return stdout
	}
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("ops:pass\n"), 0o600))
	require.Contains(t, shows(), "(not readable)")
	require.Contains(t, shows("-auth", file), "secret")
	t.Setenv("ZOOKEEPER_AUTH", "ops:pass")
	require.Contains(t, shows(), "secret")

	require.NoError(t, os.Chmod(file, 0o640))
	for _, c := range []struct{ flag, value, want string }{
		{"-auth", file, "-auth: not only its owner may use " + file + ": chmod 600 " + file},
		{"-auth", file + "-none", "no such file"},
		{"-ca", file, "zklock: who: " + file + " has no certificate"},
		{"-ca", file + "-none", "no such file"},
		{"-cert", file, "tls: failed to find any PEM data in certificate input"},
	} {
		if os.PathSeparator != '/' && strings.Contains(c.want, "chmod") {
			continue // the mode does not say who may read the file
		}
		status, _, stderr := do(t.Context(), t, "who", c.flag, c.value, "/q")
		require.Equal(t, exitUsage, status)
		oneLine(t, stderr, c.want)
	}
}
