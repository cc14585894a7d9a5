//go:build !docker

package ensemble

import (
	"context"
	"fmt"
)

// openDocker refuses: the libraries for Docker are two thirds of all that the
// module needs, so that only a build with the tag docker has them.
func openDocker(_ context.Context, spec string, _ int) (*Ensemble, error) {
	return nil, fmt.Errorf("ZooKeeper %q needs a build with the tag docker: run `go run -tags docker ./bench -zk %s`, "+
		"or for tests `ZK=%s go test -tags docker -p 1 ./...`", spec, spec, spec)
}
