// Package confine starts a command with limits and without a network. It starts this program again, and
// that process limits itself and then becomes the command. It does so in an init function: Go calls the
// init functions of packages in the order of their paths, each after those of its imports, so that this
// one runs before those of the larger packages of the grader.
package confine
