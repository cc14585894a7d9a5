package zkconn_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// A server's certificate has to be valid for its host in the list. The one here is that of
// package httptest, and trusted by this client alone.
func ExampleWithTLS() {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	address, stop, err := serveTLS(web.TLS)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := zkconn.Connect(ctx, []string{address}, 10*time.Second, zkconn.WithTLS(&tls.Config{RootCAs: roots}))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	children, _, err := conn.Children("/")
	fmt.Println(children, err)

	// Output:
	// [zookeeper] <nil>
}

// serveTLS puts TLS before an embedded server, which has none itself.
func serveTLS(config *tls.Config) (address string, stop func(), err error) {
	server := zkserver.New()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if server.Serve(client) != nil { // it is closed
				client.Close()
			}
		}
	}()
	return listener.Addr().String(), func() { listener.Close(); server.Close() }, nil
}
