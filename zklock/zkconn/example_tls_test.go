package zkconn_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"time"

	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// A server's certificate has to be valid for its name in the list. The one here is made
// by the example, and trusted by its client alone.
func ExampleWithTLS() {
	certificate, err := selfSigned("localhost")
	if err != nil {
		log.Fatal(err)
	}
	port, stop, err := serveTLS(certificate)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	roots := x509.NewCertPool()
	roots.AddCert(certificate.Leaf)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := zkconn.Connect(ctx, []string{"localhost:" + port}, 10*time.Second,
		zkconn.WithTLS(&tls.Config{RootCAs: roots}))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	children, _, err := conn.Children("/")
	fmt.Println(children, err)

	// Output:
	// [zookeeper] <nil>
}

// selfSigned makes a certificate for a host.
func selfSigned(host string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, // it is its own root
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// serveTLS puts TLS before an embedded server, which has none itself.
func serveTLS(certificate tls.Certificate) (port string, stop func(), err error) {
	server := zkserver.New()
	listener, err := tls.Listen("tcp", "localhost:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			inside, err := server.Dial("", "", 0)
			if err != nil {
				return
			}
			go copyAndClose(inside, client)
			go copyAndClose(client, inside)
		}
	}()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	return port, func() { listener.Close(); server.Close() }, err
}

func copyAndClose(to, from net.Conn) {
	defer to.Close()
	io.Copy(to, from)
}
