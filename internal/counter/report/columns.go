package report

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"example.com/zklock/internal/i18n"
)

// A table is printed with its first column to the left and the others to the right. A row that has fewer cells than
// the header has one long cell, the third, which takes the columns of the missing ones: with 6 columns and 4 cells, the
// columns 2 to 4, from 0. The last cell is in the last column in each row.
type table struct {
	Header []string
	Rows   []tableRow
	extra  int // how many columns at the end may be left out, in each row, where the table is too wide
}

type tableRow struct {
	Style string
	cells []string // none: an empty line
}

// Styles of a line on a terminal.
const (
	plain  = ""
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func (t *table) add(style string, cells ...string) { t.Rows = append(t.Rows, tableRow{style, cells}) }

const longCell = 2 // the cell that may be a long one

// print prints the table, if it can within a width; 0: no limit. It reports whether it has left out the extra columns.
func (t *table) print(w io.Writer, width int) (narrowed bool) {
	colours := IsTerminal(w) && os.Getenv("NO_COLOR") == ""
	rows := append([]tableRow{{bold, t.Header}}, t.Rows...)
	widths := columnWidths(rows)
	gap := "  " // between columns
	if width > 0 && fullWidth(widths, gap) > width {
		if narrowed = t.extra > 0; narrowed {
			for i, row := range rows {
				rows[i].cells = row.cells[:max(0, len(row.cells)-t.extra)]
			}
			widths = columnWidths(rows)
		}
		if fullWidth(widths, gap) > width {
			gap = " "
		}
	}
	for _, row := range rows {
		line := strings.Join(aligned(row.cells, widths, gap), gap)
		if colours && row.Style != plain {
			line = row.Style + line + reset
		}
		fmt.Fprintln(w, line)
	}
	return narrowed
}

func fullWidth(widths []int, gap string) int {
	sum := (len(widths) - 1) * len(gap)
	for _, width := range widths {
		sum += width
	}
	return sum
}

// columnOf returns the first column of a cell, in a row of some cells, and how many columns it takes.
func columnOf(cell, cells, columns int) (first, span int) {
	missing := columns - cells
	switch {
	case cell < longCell:
		return cell, 1
	case cell == longCell:
		return cell, 1 + missing
	}
	return cell + missing, 1 // behind the long cell
}

// columnWidths are those that the rows need, of which the first is the header.
func columnWidths(rows []tableRow) []int {
	widths := make([]int, len(rows[0].cells))
	for _, row := range rows {
		for i, cell := range row.cells {
			if first, span := columnOf(i, len(row.cells), len(widths)); span == 1 {
				widths[first] = max(widths[first], i18n.Wide(cell))
			}
		}
	}
	return widths
}

// aligned pads the cells of a row.
func aligned(cells []string, widths []int, gap string) (out []string) {
	for i, cell := range cells {
		first, span := columnOf(i, len(cells), len(widths))
		width := fullWidth(widths[first:first+span], gap)
		if i18n.Wide(cell) > width {
			return append(out, cell) // the cells behind it are left out: they would not be in their columns
		}
		blanks := strings.Repeat(" ", width-i18n.Wide(cell))
		if first == 0 || span > 1 {
			out = append(out, cell+blanks)
		} else {
			out = append(out, blanks+cell)
		}
	}
	return out
}

// IsTerminal reports whether a person may look at what is written to w.
func IsTerminal(w io.Writer) bool {
	if u, ok := w.(interface{ Unwrap() io.Writer }); ok {
		w = u.Unwrap()
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth is how many columns the terminal has; 0: w is not a terminal.
func TerminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}
