package main

import (
	"fmt"
	"html/template"
	"strings"

	"example.com/zklock/internal/i18n"
)

// writeDifferences makes the pages that show two steps side by side: their difference is the lesson.
func (b *book) writeDifferences() error {
	for i := 1; i < len(steps); i++ {
		left, right := b.listingOf(steps[i-1]+"lock.go"), b.listingOf(steps[i]+"lock.go")
		f := b.frame(differenceOf(i), left.file+" → "+right.file, i18n.English)
		f.File, f.Left, f.Diff = right.file, left.file, differ(left, right)
		if err := b.write(differenceOf(i), f); err != nil {
			return err
		}
	}
	return nil
}

// differenceOf is the file that shows a step, from 1, beside the next one.
func differenceOf(step int) string { return fmt.Sprintf("%snext.html", steps[step-1]) }

// A row is a line of two files side by side. If one of them does not have it, it is empty there.
type row struct {
	Left, Right         template.HTML
	LeftLine, RightLine int // from 1; 0: there is none
}

// Changed reports whether the two files differ in a row.
func (r row) Changed() bool { return r.LeftLine == 0 || r.RightLine == 0 }

// differ compares two files by their longest common subsequence of lines.
func differ(left, right *listing) (rows []row) {
	l, r := strings.Split(strings.TrimSuffix(left.text, "\n"), "\n"), strings.Split(strings.TrimSuffix(right.text, "\n"), "\n")
	htmlL, htmlR := markedLines(left.file, left.text), markedLines(right.file, right.text)
	common := make([][]int, len(l)+1) // common[i][j] is the length for the files from lines i and j on
	for i := range common {
		common[i] = make([]int, len(r)+1)
	}
	for i := len(l) - 1; i >= 0; i-- {
		for j := len(r) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); l[i] == r[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(l) || j < len(r); {
		switch {
		case i < len(l) && j < len(r) && l[i] == r[j]:
			rows = append(rows, row{template.HTML(htmlL[i]), template.HTML(htmlR[j]), i + 1, j + 1})
			i, j = i+1, j+1
		case j == len(r) || i < len(l) && common[i+1][j] >= common[i][j+1]:
			rows = append(rows, row{Left: template.HTML(htmlL[i]), LeftLine: i + 1})
			i++
		default:
			rows = append(rows, row{Right: template.HTML(htmlR[j]), RightLine: j + 1})
			j++
		}
	}
	return rows
}
