// Package confine starts a command with limits and without a network. It starts this program again, and that process
// limits itself and then becomes the command, in an init function: Go calls these in the order of the packages' paths,
// each after those of its imports, so this one runs before those of larger packages of the grader.
package confine
