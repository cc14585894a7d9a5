package bugs

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

// diagramOf makes a diagram of its lines, with those of the clients that take part in it. One
// of the name "client" is that of all contenders, and these are goroutines.
func diagramOf(clients []string, server i18n.Text, lines []i18n.Text) i18n.Text {
	all := i18n.Join(lines, "\n").En
	var parts []i18n.Text
	for i, name := range clients {
		if takesPart(name).MatchString(all) {
			text := clientText(name)
			if name == "client" {
				text = i18n.Textf("their client", "共用的客户端")
			} else if slices.Contains(clients, "client") {
				text = i18n.Same("goroutine " + name)
			}
			parts = append(parts, join("participant "+name+" as ", text))
		}
		if i == 0 {
			parts = append(parts, join("participant S as ", server))
		}
	}
	return join("sequenceDiagram\n    ", i18n.Join(append(parts, lines...), "\n    "), i18n.Same("\n"))
}

// join joins the parts of a line, of which the first is the same in both languages.
func join(same string, parts ...i18n.Text) i18n.Text {
	return i18n.Join(append([]i18n.Text{i18n.Same(same)}, parts...), "")
}

// takesPart matches the lines in which a client acts.
func takesPart(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + name + `-|[ ,)>]` + name + `[:,]`)
}

// noMermaid matches what mermaid takes for its own.
var noMermaid = regexp.MustCompile(`[;#{}<]|\bend\b|%%`)

// checkMermaid fails if a line would break the diagram: a semicolon is a new
// line, # begins an entity, and the word end closes a block.
func checkMermaid(t require.TestingT, diagram string) {
	for text := range strings.Lines(diagram) {
		require.NotRegexp(t, noMermaid, text, "mermaid cannot take this line")
		require.LessOrEqual(t, strings.Count(text, ": "), 3, text)
	}
}

func clientText(name string) i18n.Text { return i18n.Textf("client %s", "客户端 %s", name) }

// watch says that a request sets a watch.
func watch(sets bool) (text i18n.Text) {
	if sets {
		text = i18n.Text{En: " and watch", Zh: " 并监听"}
	}
	return text
}

// done says that a reply has no error and comes late, and the next ones which error it has.
var (
	done         = i18n.Text{En: ": done", Zh: "：完成"}
	noNode       = i18n.Text{En: ": no node", Zh: "：节点不存在"}
	nodeExists   = i18n.Text{En: ": node exists", Zh: "：节点已存在"}
	noPermission = i18n.Text{En: ": no permission", Zh: "：没有权限"}
	otherError   = i18n.Text{En: ": error", Zh: "：错误"}
)

// eventText says what an event of a node is about.
func eventText(node string, t jute.EventType) i18n.Text {
	switch t {
	case jute.EventDataChanged:
		return i18n.Textf("event: %s has new data", "事件：%s 有新数据", node)
	case jute.EventChildrenChanged:
		return i18n.Textf("event: %s has other children", "事件：%s 的子节点有变化", node)
	case jute.EventDeleted:
		return i18n.Textf("event: %s is deleted", "事件：%s 已删除", node)
	}
	return i18n.Textf("event: %s is %v", "事件：%[1]s 已创建", node, t)
}

// lostReply says that the reply to a client's request is lost.
func lostReply(op, client string) i18n.Text {
	return i18n.Textf("%s of %s is carried out, the reply is lost with the connection", "%[2]s 的 %[1]s 已经执行，连接断开，响应丢失", op, clientText(client))
}
