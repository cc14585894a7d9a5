// Package chinesetest finds what is left of English in a text that was translated.
package chinesetest

import (
	"regexp"
	"slices"
	"strings"
)

var (
	han = regexp.MustCompile(`\p{Han}`) // a Chinese character
	// sentence finds three English words in a row.
	sentence = regexp.MustCompile(`[A-Za-z]['a-z]+,? ['a-z]+,? ['a-z]+.*`)
	// The others match English that may stay. Commands of a shell or a database: go run ./cmd/lab.
	commands = regexp.MustCompile(`go (?:run|test|build) \./[ a-zA-Z0-9*/._-]*|git checkout \S+` +
		`|(?:insert into|delete from) \w+`)
	// What Go, a lock or the client library says: zk: node does not exist.
	messages = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\bzk: [a-z ]+|runtime error: [a-z ]+` +
		`|context deadline exceeded|unexpected end of JSON input`)
	lists = regexp.MustCompile(`^\s*[-+] .*` + // a line of a diff
		`|现有的节点：.*` + // "the nodes that there are: " and their names
		`|\[[^\]]*\]`) // a list in brackets
	// Requests of a schedule: reply  create /lock.
	requests = regexp.MustCompile(`\b(?:lose request|lose reply|request|reply|event) +\w+ \S+|\bnode is set\b`)
)

// Flags returns the flags of a command's help that are not explained in Chinese, or have package flag's "(default …)".
func Flags(help string) []string {
	flags := strings.Split("\n"+help, "\n  -")[1:] // each flag begins a line; what is before the first is not a flag's
	return slices.DeleteFunc(flags, func(flag string) bool {
		return han.MatchString(flag) && !strings.Contains(flag, "(default")
	})
}

// English returns what is left of English in each line of a text, except commands, messages of programs, and the
// parts that are to stay.
func English(text string, stays ...string) (left []string) {
	for line := range strings.Lines(text) {
		for _, part := range stays {
			line = strings.ReplaceAll(line, part, "…")
		}
		for _, other := range []*regexp.Regexp{lists, commands, messages, requests} {
			line = other.ReplaceAllString(line, "")
		}
		if found := sentence.FindString(line); found != "" {
			left = append(left, found)
		}
	}
	return left
}
