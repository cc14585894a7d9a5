package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes every run, as comma-separated values. The columns are named as in JSON,
// but that each kind of request has a column of its own, and the list of waits has none.
func WriteCSV(w io.Writer, results []Run) error {
	records := [][]string{nil}
	for _, r := range results {
		var record []string
		records[0], record = columns(r)
		records = append(records, record)
	}
	return csv.NewWriter(w).WriteAll(records)
}

func columns(r Run) (names, values []string) {
	add := func(name, value string) { names, values = append(names, name), append(values, value) }
	run := reflect.ValueOf(r)
	for _, field := range reflect.VisibleFields(run.Type()) {
		name := field.Tag.Get("json")
		switch value := run.FieldByIndex(field.Index).Interface().(type) {
		case map[string]int64:
			for _, kind := range tableKinds {
				add("requests_"+kind, strconv.FormatInt(value[kind], 10))
			}
			add("requests_other", strconv.FormatInt(r.OtherKinds(), 10))
		case []string:
			add(name, strings.Join(value, "; "))
		case time.Duration:
			add(name, strconv.FormatInt(int64(value), 10))
		case float64:
			add(name, strconv.FormatFloat(value, 'f', -1, 64))
		case time.Time:
			add(name, value.Format(time.RFC3339))
		case string, int, int64:
			add(name, fmt.Sprint(value))
		}
	}
	return names, values
}
