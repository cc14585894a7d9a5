// Package chinesetest finds what is left of English in a text that was translated.
package chinesetest

import (
	"regexp"
	"strings"
)

var (
	// sentences are three words in a row.
	sentences = regexp.MustCompile(`[A-Za-z]['a-z]+,? ['a-z]+,? ['a-z]+.*`)
	// commands are those of a shell, with what follows.
	commands = regexp.MustCompile(`go (?:run|test|build) \./[ a-zA-Z0-9*/._-]*|git checkout \S+`)
	// errors are what Go, a lock or the client library says, and requests what a schedule
	// has: they stay as they are.
	errors = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\bzk: [a-z ]+|runtime error: [a-z ]+`)
	// code are the lines of a change, names of nodes and lists of requests.
	code     = regexp.MustCompile(`^\s*[-+] .*|现有的节点：.*|\[[^\]]*\]`)
	requests = regexp.MustCompile(`\b(?:lose request|lose reply|request|reply|event) +\w+ \S+|\bnode is set\b`)
)

// Flags returns the flags of a command's help whose words are not Chinese.
func Flags(help string) (left []string) {
	for _, flag := range strings.Split("\n"+help, "\n  -")[1:] {
		if !regexp.MustCompile(`\p{Han}`).MatchString(flag) || strings.Contains(flag, "(default") {
			left = append(left, flag)
		}
	}
	return left
}

// English returns what is left of English in each line of a text: no command, no error
// of a library, and nothing of what stays.
func English(text string, stays ...string) (left []string) {
	for line := range strings.Lines(text) {
		for _, part := range stays {
			line = strings.ReplaceAll(line, part, "…")
		}
		for _, other := range []*regexp.Regexp{code, commands, errors, requests} {
			line = other.ReplaceAllString(line, "")
		}
		if found := sentences.FindString(line); found != "" {
			left = append(left, found)
		}
	}
	return left
}
