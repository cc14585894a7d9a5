//go:build !docker

package main

import (
	"context"
	"fmt"
)

func inDocker(_ context.Context, spec string) ([]string, func(), error) {
	return nil, nil, fmt.Errorf("%s needs a build with the tag docker: `go run -tags docker ./internal/servers/with %[1]s -- …`", spec)
}
