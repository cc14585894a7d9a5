//go:build docker && linux

// Package chaos plays step 5's lock on three real servers that break. Its
// tests are built with the tag docker, and need Docker and root.
package chaos
