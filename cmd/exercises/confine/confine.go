// Package confine starts a command with limits and without a network. It does so through the program
// that it is part of: started again, that program is another one before it has begun. What stands for
// main here are functions init, which run before those of the larger packages of the grader: Go begins
// with the package whose path is first and whose imports have begun.
package confine
