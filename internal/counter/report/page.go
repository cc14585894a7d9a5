package report

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
)

//go:embed report.html
var reportPage string

// WriteReport writes one page of the results, of which there must be one at least. The page needs nothing but a browser.
func WriteReport(w io.Writer, set Settings, results []Run, l i18n.Language) error {
	page, err := template.New("report").Funcs(template.FuncMap{
		"svg":   func(c Chart) template.HTML { return template.HTML(c.SVG(OnPage)) }, // safe: the picture is ours, and not a user's
		"class": func(style string) string { return classOf[style] },
		"span":  pageCells,
		"say":   func(en, zh string) string { return i18n.Both(en, zh).In(l) },
		"in":    func(text i18n.Text) string { return text.In(l) },
	}).Parse(reportPage)
	if err != nil {
		return err
	}
	first := results[0]
	return page.Execute(w, map[string]any{
		"Config":   set,
		"First":    first,
		"Server":   cmp.Or(first.Where.In(l), first.Server),
		"Clients":  Distinct(results, func(r Run) string { return r.Client }),
		"Charts":   Charts(results, l),
		"Main":     mainTable(results, firstTable, l),  // the loads of article A, in which all contend at once
		"Second":   mainTable(results, secondTable, l), // the loads of every day
		"Everyday": EverydayText,
		"Lang":     i18n.Both("en", "zh-CN").In(l),
		"NoLocks":  noLocks(results),
		"Times":    timesTable(results, l),
		"Wire":     wireTable(results, l),
		"Formulas": i18n.Join(formulas(results), "; "),
	})
}

// classOf has the class of a row on the page, by its style on a terminal.
var classOf = map[string]string{red: "bad", yellow: "note", green: "best"}

type pageCell struct {
	Label string // of its column, for pages where rows are cards
	Text  string
	Span  int
}

// pageCells returns the cells of a row. A run without figures has a row with fewer cells than columns: one of them says
// why there are no figures, and spans the columns that are left.
func pageCells(t table, row tableRow) (cells []pageCell) {
	for i, text := range row.cells {
		first, columns := columnOf(i, len(row.cells), len(t.Header))
		c := pageCell{Text: strings.TrimSpace(text), Span: columns}
		if columns == 1 {
			c.Label = t.Header[first]
		}
		cells = append(cells, c)
	}
	return cells
}

// Settings say on the page how the benchmark was called.
type Settings struct {
	Each          i18n.Text // what each goroutine does
	Rounds        int
	WarmUp, Limit time.Duration
}
