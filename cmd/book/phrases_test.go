package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/lab/nodetest"
	"example.com/zklock/internal/testenv"
)

var articles = flag.String("articles", "", "write page/places.js from the articles' texts, which are the files of this `folder`")

// TestAPhraseOfAnArticleIsFound: the reader finds the row of each phrase of the guide, also while another
// article is open, and for a sentence that no row quotes the row beside it.
func TestAPhraseOfAnArticleIsFound(t *testing.T) {
	b := theBook(t)
	ask := func(asked any, script string) (answer []string) {
		return nodetest.Ask[[]string](t, "page", map[string]string{"rows.js": string(b.files["rows.js"])}, asked, `import "./rows.js";`+script)
	}
	if *articles != "" {
		dir := testenv.Must(filepath.Abs(*articles))(t)
		const script = `import { readdirSync, readFileSync } from "fs";
			globalThis.PLACES = globalThis.ALSO = {};
			await import("./phrases.js");
			const texts = readdirSync(asked).map(file => readFileSync(asked + "/" + file, "utf8"));
			const all = {}, letters = text => text.toLowerCase().match(/[\p{L}\p{N}]/gu).join("");
			for (const a of new Set(GUIDE.map(r => r.name[0]))) {
				all[a] = marksOf(texts.find(text => GUIDE.every(r => r.name[0] !== a || r.heading || letters(text).includes(letters(r.phrase)))));
			}
			const answer = [JSON.stringify(all, null, 2)];`
		text := "// What phrases.js knows of the articles: marksOf their texts. It is written by\n// go test ./cmd/book -run APhrase -articles DIR\n" +
			"globalThis.PLACES = " + ask(dir, script)[0] + ";\n"
		require.NoError(t, os.WriteFile("page/places.js", []byte(text), 0o644))
	}
	asked, want := [][2]string{}, []string{}
	for _, r := range b.rows {
		if r.Heading == 0 {
			asked, want = append(asked, [2]string{r.Phrase, r.Name[:1]}, [2]string{r.Phrase, "D"}), append(want, r.Name, r.Name)
		}
	}
	for _, c := range [][2]string{
		{"我们上面写的两个锁实现,并不能用于生产环境中", "A/44"}, {"string lastnode = firstnode;", "D/15"}, {"即再次检查当前节点是否为所有子节点中最小的", "D/22"},
		{"设定一个超时时间,如果超过了这个时间仍未收到通知", "D/27"}, {"应该每隔一段时间检查一下当前的线程状态", "D/39"}, {"然后争先抢后的尝试加锁", "A/25"},
		{"select resource, version from optimistic_lock", "B/17"}, {"Zookeeper 漫衍式锁实现示例", "E/17"}, {"3.悲观锁", "B/20"}, {"返回锁的节点名称", "A/62"},
	} {
		asked, want = append(asked, [2]string{c[0], c[1][:1]}), append(want, c[1])
	}
	require.Equal(t, want, ask(asked, `import "./places.js"; import "./also.js"; await import("./phrases.js");
		const answer = asked.map(([text, open]) => nearest(text, open)[0]?.name || "nothing for " + text);`))
	require.Empty(t, ask(nil, `import "./places.js"; import "./also.js"; await import("./phrases.js"); const row = phrase => GUIDE.find(r => r.phrase === phrase);
		const answer = Object.entries(ALSO).flatMap(([phrase, all]) => all.filter(text => nearest(text, row(phrase)?.name[0])[0] !== row(phrase)));`),
		"also.js: texts of which the nearest row is another one")
}
