// Package examples has the tests of the articles' bugs on ZooKeeper: the schedule that forces the bug on
// the article's lock, and the same schedule with the lock that cures it. docs/bugs.md is the catalogue.
package examples
