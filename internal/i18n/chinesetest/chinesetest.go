// Package chinesetest finds what is left of English in a text that was translated.
package chinesetest

import (
	"regexp"
	"strings"
)

var (
	// sentence finds three English words in a row.
	sentence = regexp.MustCompile(`[A-Za-z]['a-z]+,? ['a-z]+,? ['a-z]+.*`)
	// Commands of a shell may stay in English: go run ./cmd/lab.
	commands = regexp.MustCompile(`go (?:run|test|build) \./[ a-zA-Z0-9*/._-]*|git checkout \S+` +
		`|(?:insert into|delete from) \w+`)
	// So may what Go, a lock or the client library says: zk: node does not exist.
	messages = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\bzk: [a-z ]+|runtime error: [a-z ]+` +
		`|context deadline exceeded|unexpected end of JSON input`)
	// And so may lines of a diff, names of nodes, lists in brackets, and requests of a schedule: reply  create /lock.
	code     = regexp.MustCompile(`^\s*[-+] .*|现有的节点：.*|\[[^\]]*\]`)
	requests = regexp.MustCompile(`\b(?:lose request|lose reply|request|reply|event) +\w+ \S+|\bnode is set\b`)
)

// Flags returns the flags of a command's help that are not explained in Chinese, or have package flag's "(default …)".
func Flags(help string) (left []string) {
	for _, flag := range strings.Split("\n"+help, "\n  -")[1:] {
		if !regexp.MustCompile(`\p{Han}`).MatchString(flag) || strings.Contains(flag, "(default") {
			left = append(left, flag)
		}
	}
	return left
}

// English returns what is left of English in each line of a text, except commands, messages of programs, and the
// parts that are to stay.
func English(text string, stays ...string) (left []string) {
	for line := range strings.Lines(text) {
		for _, part := range stays {
			line = strings.ReplaceAll(line, part, "…")
		}
		for _, other := range []*regexp.Regexp{code, commands, messages, requests} {
			line = other.ReplaceAllString(line, "")
		}
		if found := sentence.FindString(line); found != "" {
			left = append(left, found)
		}
	}
	return left
}
