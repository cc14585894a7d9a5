package site_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// small is the pages of testdata/edition.txt, each below a line with its path: an English page and its
// Chinese edition, with a link to another pair and to a page that has no edition.
func small(t *testing.T) edition {
	t.Helper()
	text := string(testenv.Must(os.ReadFile("testdata/edition.txt"))(t))
	tree := make(fstest.MapFS)
	for file := range strings.SplitSeq(text[len("-- "):], "\n-- ") {
		name, page, _ := strings.Cut(file, " --\n")
		tree[name] = &fstest.MapFile{Data: []byte(strings.TrimSuffix(page, "\n") + "\n")}
	}
	e := edition{tree}
	for _, page := range []string{"docs/x.zh-CN.md", "y/README.zh-CN.md"} {
		text := testenv.Must(e.stamped(page, true))(t)
		e.write(page, text)
	}
	return e
}

func (e edition) write(page, text string) {
	e.tree.(fstest.MapFS)[page] = &fstest.MapFile{Data: []byte(text)}
}

// TestEditionFindsWhatIsPlanted plants a fault in a small page, or an edit that is
// not a fault.
func TestEditionFindsWhatIsPlanted(t *testing.T) {
	const en, zh = "docs/x.md", "docs/x.zh-CN.md"
	for name, c := range map[string]struct {
		page, old, new string
		want           string // part of the one fault, "" for none
	}{
		"nothing":                               {en, "", "", ""},
		"English: a word":                       {en, "A waiter", "Each waiter", "the English section has changed"},
		"English: a word of a heading":          {en, "## Two steps", "## The steps", "两步: the English section has changed"},
		"English: another line break":           {en, "A waiter sends", "A\nwaiter sends", ""},
		"English: another empty line":           {en, "\n## Two", "\n\n## Two", ""},
		"English: without the switch":           {en, "English | [简体中文](x.zh-CN.md)\n\n", "", "the English page must begin"},
		"English: a new section":                {en, "## Two", "## One\n\n## Two", "there are 2 headings, and 3"},
		"Chinese: other words":                  {zh, "一直等待", "永远等待", ""},
		"Chinese: another order of words":       {zh, "发出 2 个请求：`create` 和 `getChildren`", "发出 `getChildren` 和 `create` 共 2 个请求", ""},
		"Chinese: another line break":           {zh, "。\n**代价**", "。**代价**", ""},
		"Chinese: other labels in a diagram":    {zh, "3 秒后出现两个持有者", "3 秒以后，有两个持有者", ""},
		"Chinese: without the switch":           {zh, "[English](x.md) | 简体中文\n\n", "", "the Chinese page must begin"},
		"Chinese: the switch leads elsewhere":   {zh, "[English](x.md)", "[English](z.md)", "the Chinese page must begin"},
		"Chinese: a heading of another level":   {zh, "## 两步", "### 两步", "the heading has level 3, and 2"},
		"Chinese: a heading missing":            {zh, "## 两步\n", "", "there are 1 headings, and 2"},
		"Chinese: a stamp missing":              {zh, "<!-- en:", "<!-- ", "the stamp is missing"},
		"Chinese: a link missing":               {zh, "[lock.go](../lock.go)", "lock.go", "item 2: a link to lock.go is there 0 times, and 1"},
		"Chinese: a link to another place":      {zh, "(../lock.go)", "(z.md)", "item 2: a link to"},
		"Chinese: a link to an English page":    {zh, "(z.md#times)（英文）", "(z.md#times)", "in English says（英文）"},
		"Chinese: not an English page":          {zh, "第二节)", "第二节)（英文）", "in English says（英文）"},
		"Chinese: a link to another heading":    {zh, "z.md#times", "z.md#z", "a link to docs/z.md, heading"},
		"Chinese: a link to no heading":         {zh, "#第二节", "#第三节", "no such heading"},
		"Chinese: a link to no file":            {zh, "(../lock.go)", "(../lok.go)", "no such file"},
		"Chinese: an English page with a twin":  {zh, "../y/README.zh-CN.md#第二节", "../y/README.md#the-second", "the Chinese one is (../y/README.zh-CN.md#第二节)"},
		"Chinese: a folder with a twin":         {zh, "../y/README.zh-CN.md#第二节", "../y/#the-second", "the Chinese one is (../y/README.zh-CN.md#第二节)"},
		"Chinese: a figure of the text":         {zh, "发出 2 个", "发出 3 个", "the text: figure"},
		"Chinese: a figure of a row":            {zh, "第 3 步", "第 5 步", "row 3, cell 2: figure"},
		"Chinese: a figure of an item":          {zh, "预测 10", "预测 11", "item 1: figure"},
		"Chinese: two rows exchanged":           {zh, "| [A1](z.md)（英文）：一直等待 | 第 3 步 |\n| `a \\| b` 丢失 | 第 4 步 |", "| `a \\| b` 丢失 | 第 4 步 |\n| [A1](z.md)（英文）：一直等待 | 第 3 步 |", "row 3, cell"},
		"Chinese: two items exchanged":          {zh, "1. 先预测 10。\n2. 阅读 [lock.go](../lock.go)，\n   再运行。", "1. 阅读 [lock.go](../lock.go)，\n   再运行。\n2. 先预测 10。", "item 1: "},
		"Chinese: two cells exchanged":          {zh, "| 没有人被唤醒 | 第 4 步 |", "| 第 4 步 | 没有人被唤醒 |", "row 5, cell"},
		"Chinese: a row missing":                {zh, "| 没有人被唤醒 | 第 4 步 |\n", "", "row 5, cell 1 is missing"},
		"Chinese: a row more":                   {zh, "| 没有人被唤醒 | 第 4 步 |\n", "| 没有人被唤醒 | 第 4 步 |\n| 无 | 无 |\n", "row 6, cell 1 is not in the English"},
		"Chinese: an item missing":              {zh, "1. 先预测 10。\n", "", "item 2 is missing"},
		"Chinese: code in the text":             {zh, "`getChildren`", "`getchildren`", "`getChildren` is there 0 times"},
		"Chinese: a block of code":              {zh, "-n 100", "-n 200", "block 2: the code differs"},
		"Chinese: a comment in code":            {zh, "# comments stay", "# 注释", "block 2: the code differs"},
		"Chinese: a block missing":              {zh, "```\ngo run ./bench -n 100 # comments stay\n## not a heading\n```\n", "", "block 5 is missing"},
		"Chinese: other words in a transcript":  {zh, "通过 2 个", "已通过 2 个", ""},
		"Chinese: another command is typed":     {zh, "$ zklock watch 3", "$ zklock watch 4", "block 3: line 2 of the transcript"},
		"Chinese: another command is shown":     {zh, "docs/x -n 1", "docs/x -n 2", "block 3: line 4 of the transcript"},
		"Chinese: a line of a transcript less":  {zh, "3 个用例，通过 2 个\n", "", "block 3: the transcript has 4 lines, and 5"},
		"Chinese: a transcript that is code":    {zh, "```console", "```", "block 3: the code differs"},
		"Chinese: a line of a diagram missing":  {zh, "    A->>S: create lock-0\n", "", "block 1: the diagram has 4 lines, and 5"},
		"Chinese: another arrow":                {zh, "A->>S:", "A-->>S:", "block 1: line 3 of the diagram"},
		"Chinese: another figure in a label":    {zh, "3 秒后", "4 秒后", "block 1: line 4 of the diagram"},
		"Chinese: a note over somebody else":    {zh, "over A,B", "over A,S", "block 1: line 4 of the diagram"},
		"Chinese: other words in a picture":     {zh, "持有锁\n", "已持有\n", ""},
		"Chinese: another figure in a picture":  {zh, "等待 2 s", "等待 3 s", "block 4: line 3 of the picture"},
		"Chinese: another node in a picture":    {zh, "lock-…05", "lock-…06", "block 4: line 3 of the picture"},
		"Chinese: another path in a picture":    {zh, "/lock ", "/locks ", "block 4: line 2 of the picture"},
		"Chinese: another line in a picture":    {zh, "─┬─", "───", "block 4: line 2 of the picture"},
		"Chinese: a line of a picture missing":  {zh, "       └─ lock-…05 等待 2 s\n", "", "block 4: the picture has 3 lines, and 4"},
		"Chinese: other words below a scene":    {zh, "B 等待 10 s。", "B 等 10 s。", ""},
		"Chinese: another figure below a scene": {zh, "B 等待 10 s。", "B 等待 11 s。", "block 5: figure"},
		"Chinese: another scene":                {zh, "```scene A4", "```scene A5", "block 5: the code differs"},
		"Chinese: bold words that are not bold": {zh, "**代价**是", "**代价。**是", "do not make words bold"},
		"Chinese: a quotation with a blank":     {zh, "阅读", "阅读 a,b", ""},
		"Chinese: a half-width comma":           {zh, "发出 2 个请求：", "发出,即 2 个请求：", "line 6: 等待者发出,即: Chinese punctuation"},
		"Chinese: a half-width stop":            {zh, "再运行。", "再运行.", "再运行.: Chinese punctuation"},
		"Chinese: no blank before a figure":     {zh, "发出 2 个", "发出2 个", "Chinese punctuation"},
		"Chinese: no blank after code":          {zh, "`create` 和", "`create`和", "Chinese punctuation"},
		"Chinese: no blank before a link":       {zh, "[A1](z.md)（英文）：", "见[A1](z.md)（英文）：", "Chinese punctuation"},
		"Chinese: bold words missing":           {zh, "**代价**", "代价", "the mark **"},
		"the linked page gets another heading":  {"y/README.md", "## The second", "## The third", "a link to ../y/#the-second is there 0 times"},
	} {
		t.Run(name, func(t *testing.T) {
			e := small(t)
			text, _ := e.read(c.page)
			require.Contains(t, text, c.old)
			e.write(c.page, strings.Replace(text, c.old, c.new, 1))
			found := e.faults(en)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, strings.Join(found, "\n"), c.want)
		})
	}
}

