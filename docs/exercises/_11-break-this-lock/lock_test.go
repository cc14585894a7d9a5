package breakthis

import (
	"testing"

	"example.com/zklock/internal/grader/breaking"
)

func TestBreak(t *testing.T) {
	breaking.Run(t, breaking.File)
}
