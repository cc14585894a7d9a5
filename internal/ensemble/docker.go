//go:build docker

package ensemble

import (
	"context"
	"net"

	"example.com/zklock/internal/ensemble/docker"
)

func openDocker(ctx context.Context, _ string, n int) (*Ensemble, error) {
	s, err := docker.Open(ctx, n, ask)
	if err != nil {
		return nil, err
	}
	return &Ensemble{servers: s.Addrs(), label: s.String(), dial: net.DialTimeout, docker: s}, nil
}

// Docker returns the servers of an ensemble that was opened with "docker" or
// "docker:3", nil for any other.
func (e *Ensemble) Docker() *docker.Servers {
	s, _ := e.docker.(*docker.Servers)
	return s
}
