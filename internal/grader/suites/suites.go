// Package suites has the cases for the solutions of exercises 7 to 10, which are not locks of the steps: a register
// that checks tokens, a semaphore, a read/write lock and an election. Their cases run in a World of package locktest.
package suites
