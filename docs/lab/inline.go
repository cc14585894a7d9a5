package main

import (
	"bytes"
	"encoding/ascii85"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/internal/loopback"
)

// inHead puts something at the start of a page's head.
func inHead(page []byte, what string) []byte {
	return bytes.Replace(page, []byte("<head>"), []byte("<head>\n"+what), 1)
}

func withPolicy(page []byte, policy string) []byte {
	return inHead(page, `<meta http-equiv="Content-Security-Policy" content="`+policy+`">`)
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

// writeSite writes what docs/book is made of: the lab without its engine, the engine as
// a script, and the reader. They work from the disk, where a browser loads no modules.
func writeSite(dir string, b *builtPage) (size int, err error) {
	files := map[string][]byte{"wasm.js": engineScript(b)}
	if files["lab.html"], err = labPage(b, ""); err == nil {
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
const inlinePolicy = "default-src 'none'; script-src 'unsafe-inline' data: blob: 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src " +
	"data:; worker-src blob:; base-uri 'none'; form-action 'none'"

// The policy of the reader's one file: also show the lab beside it.
const readerPolicy = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; frame-src 'self' " +
	"file:; base-uri 'none'; form-action 'none'"

var (
	// An element of a page that names one of its files.
	fileTag = regexp.MustCompile(`<link rel="(?:stylesheet|icon)" href="([^"]+)">|<script type="module" src="([^"]+)"></script>`)
	// An import of one of the page's own modules, at the start of a line or
	// at the end of a list of names that spans several.
	importLine = regexp.MustCompile(`(?m)(^(?:import|export)\b[^"';]*|^\}\s*from\s*)"\./([^"]+)"`)
)

// file returns a file of the page.
func (b *builtPage) file(name string) ([]byte, error) {
	body, ok := b.page[name]
	if !ok {
		return nil, fmt.Errorf("docs/lab/page has no %s", name)
	}
	return body, nil
}

// oneFile makes the lab a page of one file, which works without a server. The
// worker becomes a text from which the page makes a Blob, and is sent the engine.
func oneFile(b *builtPage) ([]byte, error) {
	return labPage(b, "<script type=\"text/plain\" id=\"lab-wasm\">"+pack(compressed(b.wasm))+"</script>")
}

// labPage is the page in one file, with the engine or without it. Without it the page
// loads scripts that lie beside it.
func labPage(b *builtPage, engine string) ([]byte, error) {
	worker, err := b.file("worker.js")
	if err != nil {
		return nil, err
	}
	// Inside JavaScript the two are the same in a string, and nowhere else
	// does it occur.
	text := strings.ReplaceAll(string(b.page["wasm_exec.js"])+"\n"+string(worker), "</script", `<\/script`)
	rules := inlinePolicy
	if engine == "" {
		rules = strings.Replace(rules, "script-src ", "script-src 'self' file: ", 1)
	}
	return inlined(b, "index.html", "<script type=\"text/plain\" id=\"lab-worker\">\n"+text+"</script>\n"+engine, rules)
}

// engineScript is a script that puts the engine into the page where oneFile has it.
func engineScript(b *builtPage) []byte {
	text, _ := json.Marshal(pack(compressed(b.wasm))) // a string
	return fmt.Appendf(nil, "document.head.append(Object.assign(document.createElement(\"script\"), "+
		"{ type: \"text/plain\", id: \"lab-wasm\", textContent: %s }));\n", text)
}

// readerFile makes the reader a page of one file. Beside it belongs the lab.
func readerFile(b *builtPage) ([]byte, error) { return inlined(b, "reader.html", "", readerPolicy) }

// inlined puts the files that a page names into it, and more behind its script.
func inlined(b *builtPage, name, more, policy string) ([]byte, error) {
	var wrong error
	scripts := 0
	page := fileTag.ReplaceAllFunc(b.page[name], func(tag []byte) []byte {
		m := fileTag.FindSubmatch(tag)
		file, text := string(m[1])+string(m[2]), ""
		body, err := b.file(file)
		switch {
		case err != nil:
		case path.Ext(file) == ".js":
			scripts++
			text, err = b.script(file)
			text += more
		case path.Ext(file) == ".css":
			text = "<style>\n" + strings.ReplaceAll(string(body), "</style", `<\/style`) + "</style>"
		default:
			kind, _, _ := strings.Cut(loopback.ContentType(file), ";")
			text = `<link rel="icon" href="data:` + kind + ";base64," + base64.StdEncoding.EncodeToString(body) + `">`
		}
		wrong = errors.Join(wrong, err)
		return []byte(text)
	})
	if wrong == nil && scripts != 1 {
		wrong = errors.New(`it has not one <script type="module" src="…"></script>`)
	}
	if wrong != nil {
		return nil, fmt.Errorf("%s cannot become one file: %w", name, wrong)
	}
	return withPolicy(page, policy), nil
}

// script is a module with those that it imports: a list of which packed.js makes an
// import map.
func (b *builtPage) script(first string) (string, error) {
	modules := make(map[string]string)
	unpack, err := b.file("packed.js")
	if err == nil {
		err = b.addModules(modules, first)
	}
	list, _ := json.Marshal(modules) // strings
	return fmt.Sprintf(`<script type="text/plain" id="lab-modules" data-first="lab/%s">%s</script>
<script>
%sstartModules(document.getElementById("lab-modules"));
</script>
`, first, pack(compressed(list)), unpack), err
}

// addModules adds a module and those that it imports, by the names by which they
// import each other in a page of one file.
func (b *builtPage) addModules(modules map[string]string, name string) error {
	if modules["lab/"+name] != "" {
		return nil
	}
	body, err := b.file(name)
	if err != nil {
		return err
	}
	modules["lab/"+name] = importLine.ReplaceAllString(string(body), `$1"lab/$2"`)
	for _, m := range importLine.FindAllSubmatch(body, -1) {
		if err := b.addModules(modules, string(m[2])); err != nil {
			return err
		}
	}
	return nil
}

// pack writes bytes as text in Ascii85, which is shorter than base64 by a sixteenth. It has
// a ~ for each <, which could end the element around it. packed.js in the page reads it.
func pack(b []byte) string {
	text := make([]byte, ascii85.MaxEncodedLen(len(b)))
	return strings.ReplaceAll(string(text[:ascii85.Encode(text, b)]), "<", "~")
}
