package zkserver_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// requests are all that a client can send to a 3.8.0 (ZooDefs.OpCode in the Apache source).
var requests = map[jute.Op]string{
	1: "create", 2: "delete", 3: "exists", 4: "getData", 5: "setData", 6: "getACL", 7: "setACL", 8: "getChildren", 9: "sync",
	11: "ping", 12: "getChildren2", 13: "check", 14: "multi", 15: "create2", 16: "reconfig", 17: "checkWatches",
	18: "removeWatches", 19: "createContainer", 20: "deleteContainer", 21: "createTTL", 22: "multiRead",
	100: "auth", 101: "setWatches", 102: "sasl", 103: "getEphemerals", 104: "getAllChildrenNumber", 105: "setWatches2",
	106: "addWatch", 107: "whoAmI", -10: "createSession", -11: "closeSession",
}

// The package's documentation lists what is not served: here the list is made from
// the answers.
func TestWhatIsNotServedIsDocumented(t *testing.T) {
	inBubble(t, func(tg *target) {
		text, err := os.ReadFile("doc.go")
		require.NoError(tg, err)
		listed := func(after string) []string {
			_, list, ok := strings.Cut(strings.Join(strings.Fields(strings.ReplaceAll(string(text), "\n//", " ")), " "), after)
			require.True(tg, ok, after)
			list, _, _ = strings.Cut(list, ".")
			return strings.Split(list, ", ")
		}
		var not []string
		for op, name := range requests {
			c := tg.connect()
			c.write(frame(&jute.RequestHeader{Xid: 1, Op: op}))
			if h, _, err := c.read(); err == nil && h.Err == jute.ErrUnimplemented {
				c.closes()
				not = append(not, name)
			}
		}
		slices.Sort(not)
		require.Equal(tg, not, listed("Not served, and answered with -6 and a closed connection: "))

		srv := zkserver.Run(tg, zkserver.WithWords("*"))
		words := strings.Fields("conf cons crst dirs dump envi gtmk hash isro lead mntr ruok srst srvr stat stmk wchc wchp wchs")
		words = slices.DeleteFunc(words, func(word string) bool {
			return !strings.Contains((&target{T: tg.T, srv: srv}).say(word), "not in the whitelist")
		})
		require.Equal(tg, words, listed("Never on the whitelist: "))
	})
}
