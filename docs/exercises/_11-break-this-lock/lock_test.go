package breakthis

import (
	"testing"

	"example.com/zklock/docs/exercises/breaking"
)

func TestBreak(t *testing.T) {
	breaking.Run(t, breaking.File)
}
