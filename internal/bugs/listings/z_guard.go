package listings

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// A Guarded writes a holder's data to the lock's ZooKeeper. Begin is called before the data is read, End before Unlock.
type Guarded interface {
	Begin(conn *zk.Conn, holdersNode string, token int64) error
	Set(path string, data []byte) error
	End()
}

// ByNode writes only if the holder's node exists: it is there while the holder has the lock. CURATOR-542 proposes this.
type ByNode struct {
	conn *zk.Conn
	node string
}

func (g *ByNode) Begin(conn *zk.Conn, holdersNode string, _ int64) error {
	g.conn, g.node = conn, holdersNode
	return nil
}

func (g *ByNode) Set(path string, data []byte) error {
	_, err := g.conn.Multi(
		&zk.CheckVersionRequest{Path: g.node, Version: -1}, // [Z1] the next owner holds the lock by the same node
		&zk.SetDataRequest{Path: path, Data: data, Version: -1})
	return err
}

func (g *ByNode) End() {}

// ByVersion writes only if a node of its own has the version that Begin gave it. Begin writes the token
// to that node. The next holder's Begin does so, too, which makes another version. End deletes the node.
type ByVersion struct {
	conn    *zk.Conn
	version int32
}

const guardNode = "/guard"

func (g *ByVersion) Begin(conn *zk.Conn, _ string, token int64) error {
	g.conn = conn
	if _, err := conn.Create(guardNode, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	stat, err := conn.Set(guardNode, fmt.Append(nil, token), -1)
	if err == nil {
		g.version = stat.Version
	}
	return err
}

func (g *ByVersion) Set(path string, data []byte) error {
	_, err := g.conn.Multi(
		&zk.CheckVersionRequest{Path: guardNode, Version: g.version}, // [Z2] a node that is made again has version 0, then 1
		&zk.SetDataRequest{Path: path, Data: data, Version: -1})
	return err
}

func (g *ByVersion) End() { g.conn.Delete(guardNode, -1) }
