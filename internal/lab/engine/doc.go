//go:build !(js && wasm)

// Command engine is the program that runs in the lab's page: build it with GOOS=js
// GOARCH=wasm, or start the lab with go run ./cmd/lab.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "engine: it runs in a page; start it with: go run ./cmd/lab")
	os.Exit(1)
}
