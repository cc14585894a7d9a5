package client

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// TestNothingIsLeftOfAConnThatIsGarbage: clients and serials have an entry of each conn.
func TestNothingIsLeftOfAConnThatIsGarbage(t *testing.T) {
	entries := func(of *sync.Map) (n int) {
		of.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	for range 100 {
		Of(new(zk.Conn), time.Second)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return entries(&clients) == 0 && entries(&serials) == 0
	}, 10*time.Minute, time.Millisecond)
}
