package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func escape(s string) string { return html.EscapeString(s) }

// inHead puts something at the start of a page's head.
func inHead(page []byte, what string) []byte {
	return bytes.Replace(page, []byte("<head>"), []byte("<head>\n"+what), 1)
}

// write writes the page as one file or as a folder, and returns its size.
func write(to string, b *builtPage) (int, error) {
	info, err := os.Stat(to)
	if strings.HasSuffix(to, "/") || strings.HasSuffix(to, string(filepath.Separator)) || err == nil && info.IsDir() {
		return writeSite(to, b)
	}
	page, err := oneFile(b)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(to, page, 0o644); err != nil {
		return 0, fmt.Errorf("the page cannot be written: %w", err)
	}
	return len(page), nil
}

func writeSite(dir string, b *builtPage) (size int, err error) {
	files := maps.Clone(b.page)
	files["engine.wasm"] = b.wasm
	files["index.html"] = inHead(b.page["index.html"], fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="%s">`, policy))
	// Both work from the disk, where a browser loads no modules.
	if files["lab.html"], err = oneFile(b); err == nil {
		files["reader.html"], err = readerFile(b)
	}
	if err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.WriteFile(to, files[name], 0o644)
		}
		if err != nil {
			return 0, fmt.Errorf("the site cannot be written: %w", err)
		}
		size += len(files[name])
	}
	return size, nil
}

// The policy of the one file: run what is in it.
const inlinePolicy = "default-src 'none'; script-src 'unsafe-inline' data: blob: 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"

// The policy of the reader's one file: also show the lab beside it.
const readerPolicy = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; frame-src 'self' file:; base-uri 'none'; form-action 'none'"

var (
	styleTag  = regexp.MustCompile(`<link rel="stylesheet" href="([^"]+)">`)
	iconTag   = regexp.MustCompile(`<link rel="icon" href="([^"]+)">`)
	scriptTag = regexp.MustCompile(`<script type="module" src="([^"]+)"></script>`)
	// An import of one of the page's own modules, at the start of a line or
	// at the end of a list of names that spans several.
	importLine = regexp.MustCompile(`(?m)(^(?:import|export)\b[^"';]*|^\}\s*from\s*)"\./([^"]+)"`)
)

// oneFile makes the lab a page of one file, which works without a server. The
// worker becomes a text from which the page makes a Blob, and is sent the engine.
func oneFile(b *builtPage) ([]byte, error) {
	worker, ok := b.page["worker.js"]
	if !ok {
		return nil, missing("index.html", "worker.js")
	}
	var m strings.Builder
	m.WriteString("<script type=\"text/plain\" id=\"lab-worker\">\n")
	// Inside JavaScript the two are the same in a string, and nowhere else
	// does it occur.
	m.WriteString(strings.ReplaceAll(string(b.page["wasm_exec.js"])+"\n"+string(worker), "</script", `<\/script`))
	m.WriteString("</script>\n<script type=\"text/plain\" id=\"lab-wasm\">")
	m.WriteString(pack(compressed(b.wasm)))
	m.WriteString("</script>")
	return inlined(b, "index.html", m.String(), inlinePolicy)
}

// readerFile makes the reader a page of one file. Beside it belongs the lab.
func readerFile(b *builtPage) ([]byte, error) { return inlined(b, "reader.html", "", readerPolicy) }

func missing(page, name string) error {
	return fmt.Errorf("%s names %s, and docs/lab/page has none", page, name)
}

// inlined puts what a page names into it: styles become an element, and the
// modules a list that packed.js makes an import map of. More comes behind them.
func inlined(b *builtPage, name, more, policy string) ([]byte, error) {
	missing := func(file string) error { return missing(name, file) }
	var err error
	replace := func(page []byte, tag *regexp.Regexp, with func(name string, body []byte) string) []byte {
		return tag.ReplaceAllFunc(page, func(m []byte) []byte {
			name := strings.TrimPrefix(string(tag.FindSubmatch(m)[1]), "./")
			body, ok := b.page[name]
			if !ok {
				err = errors.Join(err, missing(name))
				return m
			}
			return []byte(with(name, body))
		})
	}
	page := replace(b.page[name], styleTag, func(_ string, body []byte) string {
		return "<style>\n" + strings.ReplaceAll(string(body), "</style", `<\/style`) + "</style>"
	})
	page = replace(page, iconTag, func(name string, body []byte) string {
		return `<link rel="icon" href="` + dataURL(strings.Split(contentType(name), ";")[0], body) + `">`
	})
	modules := make(map[string]string) // by the names by which they import each other
	var add func(name string) error
	add = func(name string) error {
		if _, ok := modules["lab/"+name]; ok {
			return nil
		}
		body, ok := b.page[name]
		if !ok {
			return missing(name)
		}
		modules["lab/"+name] = "" // a circle ends here
		var imported []string
		text := importLine.ReplaceAllStringFunc(string(body), func(m string) string {
			parts := importLine.FindStringSubmatch(m)
			from := path.Join(path.Dir(name), parts[2])
			imported = append(imported, from)
			return parts[1] + `"lab/` + from + `"`
		})
		modules["lab/"+name] = text
		for _, from := range imported {
			if err := add(from); err != nil {
				return err
			}
		}
		return nil
	}
	first := ""
	page = replace(page, scriptTag, func(name string, _ []byte) string {
		first = name
		if e := add(name); e != nil {
			err = errors.Join(err, e)
		}
		return "<!--modules-->"
	})
	if err != nil {
		return nil, err
	}
	if bytes.Count(page, []byte("<!--modules-->")) != 1 {
		return nil, fmt.Errorf(`%s has not one <script type="module" src="…"></script>`, name)
	}
	unpack, ok := b.page["packed.js"]
	if !ok {
		return nil, missing("packed.js")
	}
	list, err := json.Marshal(modules)
	if err != nil {
		return nil, err
	}
	m := fmt.Sprintf("<script type=\"text/plain\" id=\"lab-modules\" data-first=\"lab/%s\">%s</script>\n", first, pack(compressed(list))) +
		fmt.Sprintf("<script>\n%sstartModules(document.getElementById(\"lab-modules\"));\n</script>\n", unpack) + more
	page = bytes.Replace(page, []byte("<!--modules-->"), []byte(m), 1)
	return inHead(page, fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="%s">`, policy)), nil
}

// packing holds the 91 characters of pack: they are printable, and none of
// them means anything in HTML.
var packing = func() string {
	var s []byte
	for c := byte('!'); c <= '~'; c++ {
		if c != '<' && c != '&' && c != '\\' {
			s = append(s, c)
		}
	}
	return string(s)
}()

// pack writes bytes as text, 13 bits as two characters, which is shorter than
// base64 by a twelfth. packed.js in the page reads it: the text begins with
// the number of bytes and a space.
func pack(b []byte) string {
	var out strings.Builder
	out.Grow(len(b)*16/13 + 20)
	fmt.Fprintf(&out, "%d ", len(b))
	var bits, n uint
	put := func(v uint) {
		out.WriteByte(packing[v/91])
		out.WriteByte(packing[v%91])
	}
	for _, x := range b {
		bits |= uint(x) << n
		if n += 8; n >= 13 {
			put(bits & (1<<13 - 1))
			bits >>= 13
			n -= 13
		}
	}
	if n > 0 {
		put(bits)
	}
	return out.String()
}

func dataURL(kind string, body []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(body)
}
