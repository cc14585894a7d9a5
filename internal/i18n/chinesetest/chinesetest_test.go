package chinesetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n/chinesetest"
)

func TestEnglishIsFound(t *testing.T) {
	for text, want := range map[string][]string{
		"没有通过（活性）：the holder has a node and it is ephemeral":          {"the holder has a node and it is ephemeral"},
		"请把 Lock、TryLock 写完：go run ./cmd/exercises watch 3":           nil, // a command may stay
		"Lock 返回 zk.ErrNoNode，czxid 是 3\n等待者 waits on a watch":        {"waits on a watch"},
		"等待者得到错误：zk: could not connect to a server；\"not the owner\"": nil, // so may a message and a quotation
		"the waiter's node has gone":                                  {"the waiter's node has gone"},
	} {
		require.ElementsMatch(t, want, chinesetest.English(text), "%s", text)
	}
}
