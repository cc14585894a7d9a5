package naive_test

import (
	"github.com/go-zookeeper/zk"

	naive "example.com/zklock/01-naive-ephemeral"
	"example.com/zklock/internal/museum"
)

func newNaive(conn *zk.Conn, path string) museum.Lock { return naive.New(conn, path) }