// TestAStampIsOfWhatATranslatorReads: what a test writes in both languages changes none.
func TestAStampIsOfWhatATranslatorReads(t *testing.T) {
	const page = "# Bugs\n\nA word.\n\n<!-- bugs -->\n| [A1: old](#a1) | A | hang |\n<!-- end of bugs -->\n| [A](guide.md), one | [A1](#old) |\n" +
		"| [`x`](../x/) | what it is | old |\n\n<!-- A1 -->\nold;\n\n```mermaid\nold\n```\n<!-- end of A1 -->\n\nThe end.\n" +
		"<!-- scenes -->\n\n## All of this\n\n### A1\nold\n<!-- end of scenes -->\n"
	hash := func(old, new string) string {
		all, _ := sections(strings.ReplaceAll(page, old, new))
		require.Empty(t, all[1].hash()+all[2].hash())
		return all[0].hash()
	}
	require.Equal(t, hash("old", "old"), hash("old", "new"))
	for _, read := range []string{"Bugs", "word", ", one", "what it is", "The end"} {
		require.NotEqual(t, hash("old", "old"), hash(read, "else"), read)
	}
}

// TestEditionWritesStampsAndLinks: of a page that is named, and twice is as good as
// once.
func TestEditionWritesStampsAndLinks(t *testing.T) {
	e := small(t)
	const en, zh = "docs/x.md", "docs/x.zh-CN.md"
	right, _ := e.read(zh)
	again := testenv.Must(e.stamped(zh, true))(t)
	require.Equal(t, right, again)
	require.Equal(t, right, e.led(zh))

	text, _ := e.read(en)
	e.write(en, strings.Replace(text, "2 requests", "two requests", 1))
	text = testenv.Must(e.stamped(zh, true))(t)
	require.NotEqual(t, right, text)
	e.write(zh, text)
	same := testenv.Must(e.stamped(zh, false))(t)
	require.Equal(t, text, same, "none is missing")
	require.Equal(t, []string{"line 3, 页面: the text: figure 2 is there 1 times, and 0 times in English"}, e.faults(en), "a new stamp hides no other fault")

	for _, link := range []string{"../y/README.md#the-second", "../y#the-second", "../y/#the-second"} {
		e.write(zh, strings.Replace(right, "../y/README.zh-CN.md#第二节", link, 1))
		require.NotEmpty(t, e.faults(en))
		require.Equal(t, right, e.led(zh))
	}

	require.Error(t, testenv.Err(e.stamped(en, true)), "an English page gets no stamps")
	e.write(zh, strings.Replace(right, "## 两步\n", "", 1))
	require.Error(t, testenv.Err(e.stamped(zh, true)), "which heading lacks its twin is the translator's to say")
}
