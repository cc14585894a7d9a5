// Package suites has what is asked of the things that exercises 7 to 10 build and
// that are not locks of the steps: a register that checks tokens, a semaphore, a
// read/write lock and an election. Their cases run in a World of package locktest.
package suites
