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

var articles = flag.String("articles", "", "write page/places.js from the articles' texts, the files of this `folder`")

// askReader asks the scripts of the reader. The script of the question may use the rows of the guide.
func askReader(t *testing.T, asked any, script string) (answer []string) {
	t.Helper()
	return nodetest.Ask[[]string](t, "page", map[string]string{"rows.js": string(theBook(t).files["rows.js"])}, asked,
		`import "./rows.js";`+script)
}

// writePlaces writes page/places.js from the articles' texts.
func writePlaces(t *testing.T) {
	places := askReader(t, testenv.Must(filepath.Abs(*articles))(t), `import { readdirSync, readFileSync } from "fs";
		globalThis.PLACES = globalThis.ALSO = {};
		await import("./phrases.js");
		const texts = readdirSync(asked).map(file => readFileSync(asked + "/" + file, "utf8"));
		const all = {}, letters = text => text.toLowerCase().match(/[\p{L}\p{N}]/gu).join("");
		for (const a of new Set(GUIDE.map(r => r.name[0]))) {
			all[a] = marksOf(texts.find(text => GUIDE.every(r => r.name[0] !== a || r.heading || letters(text).includes(letters(r.phrase)))));
		}
		const answer = [JSON.stringify(all, null, 2)];`)
	text := "// What phrases.js knows of the articles: marksOf their texts. It is written by\n// " +
		"go test ./cmd/book -run APhrase -articles DIR\nglobalThis.PLACES = " + places[0] + ";\n"
	require.NoError(t, os.WriteFile("page/places.js", []byte(text), 0o644))
}

// TestAPhraseOfAnArticleIsFound: the reader finds the row of each phrase of the guide, also while another
// article is open, and for a sentence that no row quotes the row beside it.
func TestAPhraseOfAnArticleIsFound(t *testing.T) {
	if *articles != "" {
		writePlaces(t)
	}
	const scripts = `import "./places.js"; import "./also.js"; await import("./phrases.js");`
	var questions [][2]string // a text, and the letter of the article that is open
	var rows []string         // for each question, the name of the row to find
	for _, r := range theBook(t).rows {
		if r.Heading == 0 {
			questions, rows = append(questions, [2]string{r.Phrase, r.Name[:1]}, [2]string{r.Phrase, "D"}), append(rows, r.Name, r.Name)
		}
	}
	for _, c := range []struct{ sentence, row string }{
		{"我们上面写的两个锁实现,并不能用于生产环境中", "A/44"}, {"string lastnode = firstnode;", "D/15"}, {"即再次检查当前节点是否为所有子节点中最小的", "D/22"},
		{"设定一个超时时间,如果超过了这个时间仍未收到通知", "D/27"}, {"应该每隔一段时间检查一下当前的线程状态", "D/39"}, {"然后争先抢后的尝试加锁", "A/25"},
		{"select resource, version from optimistic_lock", "B/17"}, {"Zookeeper 漫衍式锁实现示例", "E/17"}, {"3.悲观锁", "B/20"}, {"返回锁的节点名称", "A/62"},
	} {
		questions, rows = append(questions, [2]string{c.sentence, c.row[:1]}), append(rows, c.row)
	}
	require.Equal(t, rows, askReader(t, questions, scripts+`
		const answer = asked.map(([text, open]) => nearest(text, open)[0]?.name || "nothing for " + text);`))
	require.Empty(t, askReader(t, nil, scripts+` const row = phrase => GUIDE.find(r => r.phrase === phrase);
		const answer = Object.entries(ALSO).flatMap(([phrase, all]) => all.filter(text => nearest(text, row(phrase)?.name[0])[0] !== row(phrase)));`),
		"also.js: texts of which the nearest row is another one")
}
