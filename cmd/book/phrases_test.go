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
			globalThis.PLACES = {};
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
		{"我们上面写的两个锁实现,并不能用于生产环境中", "A/42"}, {"string lastnode = firstnode;", "D/15"}, {"即再次检查当前节点是否为所有子节点中最小的", "D/22"},
		{"当持有锁的节点出现网络故障或宕机时", "D/24"}, {"设定一个超时时间,如果超过了这个时间仍未收到通知", "D/27"},
		{"说明前一节点无法正常释放锁", "D/30"}, {"if (latch.await(waittime, timeunit.milliseconds)) {", "D/33"},
		{"应该每隔一段时间检查一下当前的线程状态", "D/38"}, {"heartbeatthread.interrupt();", "D/41"},
		{"在引入了version字段之后", "B/16"}, {"select resource, version from optimistic_lock", "B/16"}, {"thread.sleep(heartbeat_rate);", "D/42"}, {"一旦被打断,线程就会退出,从而不再发送心跳信号", "D/44"},
		{"然后争先抢后的尝试加锁", "A/24"}, {"返回锁的节点名称", "A/59"}, {"//如果加锁成功,则返回当前锁的节点路径", "A/57"}, {"Zookeeper 漫衍式锁实现示例", "E/17"}, {"当前创建的节点,是否在上一步获取到的子节点列表的第一个位置", "C/1"},
	} {
		asked, want = append(asked, [2]string{c[0], c[1][:1]}), append(want, c[1])
	}
	require.Equal(t, want, ask(asked, `import "./places.js"; await import("./phrases.js");
		const answer = asked.map(([text, open]) => nearest(text, open)[0]?.name || "nothing for " + text);`))
}
