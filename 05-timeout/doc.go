// Package timeout is step 5: the complete lock.
package timeout
