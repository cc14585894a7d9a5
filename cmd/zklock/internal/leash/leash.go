// Package leash runs a command no longer than a lease lasts, whatever happens to the process that
// has started it: it may be killed or stopped. It is for Linux and macOS.
package leash
