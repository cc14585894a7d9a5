package site_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/lab/picture"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

type picturePlace struct {
	file, lock, page string
	alt              i18n.Text
}

// pictures are the pages' pictures: for each file the lock whose scene it shows, "" for the
// opening, the page with it, and a text for a reader who does not see it. The picture on the
// page is a link to the scene.
var pictures = []picturePlace{
	{"herd-and-chain.svg", "", "README.md", i18n.Text{En: "Six clients take a lock in turn. In the herd every release wakes all that wait; in the chain it wakes one.", Zh: "六个客户端依次拿锁。惊群时，每次释放都唤醒所有等待者；排成链之后，每次只唤醒一个。"}},
	{"step-1.svg", "naive", "01-naive-ephemeral/README.md", i18n.Text{En: "Six clients and one node: each release wakes all that wait, and each of them sends a create.", Zh: "六个客户端和一个节点：每次释放都唤醒所有等待者，每个又发一个 create。"}},
	{"step-2.svg", "herd", "02-herd-effect/README.md", i18n.Text{En: "Six clients in a queue whose parent all watch: each change wakes all that wait.", Zh: "六个客户端排成队列，都监听父节点：每次变化都唤醒所有等待者。"}},
	{"step-3.svg", "predecessor", "03-sequential-predecessor/README.md", i18n.Text{En: "Six clients in a queue in which each watches the node before its own: each release wakes one.", Zh: "六个客户端排成队列，各自监听前一个节点：每次释放只唤醒一个。"}},
	{"step-4.svg", "reentrant", "04-reentrant/README.md", i18n.Text{En: "Six clients with the lock of step 4: as in step 3, each release wakes one.", Zh: "六个客户端使用第 4 步的锁：与第 3 步一样，每次释放只唤醒一个。"}},
	{"step-5.svg", "timeout", "05-timeout/README.md", i18n.Text{En: "Six clients with the lock of step 5: as in step 3, each release wakes one, which reads its own node before it takes the lock.", Zh: "六个客户端使用第 5 步的锁：与第 3 步一样，每次释放只唤醒一个；醒来的客户端先读自己的节点，再拿锁。"}},
	{"zklock.svg", "zklock", "zklock/README.md", i18n.Text{En: "Six clients with the complete lock: the next one holds it once the event arrives, and asks nothing more.", Zh: "六个客户端使用完整的锁：事件一到，下一个就持有锁，不再发任何请求。"}},
}

// pictured is a picture, of the films of its scene.
func pictured(lock string, alt i18n.Text) func(*testing.T, i18n.Language) string {
	return func(t *testing.T, lang i18n.Language) string {
		a := locks.Opening
		a.Contenders = 6 // which a reader can follow
		if lock != "" {
			l := testenv.Must(locks.Find(lock))(t)
			a = l.Open()
		}
		films := testenv.Must(lab.Films(t, a))(t)
		var panels []picture.Panel
		for i, name := range a.Locks {
			l := testenv.Must(locks.Find(name))(t)
			require.Nil(t, films[i].Violation)
			panels = append(panels, picture.Panel{Title: l.Title.In(lang), Film: films[i]})
		}
		svg := picture.Draw(lang, alt.In(lang), panels...)
		require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})), "it is not well formed")
		return svg
	}
}

// TestEachPictureIsALinkToItsScene: its page shows it so, and says how to open the scene.
func TestEachPictureIsALinkToItsScene(t *testing.T) {
	for _, p := range pictures {
		anchor, command := "the-opening-scene", "go run ./cmd/lab -open"
		if p.lock != "" {
			anchor, command = p.lock, command+" -scene "+p.lock
		}
		page, folder := site.Read(t, p.page), "docs/"
		if strings.Contains(p.page, "/") {
			folder = "../docs/"
		}
		link := "[![" + p.alt.En + "](" + folder + p.file + ")](" + folder + "scenes.md#" + anchor + ")"
		require.Contains(t, page, link, "%s does not show its picture as a link to its scene", p.page)
		require.Contains(t, page, "`"+command+"`", "%s does not say how to open its scene", p.page)
	}
}
