package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// A table is printed with its first column to the left and the others to the
// right. A row that has fewer cells than the header has one long one, the
// third, which takes the room of those that are missing.
type table struct {
	header []string
	rows   []tableRow
}

type tableRow struct {
	style string
	cells []string // none: an empty line
}

// What a terminal does with a line.
const (
	plain  = ""
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func (t *table) add(style string, cells ...string) {
	t.rows = append(t.rows, tableRow{style, cells})
}

const (
	separator = "  "
	long      = 2 // the cell that may be a long one
)

func (t *table) print(w io.Writer) {
	colours := isTerminal(w) && os.Getenv("NO_COLOR") == ""
	rows := append([]tableRow{{bold, t.header}}, t.rows...)
	widths := make([]int, len(t.header))
	for _, row := range rows {
		missing := len(widths) - len(row.cells)
		for i, cell := range row.cells {
			switch {
			case i < long || missing == 0:
				widths[i] = max(widths[i], len(cell))
			case i > long:
				widths[i+missing] = max(widths[i+missing], len(cell))
			}
		}
	}
	for _, row := range rows {
		line := strings.Join(t.aligned(row.cells, widths), separator)
		if colours && row.style != plain {
			line = row.style + line + reset
		}
		fmt.Fprintln(w, line)
	}
}

func (t *table) aligned(cells []string, widths []int) []string {
	var out []string
	missing := len(widths) - len(cells)
	for i, cell := range cells {
		width := widths[min(i, len(widths)-1)]
		switch {
		case i == 0:
			cell = fmt.Sprintf("%-*s", width, cell)
		case i == long && missing > 0:
			for _, w := range widths[long+1 : long+1+missing] {
				width += len(separator) + w
			}
			if len(cell) > width {
				return append(out, cell) // and no room for what comes after
			}
			cell = fmt.Sprintf("%-*s", width, cell)
		case i > long && missing > 0:
			cell = fmt.Sprintf("%*s", widths[i+missing], cell)
		default:
			cell = fmt.Sprintf("%*s", width, cell)
		}
		out = append(out, cell)
	}
	return out
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
