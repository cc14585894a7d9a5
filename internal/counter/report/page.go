package report

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
)

//go:embed report.html
var reportPage string

// WriteReport writes one page that needs nothing but a browser.
func WriteReport(w io.Writer, set Settings, results []Run, l i18n.Language) error {
	page, err := template.New("report").Funcs(template.FuncMap{
		"svg":   func(c Chart) template.HTML { return template.HTML(c.SVG(false)) }, // ours, and not a user's
		"class": class,
		"span":  span,
		"say":   func(en, zh string) string { return i18n.Text{En: en, Zh: zh}.In(l) },
		"in":    func(text i18n.Text) string { return text.In(l) },
	}).Parse(reportPage)
	if err != nil {
		return err
	}
	var clients []string
	var first Run
	var servers []serverLine
	for i, r := range results {
		if s := (serverLine{cmp.Or(r.About.System, "ZooKeeper"), cmp.Or(r.Where.In(l), r.Server)}); !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
		if i == 0 || first.About.System != "" {
			first = r // the first one on ZooKeeper, if there is one
		}
		if r.Client != "" && !slices.Contains(clients, r.Client) {
			clients = append(clients, r.Client)
		}
	}
	if first.About.System != "" {
		first.Members = nil // of the ZooKeeper that no lock ran on
	}
	return page.Execute(w, map[string]any{
		"Config":   set,
		"First":    first,
		"Title":    cmp.Or(first.Where.In(l), first.Server),
		"Servers":  servers,
		"Clients":  clients,
		"Charts":   Charts(results, l),
		"Main":     firstTable(results, l),
		"Second":   secondTable(results, l),
		"Everyday": EverydayText,
		"Lang":     i18n.Text{En: "en", Zh: "zh-CN"}.In(l),
		"NoLocks":  noLocks(results),
		"Times":    timesTable(results, l),
		"Wire":     wireTable(results, l),
		"Formulas": i18n.Join(formulas(results), "; "),
	})
}

// A serverLine is a server that locks have run on.
type serverLine struct{ Kind, Text string }

// A password cannot contain a blank or a comma unescaped; it should not contain a
// colon, a slash or an @, and might.
var (
	userPassword   = regexp.MustCompile(`(://[^:/@,\s]*:)[^,\s]*@`)
	passwordOption = regexp.MustCompile(`([?&][^=&,\s]*password=)[^&,\s]*`)
)

func withoutPasswords(line string) string {
	return passwordOption.ReplaceAllString(userPassword.ReplaceAllString(line, "${1}xxxxx@"), "${1}xxxxx")
}

// class is the page's name for a style of the terminal.
func class(style string) string {
	return map[string]string{red: "bad", yellow: "note", green: "best"}[style]
}

// A pageCell is a cell of the page.
type pageCell struct {
	Label string // of its column, for pages where rows are cards
	Text  string
	Span  int
}

// span gives the long cell of a short row the room of the missing cells.
func span(t table, row tableRow) []pageCell {
	var cells []pageCell
	for i, text := range row.cells {
		first, columns := columnOf(i, len(row.cells), len(t.header))
		c := pageCell{Text: strings.TrimSpace(text), Span: columns}
		if columns == 1 {
			c.Label = t.header[first]
		}
		cells = append(cells, c)
	}
	return cells
}

func (t table) Header() []string { return t.header }
func (t table) Rows() []tableRow { return t.rows }
func (r tableRow) Style() string { return r.style }

// Settings are the page's text on the command that made it.
type Settings struct {
	Args          []string
	Each          i18n.Text // what each goroutine does
	Rounds        int
	WarmUp, Limit time.Duration
}

// Command is the command line, without passwords.
func (s Settings) Command() string {
	return "go run ./bench " + withoutPasswords(strings.Join(s.Args, " "))
}
