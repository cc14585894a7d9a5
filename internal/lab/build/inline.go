package build

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/loopback"
)

// InHead puts something at the start of a page's head.
func InHead(page []byte, what string) []byte {
	return bytes.Replace(page, []byte("<head>"), []byte("<head>\n"+what), 1)
}

// The policy of the one file: run what is in it.
const inlinePolicy = "default-src 'none'; script-src 'unsafe-inline' data: blob: 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src " +
	"data:; worker-src blob:; base-uri 'none'; form-action 'none'"

var (
	// An element of a page that names one of its files.
	fileTag = regexp.MustCompile(`<link rel="(?:stylesheet|icon)" href="([^"]+)">|<script type="module" src="([^"]+)"></script>`)
	// An import of a module of the page, which begins its line or ends a list of several.
	importLine  = regexp.MustCompile(`(?m)(^(?:import|export)\b[^"';]*|^\}\s*from\s*)"\./([^"]+)"`)
	commentLine = regexp.MustCompile(`(?m)^[\t ]*//.*\n`) // which is for readers of the sources
)

// file returns a file of the page.
func (b *Page) file(name string) ([]byte, error) {
	body, ok := b.Files[name]
	if !ok {
		return nil, i18n.Errorf("internal/lab/page has no %s", "internal/lab/page 里没有 %s", name)
	}
	return body, nil
}

// OneFile makes the lab a page of one file, which works without a server. The
// worker becomes a text from which the page makes a Blob, and is sent the engine.
func (b *Page) OneFile() ([]byte, error) {
	return b.labPage("<script type=\"text/plain\" id=\"lab-wasm\">" + pack(compressed(b.Wasm)) + "</script>")
}

// WithoutEngine is the page in one file that loads films.js, which lies beside it, and, once
// it needs the engine, wasm.js: the second result.
func (b *Page) WithoutEngine() (page, engine []byte, err error) {
	page, err = b.labPage("")
	return page, fmt.Appendf(nil, "document.head.append(Object.assign(document.createElement(\"script\"), "+
		"{ type: \"text/plain\", id: \"lab-wasm\", textContent: \"%s\" }));\n", pack(compressed(b.Wasm))), err
}

// labPage is the page in one file, with the engine or without it.
func (b *Page) labPage(engine string) ([]byte, error) {
	worker, err := b.file("worker.js")
	if err != nil {
		return nil, err
	}
	// Inside JavaScript the two are the same in a string, and nowhere else does it occur.
	text := strings.ReplaceAll(string(b.Files["wasm_exec.js"])+"\n"+string(worker), "</script", `<\/script`)
	rules := inlinePolicy
	if engine == "" {
		rules, engine = strings.Replace(rules, "script-src ", "script-src 'self' file: ", 1), `<script src="films.js"></script>`+"\n"
	}
	return b.inlined(engine+"<script type=\"text/plain\" id=\"lab-worker\">\n"+text+"</script>\n", rules)
}

// inlined puts the files that the page names into it, and more behind its script.
func (b *Page) inlined(more, policy string) ([]byte, error) {
	var wrong error
	scripts := 0
	page := fileTag.ReplaceAllFunc(b.Files["index.html"], func(tag []byte) []byte {
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
		wrong = i18n.Errorf(`it has not one <script type="module" src="…"></script>`, `其中没有恰好一个 <script type="module" src="…"></script>`)
	}
	if wrong != nil {
		return nil, i18n.Errorf("index.html cannot become one file: %w", "index.html 无法合成一个文件：%v", wrong)
	}
	return InHead(page, `<meta http-equiv="Content-Security-Policy" content="`+policy+`">`), nil
}

// script is a module with those that it imports: packed.js makes an import map of them.
func (b *Page) script(first string) (string, error) {
	modules := make(map[string]string)
	unpacker, err := b.file("packed.js")
	if err == nil {
		err = b.addModules(modules, first)
	}
	list, _ := json.Marshal(modules) // strings
	return fmt.Sprintf(`<script type="text/plain" id="lab-modules" data-first="lab/%s">%s</script>
<script>
%sstartModules(document.getElementById("lab-modules"));
</script>
`, first, pack(compressed(list)), unpacker), err
}

// addModules adds a module and those that it imports, by the names by which they
// import each other in a page of one file.
func (b *Page) addModules(modules map[string]string, name string) error {
	if modules["lab/"+name] != "" {
		return nil
	}
	body, err := b.file(name)
	if err != nil {
		return err
	}
	if name != "texts.js" { // which has the locks' sources, comments and all
		body = commentLine.ReplaceAll(body, nil)
	}
	modules["lab/"+name] = importLine.ReplaceAllString(string(body), `$1"lab/$2"`)
	for _, m := range importLine.FindAllSubmatch(body, -1) {
		if err := b.addModules(modules, string(m[2])); err != nil {
			return err
		}
	}
	return nil
}

// unsafeChars are the characters that end a string or an element, or that a browser changes.
var unsafeChars = []byte("\x00\n\r\"<\\")

// pack writes bytes as text, seven bits a character, which is shorter than base64 by a
// seventh: it can stand in an element of the page and between quotation marks in a script. In
// the place of a character of apart and the next one there is one that says both, which is as long.
// packed.js in the page reads it.
func pack(b []byte) string {
	var text []byte
	groups := (8*len(b) + 6) / 7
	group := func(i int) rune {
		at := 7 * i / 8 // the byte in which group i begins, at the bit 7*i%8
		two := uint(b[at]) << 8
		if at+1 < len(b) {
			two |= uint(b[at+1])
		}
		return rune(two >> (9 - 7*i%8) & 127)
	}
	for i := 0; i < groups; i++ {
		c := group(i)
		if k := bytes.IndexByte(unsafeChars, byte(c)) + 1; k > 0 {
			if i++; i < groups {
				c = rune(k)<<7 | group(i)
			} else {
				c |= rune(len(unsafeChars)+1) << 7 // nothing follows
			}
		}
		text = utf8.AppendRune(text, c)
	}
	return string(text)
}
