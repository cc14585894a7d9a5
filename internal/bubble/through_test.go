package bubble_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/testenv"
)

const rtt = 20 * time.Millisecond // the round-trip time

// line returns both ends of a line whose round trip takes rtt. A clean-up waits until what is on its way has arrived.
func line(t *testing.T) (client, server net.Conn) {
	near, server := net.Pipe()
	client = bubble.Through(near, bubble.Way{Far: rtt / 2}, bubble.Way{Far: rtt / 2})
	t.Cleanup(func() {
		client.Close()
		time.Sleep(rtt) // in virtual time: what is on its way arrives, and its goroutines end
	})
	return client, server
}

// read returns the next n bytes.
func read(t *testing.T, from io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	testenv.Must(io.ReadFull(from, b))(t)
	return string(b)
}

func TestEachDirectionTakesHalfOfTheRoundTrip(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		client, server := line(t)
		began := time.Now()
		go func() {
			for range 3 {
				server.Write([]byte(read(t, server, 4)))
			}
		}()
		for _, s := range []string{"one.", "two.", "tri."} { // sent at once, as by a client with many goroutines
			client.Write([]byte(s))
		}
		require.Zero(t, time.Since(began), "a sender does not wait for the distance")
		require.Equal(t, "one.two.tri.", read(t, client, 12), "in order")
		require.Equal(t, rtt, time.Since(began), "requests that are on their way together cost one round trip")
	})
}

func TestAFarLineHasDeadlines(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		client, server := line(t)
		go server.Write([]byte("late"))
		client.SetReadDeadline(time.Now().Add(rtt/2 - time.Millisecond))
		require.ErrorIs(t, testenv.Err(client.Read(make([]byte, 4))), os.ErrDeadlineExceeded)
		client.SetReadDeadline(time.Time{})
		require.Equal(t, "late", read(t, client, 4), "it is not lost")
	})
}

// The other side reads all that was sent before a close, and then the end: of the client's, then of the server's.
func TestTheEndOfAFarLineComesLast(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		client, server := line(t)
		client.Write([]byte("bye"))
		client.Close()
		require.Error(t, testenv.Err(client.Read(make([]byte, 1))), "at once at the end that has closed")
		require.Zero(t, time.Since(began))
		b := testenv.Must(io.ReadAll(server))(t)
		require.Equal(t, "bye", string(b))
		require.Equal(t, rtt/2, time.Since(began))

		began = time.Now()
		client, server = line(t)
		go func() { server.Write([]byte("bye")); server.Close() }()
		b = testenv.Must(io.ReadAll(client))(t)
		require.Equal(t, "bye", string(b))
		require.Equal(t, rtt/2, time.Since(began))
	})
}
