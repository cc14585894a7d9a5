// Package examples has the tests of the articles' bugs: the schedule that forces the bug on
// the article's lock, and the same schedule with the lock that cures it. Those of the bugs on a
// database and on Redis are beside the locks in docs/other-locks.
// docs/bugs.md is the catalogue.
package examples
