package database_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
)

// A mysql8 answers as MySQL 8 does where it differs from MariaDB. It has no
// tables: any select returns its version.
type mysql8 struct {
	mu   sync.Mutex
	said []string // the statements, guarded by mu
}

func (m *mysql8) serve(t *testing.T) (spec string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go m.converse(conn)
		}
	}()
	return "mysql://u:secret@" + listener.Addr().String() + "/db"
}

var (
	ok        = []byte{0, 0, 0, 2, 0, 0, 0}
	endOfRows = []byte{0xfe, 0, 0, 2, 0}
)

func text(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func refusal(code uint16, state, message string) []byte {
	return append(binary.LittleEndian.AppendUint16([]byte{0xff}, code), "#"+state+message...)
}

func (m *mysql8) converse(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	var number byte // of the packet
	send := func(payload []byte) {
		head := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
		head[3] = number
		number++
		conn.Write(append(head, payload...))
	}
	read := func() []byte {
		head := make([]byte, 4)
		if _, err := io.ReadFull(in, head); err != nil {
			return nil
		}
		number = head[3] + 1
		payload := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
		if _, err := io.ReadFull(in, payload); err != nil {
			return nil
		}
		return payload
	}
	// The greeting: protocol 10, with native passwords and the flags that the driver
	// insists on.
	greeting := append([]byte{10}, "8.0.36\x00"...)
	greeting = append(greeting, 7, 0, 0, 0)
	greeting = append(greeting, "12345678\x00"...)
	greeting = append(greeting, 0x0d, 0xa2, 255, 2, 0, 0x08, 0, 21)
	greeting = append(greeting, make([]byte, 10)...)
	greeting = append(greeting, "123456789012\x00mysql_native_password\x00"...)
	send(greeting)
	if read() == nil {
		return
	}
	send(ok) // any password is right
	for {
		command := read()
		if command == nil || command[0] == 1 { // quit
			return
		}
		statement := string(command[1:])
		m.mu.Lock()
		m.said = append(m.said, statement)
		m.mu.Unlock()
		switch {
		case strings.Contains(statement, "tx_isolation"):
			send(refusal(1193, "HY000", "Unknown system variable 'tx_isolation'"))
		case strings.Contains(statement, " WAIT "):
			send(refusal(1064, "42000", "You have an error in your SQL syntax"))
		case strings.Contains(statement, "NOWAIT"):
			send(refusal(3572, "HY000", "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set."))
		case strings.HasPrefix(statement, "SELECT"):
			send([]byte{1})
			column := []byte{}
			for _, s := range []string{"def", "", "", "", "v", ""} {
				column = append(column, text(s)...)
			}
			send(append(column, 12, 45, 0, 255, 0, 0, 0, 253, 0, 0, 0, 0, 0))
			send(endOfRows)
			send(text("8.0.36"))
			send(endOfRows)
		default:
			send(ok)
		}
	}
}

// Features that MySQL 8 removed are not used, and its error of NOWAIT is
// recognised. The server is a program that answers as its manual says, and not a
// MySQL.
func TestMySQL8IsUnderstood(t *testing.T) {
	server := &mysql8{}
	db, err := database.Open(t.Context(), server.serve(t))
	require.NoError(t, err)
	defer db.Close()
	require.True(t, db.MySQL)
	_, err = db.Exec(t.Context(), "SELECT name FROM zklock_forupdate WHERE name = ? FOR UPDATE NOWAIT", "x")
	require.True(t, database.IsHeld(err), "%v", err)
	_, err = db.Exec(t.Context(), "SELECT name FROM zklock_forupdate WHERE name = ? FOR UPDATE WAIT 1", "x")
	require.ErrorContains(t, err, "1064", "it has no WAIT")
	server.mu.Lock()
	defer server.mu.Unlock()
	require.Contains(t, server.said, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
	require.Contains(t, server.said, "SET time_zone = '+00:00'", fmt.Sprint(server.said))
}
