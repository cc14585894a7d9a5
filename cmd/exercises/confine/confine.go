// Package confine starts a command with limits and without a network. It starts this program again, and that process
// limits itself and then becomes the command, in an init function. This package imports little, and its path is early
// in the alphabet: in this order Go calls such functions, so this one runs before those of larger packages.
package confine
