package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// TestTheServersInstantsFollowItsNumbers: requests whose middles are in the
// wrong order are put into that of the transactions, each between its request
// and its reply.
func TestTheServersInstantsFollowItsNumbers(t *testing.T) {
	write := func(client int, zxid int64, sent, came time.Duration, path string) *exchange {
		return &exchange{
			client: client, asked: wiretap.Entry{Op: jute.OpCreate, Path: path}, answered: true,
			answer: wiretap.Entry{Op: jute.OpCreate, Path: path, Zxid: zxid}, sent: sent, came: came, heardFrom: came,
		}
	}
	slow := write(0, 7, 0, 100, "/a")  // its middle is 50, but it was before the next
	quick := write(1, 8, 10, 20, "/b") // 15
	read := &exchange{
		client: 2, asked: wiretap.Entry{Op: jute.OpExists, Path: "/b", Watch: true}, answered: true,
		answer: wiretap.Entry{Op: jute.OpExists, Err: jute.ErrNoNode, Zxid: 7}, sent: 0, came: 60,
	}
	event := &exchange{client: 2, asked: wiretap.Entry{Kind: wiretap.Event, Event: jute.EventCreated, Path: "/b"}, sent: -1, came: 70}
	for i, t := range []*exchange{quick, read, event, slow} { // as they came
		t.asked.Order, t.answer.Order = i, i
	}
	estimate([]*exchange{slow, read, quick, event})
	require.LessOrEqual(t, slow.at, quick.at)
	require.LessOrEqual(t, quick.at, time.Duration(20))
	require.GreaterOrEqual(t, quick.at, time.Duration(10))
	require.GreaterOrEqual(t, read.at, slow.at, "it has seen that transaction")
	require.LessOrEqual(t, read.at, quick.at, "it has not seen this one")
	require.Equal(t, quick, event.cause)
	require.Equal(t, quick.at, event.at)
}
