package main

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"path"
	"slices"
	"strings"

	"example.com/zklock/internal/i18n"
)

//go:embed page
var assets embed.FS

// steps are the folders of the steps, each with a slash at its end.
var steps = chapters[1].parts // "The five steps"

// A frame has what the template page.html puts around a page, a listing or a difference. Addresses are relative to it.
type frame struct {
	Policy, Tag, Title, Root string // Tag is of the language, Root the address of the book's folder
	lang                     i18n.Language
	Home, HomeZh             string
	Twin, TwinTag            string // the page in the other language; "": there is none
	Groups                   []contentsChapter
	Body                     template.HTML
	Previous, Next           *contentsPage
	Show                     *link // what a button of the page opens
	Sheet                    bool  // it is printed on one sheet
	// Of a listing, a difference, or a step, which shows its listing.
	File     string
	Mentions []mentioned
	Diff     []row
	Left     string // the file on the left of a difference
	Code     template.HTML
	Diffs    []link // the differences from the steps before and after
}

type link struct{ Address, Title string }

// mentioned is a link to a page that speaks of a listing, and its language.
type mentioned struct {
	link
	Lang string
}

type contentsChapter struct {
	Title string
	Pages []contentsPage
}

type contentsPage struct {
	link
	Deep  bool      // it is below another page
	Here  bool      // the list is on this page
	Heads []heading // of this page
}

// Say is a text in the frame's language.
func (f frame) Say(en, zh string) string { return i18n.Both(en, zh).In(f.lang) }

func langTag(lang i18n.Language) string {
	if lang == i18n.Chinese {
		return "zh-CN"
	}
	return "en"
}

var layout = template.Must(template.ParseFS(assets, "page/*.html"))

func (b *book) frame(out, title string, lang i18n.Language) frame {
	return frame{Policy: policy, Tag: langTag(lang), lang: lang, Title: title, Home: relativeTo(out, b.start(lang)),
		HomeZh: relativeTo(out, b.start(i18n.Chinese)), Root: strings.TrimSuffix(relativeTo(out, "."), ".")}
}

func (b *book) execute(templateName, out string, data any) error {
	var text bytes.Buffer
	err := layout.ExecuteTemplate(&text, templateName, data)
	b.files[out] = text.Bytes()
	return err
}

func (b *book) assemble() error {
	var faults error
	for i, p := range b.order {
		faults = errors.Join(faults, b.writePage(i, p))
		if p.twin != nil {
			faults = errors.Join(faults, b.writePage(i, p.twin))
		}
	}
	for _, l := range b.listings {
		faults = errors.Join(faults, b.writeListing(l))
	}
	faults = errors.Join(faults, b.writeDifferences(), b.writeReader())
	scripts, err := assets.ReadDir("page")
	for _, f := range scripts {
		if err == nil && path.Ext(f.Name()) != ".html" {
			b.files[f.Name()], err = assets.ReadFile("page/" + f.Name())
		}
	}

	b.files[mark] = []byte{} // says that the folder is a book
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		b.files["texts."+langTag(lang)+".js"] = b.sectionsScript(lang)
	}
	b.files["glossary.js"], b.files["names.js"], b.files["films.js"] = b.glossaryScript(), b.namesScript(), globalScript("FILMS", b.answers)
	return errors.Join(faults, err)
}

// writePage makes the file of the page that is at a place in the order, in one of its languages.
func (b *book) writePage(place int, p *page) error {
	f := b.frame(p.out, p.title, p.lang)
	f.Body, f.Groups = template.HTML(p.body), b.contents(p)
	if p.twin != nil {
		f.Twin, f.TwinTag = relativeTo(p.out, p.twin.out), langTag(p.twin.lang)
	}
	pageAt := func(i int) *contentsPage {
		if i < 0 || i >= len(b.order) {
			return nil
		}
		other := b.order[i].in(p.lang)
		return &contentsPage{link: link{relativeTo(p.out, other.out), other.title}}
	}
	f.Previous, f.Next = pageAt(place-1), pageAt(place+1)
	if i := slices.Index(steps, path.Dir(p.src)+"/"); i >= 0 {
		l := b.listingOf(steps[i] + "lock.go")
		f.File, f.Code = relativeTo(p.out, l.file+".html"), l.html(p.out, nil)
		for left := i; left <= i+1; left++ { // this is step i+1: the step before beside it, and it beside the next one
			if left >= 1 && left < len(steps) {
				beside := i18n.Textf("step %d beside step %d", left, left+1)
				f.Diffs = append(f.Diffs, link{relativeTo(p.out, differenceOf(left)), beside.In(p.lang)})
			}
		}
	}
	switch p.in(i18n.English).src {
	case "docs/teaching/slides.md":
		deck, err := b.writeDeck(p)
		if err != nil {
			return err
		}
		f.Show = &link{deck, i18n.Text("Show the slides").In(f.lang)}
	case "docs/teaching/handout.md":
		f.Sheet = true
	case "docs/reading-guide.md":
		f.Show = &link{relativeTo(p.out, readerPage(p.lang)), i18n.Text("Open the reader").In(f.lang)}
	}
	return b.execute("page.html", p.out, f)
}

func (b *book) contents(p *page) (all []contentsChapter) {
	for i := range chapters {
		chapter := contentsChapter{Title: chapters[i].title.In(p.lang)}
		for _, other := range b.order {
			isOthersHints := strings.HasSuffix(other.src, "/hints.md") && path.Dir(other.src) != path.Dir(p.src)
			if other.chapter != &chapters[i] || isOthersHints {
				continue
			}
			inLang := other.in(p.lang)
			listed := contentsPage{link: link{relativeTo(p.out, inLang.out), inLang.title}, Deep: other.deep, Here: inLang == p}
			if listed.Here {
				for _, h := range p.heads {
					if h.Level == 2 || h.Level == 3 && len(p.heads) < 60 { // a longer list has only level 2
						listed.Heads = append(listed.Heads, h)
					}
				}
			}
			chapter.Pages = append(chapter.Pages, listed)
		}
		all = append(all, chapter)
	}
	return all
}

// writeListing makes the file of a listing, with links to the pages that speak of it.
func (b *book) writeListing(l *listing) error {
	out := l.file + ".html"
	f := b.frame(out, l.file, i18n.English)
	f.File = l.file
	seen := make(map[*page]bool)
	for _, m := range l.mentions {
		if address := relativeTo(out, m.page.out) + "#" + m.heading; !seen[m.page] {
			f.Mentions = append(f.Mentions, mentioned{link{address, m.page.title}, langTag(m.page.lang)})
		}
		seen[m.page] = true
	}
	f.Body = l.html(out, l.mentions)
	return b.execute("page.html", out, f)
}
