// Package bugs has the tests of the articles' bugs: the schedule that forces the bug on
// the article's lock, and the same schedule with the lock that cures it. That of a bug
// with a scene is the scene's. A schedule that is written by hand has a file of its own.
// docs/bugs.md is the catalogue.
package bugs
