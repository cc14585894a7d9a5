package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"path"
	"slices"
	"strings"

	"example.com/zklock/internal/i18n"
)

//go:embed page
var assets embed.FS

// A frame is what stands around the content of a page or a listing.
type frame struct {
	Policy, Tag, Title, Root string
	lang                     i18n.Language
	Home, HomeZh             string
	Twin, TwinTag            string // the address of the page in the other language
	Groups                   []group
	Body                     template.HTML
	Previous, Next           *entry
	// Of a listing.
	File     string
	Mentions []mentioned
	Diff     []row
	Left     string // of a difference: the other file
	Show     *link  // what is opened from the page
	Sheet    bool   // it is printed on one sheet
	// Of a step.
	Code  template.HTML
	Diffs []link
}

type link struct{ Address, Title string }

// mentioned is a link to a page that speaks of a listing, and its language.
type mentioned struct {
	link
	Lang string
}

type group struct {
	Title string
	Pages []entry
}

type entry struct {
	link
	Deep, Here bool
	Heads      []heading
}

// Say is a text in the frame's language.
func (f frame) Say(en, zh string) string {
	return i18n.Text{En: en, Zh: zh}.In(f.lang)
}

func langTag(lang i18n.Language) string {
	if lang == i18n.Chinese {
		return "zh-CN"
	}
	return "en"
}

var layout = template.Must(template.ParseFS(assets, "page/*.html"))

// frame is that of a file of the book.
func (b *book) frame(out, title string, lang i18n.Language) frame {
	return frame{Policy: policy, Tag: langTag(lang), lang: lang, Title: title, Root: strings.TrimSuffix(relativeTo(out, "."), "."),
		Home: relativeTo(out, b.start(lang)), HomeZh: relativeTo(out, b.start(i18n.Chinese))}
}

func (b *book) write(out string, f frame) error { return b.execute("page.html", out, f) }

// execute writes a file with one of the templates.
func (b *book) execute(name, out string, data any) error {
	var text bytes.Buffer
	err := layout.ExecuteTemplate(&text, name, data)
	b.files[out] = text.Bytes()
	return err
}

// assemble makes the book's files of its pages and listings.
func (b *book) assemble() error {
	for i, p := range b.order {
		err := b.writePage(i, p)
		if err == nil && p.twin != nil {
			err = b.writePage(i, p.twin)
		}
		if err != nil {
			return err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(b.listings)) {
		if err := b.writeListing(b.listings[file]); err != nil {
			return err
		}
	}
	if err := errors.Join(b.writeDifferences(), b.writeReader()); err != nil {
		return err
	}
	scripts, err := assets.ReadDir("page")
	for _, f := range scripts {
		if err == nil && path.Ext(f.Name()) != ".html" {
			b.files[f.Name()], err = assets.ReadFile("page/" + f.Name())
		}
	}
	if err != nil {
		return err
	}
	b.files[mark] = []byte{}
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		b.files["texts."+langTag(lang)+".js"] = b.sectionsScript(lang)
	}
	b.files["glossary.js"], b.files["names.js"], b.files["films.js"] = b.glossaryScript(), b.namesScript(), globalScript("FILMS", b.answers)
	return nil
}

// writePage writes the page of a place in the order.
func (b *book) writePage(place int, p *page) error {
	f := b.frame(p.out, p.title, p.lang)
	f.Body, f.Groups = template.HTML(p.body), b.contents(p)
	if p.twin != nil {
		f.Twin, f.TwinTag = relativeTo(p.out, p.twin.out), langTag(p.twin.lang)
	}
	at := func(i int) *entry {
		if i < 0 || i >= len(b.order) {
			return nil
		}
		q := b.order[i].in(p.lang)
		return &entry{link: link{relativeTo(p.out, q.out), q.title}}
	}
	f.Previous, f.Next = at(place-1), at(place+1)
	if i := slices.Index(steps, path.Dir(p.src)+"/"); i >= 0 {
		l := b.listingOf(steps[i] + "lock.go")
		f.File, f.Code = relativeTo(p.out, l.file+".html"), l.html(p.out, nil)
		for j := i; j <= i+1; j++ { // to the step before and to the next one
			if j >= 1 && j < len(steps) {
				f.Diffs = append(f.Diffs, link{relativeTo(p.out, differenceOf(j)), f.Say(fmt.Sprintf("step %d beside step %d", j, j+1), fmt.Sprintf("第 %d 步与第 %d 步对照", j, j+1))})
			}
		}
	}
	switch p.in(i18n.English).src {
	case "docs/teaching/slides.md":
		deck, err := b.writeDeck(p)
		if err != nil {
			return err
		}
		f.Show = &link{deck, f.Say("Show the slides", "放映幻灯片")}
	case "docs/teaching/handout.md":
		f.Sheet = true
	case "docs/reading-guide.md":
		f.Show = &link{relativeTo(p.out, readerPage(p.lang)), f.Say("Open the reader", "打开阅读器")}
	}
	return b.write(p.out, f)
}

// contents are the contents of the book, beside a page.
func (b *book) contents(p *page) (all []group) {
	for i := range chapters {
		c := &chapters[i]
		g := group{Title: c.title.In(p.lang)}
		for _, q := range b.order {
			if q.chapter != c {
				continue
			}
			deep := q.deep
			if strings.HasSuffix(q.src, "/hints.md") && path.Dir(q.src) != path.Dir(p.src) {
				continue // they give an exercise away that is not opened
			}
			q = q.in(p.lang)
			e := entry{link: link{relativeTo(p.out, q.out), q.title}, Deep: deep, Here: q == p}
			if e.Here {
				for _, h := range p.heads {
					if h.Level == 2 || h.Level == 3 && len(p.heads) < 60 { // of a longer page level 2 alone
						e.Heads = append(e.Heads, h)
					}
				}
			}
			g.Pages = append(g.Pages, e)
		}
		all = append(all, g)
	}
	return all
}

func (b *book) writeListing(l *listing) error {
	out := l.file + ".html"
	f := b.frame(out, l.file, i18n.English)
	f.File = l.file
	seen := make(map[*page]bool)
	for _, m := range l.mentions {
		if !seen[m.page] {
			f.Mentions = append(f.Mentions, mentioned{link{relativeTo(out, m.page.out) + "#" + m.at, m.page.title}, langTag(m.page.lang)})
		}
		seen[m.page] = true
	}
	f.Body = l.html(out, l.mentions)
	return b.write(out, f)
}

// steps are the folders of the steps, each with a slash at its end.
var steps = chapters[1].parts
