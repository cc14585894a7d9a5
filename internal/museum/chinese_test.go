package museum

import (
	"testing"

	"example.com/zklock/internal/museum/scenes"
)

var effectsZh = map[scenes.Effect]string{
	scenes.Hang: "永远等待", scenes.TwoHolders: "两个持有者", scenes.Leak: "残留", scenes.Starvation: "饥饿", scenes.Crash: "崩溃",
}

var chinese = edition{
	file: "../../docs/bugs.zh-CN.md", colon: "：", comma: "、", step: "## 第 ",
	text:   func(t scenes.Text) string { return t.Zh },
	effect: func(e scenes.Effect) string { return effectsZh[e] },
}

// The Chinese catalogue has the bugs of the English one in its order. What the
// bugs' entries say is on it in Chinese.
func TestTheChineseCatalogueHasTheSameRuns(t *testing.T) {
	page := read(t, chinese.file)
	chinese.compare(t, page, chinese.written(t, page))
}
