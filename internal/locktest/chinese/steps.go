package chinese

import (
	"fmt"
	"regexp"
	"strings"
)

// A schedule that fails has a line for each action: what was chosen, which is a word
// of the lab's addresses and stays, and what that has caused, with semicolons between.

// anAction is the beginning of such a line.
var anAction = regexp.MustCompile(`^\s*(?:\d+\. +)?(?:(?:[A-Z]\d*|client|another session): )?` +
	`(?:lose request|lose reply|end ctx|time passes|a day passes|parent goes|runs on|[a-z]+)(?:\s+|$)`)

// Steps translates the lines of a schedule.
func Steps(english string) string {
	lines := strings.Split(english, "\n")
	for i, line := range lines {
		lines[i] = step(line)
	}
	return strings.Join(lines, "\n")
}

// step translates a line of a schedule.
func step(line string) string {
	action := anAction.FindString(line)
	if !strings.Contains(action, ":") && !strings.Contains(action, "passes") && !strings.Contains(action, "goes") {
		action = line[:len(line)-len(strings.TrimLeft(line, " "))] // the line goes on with the one above
	}
	caused := strings.Split(line[len(action):], "; ")
	for i, what := range caused {
		if m := foreseen.FindStringSubmatch(what); m != nil { // a violation that the lock's page speaks of
			caused[i] = fmt.Sprintf("%s（已知）：%s", m[1], Engine.Text(m[2]))
			continue
		}
		caused[i] = effect(what)
	}
	return action + strings.Join(caused, "；")
}

// effect translates an effect of an action. That of a contender begins with its name.
func effect(what string) string {
	if twin, ok := steps.sentence(what); ok {
		return twin
	}
	who, happens, _ := strings.Cut(what, " ")
	if twin, ok := steps.sentence(happens); ok {
		return who + " " + twin
	}
	return what
}

// results translates what became of the contenders of a schedule: of each, after its
// letter, what it has done and its state.
func results(line string) (string, bool) {
	parts := strings.Split(line, "; ")
	for i, part := range parts {
		m := result.FindStringSubmatch(part)
		if m == nil {
			return "", false
		}
		did := strings.Split(m[2], ", ")
		for j, what := range did {
			twin, ok := steps.sentence(what)
			if state, is := states[what]; is {
				twin, ok = state, true
			}
			if !ok {
				return "", false
			}
			did[j] = twin
		}
		parts[i] = m[1] + "：" + strings.Join(did, "、")
	}
	return strings.Join(parts, "；"), true
}

var result = regexp.MustCompile(`^([A-Z]): ([a-z].*)$`)

var states = map[string]string{
	"outside": "在锁外", "waiting": "正在等待", "inside": "持有锁", "unlocking": "正在释放锁",
	"done": "已结束", "failed": "已失败",
}

var foreseen = regexp.MustCompile(`^(\S+) known: (.*)$`)

var steps = New(joined(happenings, map[string]string{
	"%s and watch":               "%s，并设置监听",
	"%s and watch: %s":           "%s，并设置监听：%s",
	"%s: the request is lost":    "%s：请求丢失",
	"%s: the reply is lost":      "%s：应答丢失",
	"%s: no node":                "%s：节点不存在",
	"%s and watch: no node":      "%s，并设置监听：节点不存在",
	"%s: node exists":            "%s：节点已存在",
	"%s: session expired":        "%s：会话已过期",
	"%s gets the event %s of %s": "%[1]s 收到 %[3]s 的 %[2]s 事件",
	"%s gets an error: %s":       "%s 得到错误：%s", // an error may be a sentence of its own
	"%s cannot unlock: %s":       "%s 释放锁失败：%s",
	"%s Unlock fails, too: %s":   "%s 的 Unlock 也失败：%s",
	"%s its ctx ends":            "%s 的 ctx 结束",
	"%s gets no more requests through, until its session has expired": "在会话过期之前，%s 的请求都发不出去",
	"%s is cut off until its session has expired":                     "%s 断线，直到会话过期",
}))
