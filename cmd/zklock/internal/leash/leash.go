// Package leash runs a command no longer than a lease lasts, whatever happens to the process that has started it: it
// may be killed or stopped. It is for Linux and macOS.
//
// Between the caller's process, which has a [Process], and the command are three more, each a child of the last:
//
//	caller's process → guard → guard → starter → command
//
// The three are of the caller's program (guard.go). The caller's process has a pipe to each of them, and tells it the
// end of the lease. If the lease ends, or the caller's process, which closes the pipes, each of them ends all that is
// below it, also if those in between have ended. So any one of these four ends the command in time, with all that it
// has started; one guard may be killed. If the starter ends, the kernel kills the command.
package leash
