package proxy

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/testenv"
)

// echo is the address of a server that answers each line with the same line. It keeps in lines what has come.
func echo(t *testing.T) (addr string, lines chan string) {
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	lines = make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					lines <- in.Text()
					fmt.Fprintln(conn, in.Text())
				}
			}()
		}
	}()
	return listener.Addr().String(), lines
}

type lineClient struct {
	net.Conn
	in *bufio.Scanner
}

func dialLine(t *testing.T, addr string) lineClient {
	conn := testenv.Must(net.Dial("tcp", addr))(t)
	require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	t.Cleanup(func() { conn.Close() })
	return lineClient{conn, bufio.NewScanner(conn)}
}

// ask sends a line and returns the answer, "" if the connection has ended.
func (c lineClient) ask(pieces ...string) string {
	for _, piece := range pieces {
		fmt.Fprint(c, piece)
		if len(pieces) > 1 {
			time.Sleep(time.Millisecond) // most likely they are read one by one; they may not be
		}
	}
	fmt.Fprintln(c)
	c.in.Scan()
	return c.in.Text()
}

func TestOneReplyIsLost(t *testing.T) {
	for _, request := range [][]string{{"please Insert it"}, {"please ins", "ert it"}} {
		addr, lines := echo(t)
		p := New(t, addr)
		a, b := dialLine(t, p.Addr()), dialLine(t, p.Addr())
		require.Equal(t, "insert", a.ask("insert"))
		<-lines
		seen := p.LoseReply("INSERT", nil)
		require.Equal(t, "select", a.ask("select"), "another request")
		<-lines
		require.Zero(t, seen())
		require.Empty(t, a.ask(request...))
		require.Equal(t, strings.Join(request, ""), <-lines, "the request has come in")
		require.Equal(t, 1, seen())
		require.Equal(t, "insert", b.ask("insert"), "only one is lost, and only its connection ends")
		require.Equal(t, 2, seen())
	}
}

func TestTheLineCanStayDownAfterALostReply(t *testing.T) {
	addr, _ := echo(t)
	p := New(t, addr)
	a, b := dialLine(t, p.Addr()), dialLine(t, p.Addr())
	require.Equal(t, "hello", b.ask("hello"))
	p.LoseReply("insert", p.CutOff)
	require.Empty(t, a.ask("insert"))
	require.Empty(t, b.ask("hello"))
	require.Empty(t, dialLine(t, p.Addr()).ask("hello"))
	p.Heal()
	require.Equal(t, "hello", dialLine(t, p.Addr()).ask("hello"))
}

func TestSilence(t *testing.T) {
	addr, lines := echo(t)
	p := New(t, addr)
	a := dialLine(t, p.Addr())
	require.Equal(t, "hello", a.ask("hello"))
	<-lines
	p.Silence(ToClient)
	answer := make(chan string, 1)
	go func() { answer <- a.ask("late") }()
	require.Equal(t, "late", <-lines, "it comes in")
	require.Empty(t, answer, "an answer")
	p.Heal()
	require.Equal(t, "late", <-answer)
}

// Packets that wait in a silence go on after it, even if Silence was called again.
func TestASilenceThatBeginsAgainEndsAsOne(t *testing.T) {
	p := New(t, "127.0.0.1:1")
	p.Silence(ToServer)
	endOfSilence := p.opening(ToServer)
	p.Silence(ToServer, ToClient)
	p.Heal()
	require.True(t, bubble.IsClosed(endOfSilence))
}
