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

// InHead puts an element at the start of a page's head.
func InHead(page []byte, element string) []byte {
	return bytes.Replace(page, []byte("<head>"), []byte("<head>\n"+element), 1)
}

// The policy of the one file: it may run what is in it, and load nothing.
const inlinePolicy = "default-src 'none'; script-src 'unsafe-inline' data: blob: 'wasm-unsafe-eval'; " +
	"style-src 'unsafe-inline'; img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"

var (
	// fileTag matches an element of a page that names one of its files.
	fileTag = regexp.MustCompile(`<link rel="(?:stylesheet|icon)" href="([^"]+)">|<script type="module" src="([^"]+)"></script>`)
	// importLine matches an import of a module of the page, which begins its line or ends a list of several.
	importLine  = regexp.MustCompile(`(?m)(^(?:import|export)\b[^"';]*|^\}\s*from\s*)"\./([^"]+)"`)
	forReaders  = regexp.MustCompile(`(?m)^ +|(?s:/\*.*?\*/\s*)`)      // indents and comments of a style sheet or a page
	inStyle     = regexp.MustCompile(` ?([{}]) ?|([;:,]) `)            // blanks that a style sheet does not need
	commentLine = regexp.MustCompile(`(?m)^[\t ]+(?://.*\n)?|^//.*\n`) // indents and lines of comment of a module
	indent      = regexp.MustCompile(`(?m)^\t+(?://.*\n)?`)            // the same of the worker, if a tab is before it
)

func (b *Page) file(name string) ([]byte, error) {
	body, ok := b.Files[name]
	if !ok {
		return nil, i18n.Errorf("internal/lab/page has no %s", name)
	}
	return body, nil
}

// OneFile returns the lab as one file, which works without a server. The worker and the engine are texts in it:
// the page makes a Blob of the worker, and sends it the engine.
func (b *Page) OneFile() ([]byte, error) {
	return b.labPage("<script type=\"text/plain\" id=\"lab-wasm\">" + pack(compressed(b.Wasm)) + "</script>")
}

// WithoutEngine returns the page in one file, and the engine as a script for the file wasm.js beside it. The page loads
// films.js, which is there too, and wasm.js only when it needs the engine.
func (b *Page) WithoutEngine() (page, engine []byte, err error) {
	page, err = b.labPage("")
	return page, fmt.Appendf(nil, "document.head.append(Object.assign(document.createElement(\"script\"), "+
		"{ type: \"text/plain\", id: \"lab-wasm\", textContent: \"%s\" }));\n", pack(compressed(b.Wasm))), err
}

// labPage returns the page in one file. Engine is the element that has it; "" is a page without an engine.
func (b *Page) labPage(engine string) ([]byte, error) {
	worker, err := b.file("worker.js")
	if err != nil {
		return nil, err
	}
	text := indent.ReplaceAllString(string(b.Files["wasm_exec.js"])+"\n"+string(worker), "")
	// </script would end the element. In JavaScript it occurs only in strings, in which \/ is the same as /.
	text = strings.ReplaceAll(text, "</script", `<\/script`)
	rules := inlinePolicy
	if engine == "" { // the page loads what lies beside it: films.js, and later wasm.js
		rules = strings.Replace(rules, "script-src ", "script-src 'self' file: ", 1)
		engine = `<script src="films.js"></script>` + "\n"
	}
	return b.inlined(engine+"<script type=\"text/plain\" id=\"lab-worker\">\n"+text+"</script>\n", rules)
}

// inlined returns index.html with the files that it names in the place of their elements, afterScript after the script,
// and the policy in its head.
func (b *Page) inlined(afterScript, policy string) ([]byte, error) {
	var faults error
	scripts := 0
	page := fileTag.ReplaceAllFunc(forReaders.ReplaceAll(b.Files["index.html"], nil), func(tag []byte) []byte {
		m := fileTag.FindSubmatch(tag)
		file, text := string(m[1])+string(m[2]), "" // one of the two groups is empty
		body, err := b.file(file)
		switch {
		case err != nil: // it is among the faults below
		case path.Ext(file) == ".js":
			scripts++
			text, err = b.script(file)
			text += afterScript
		case path.Ext(file) == ".css":
			text = "<style>\n" + strings.ReplaceAll(inStyle.ReplaceAllString(forReaders.ReplaceAllString(string(body), ""), "$1$2"), "</style", `<\/style`) + "</style>"
		default:
			kind, _, _ := strings.Cut(loopback.ContentType(file), ";")
			text = `<link rel="icon" href="data:` + kind + ";base64," + base64.StdEncoding.EncodeToString(body) + `">`
		}
		faults = errors.Join(faults, err)
		return []byte(text)
	})
	if faults == nil && scripts != 1 {
		faults = i18n.Errorf(`it has not one <script type="module" src="…"></script>`)
	}
	if faults != nil {
		return nil, i18n.Errorf("index.html cannot become one file: %w", faults)
	}
	return InHead(page, `<meta http-equiv="Content-Security-Policy" content="`+policy+`">`), nil
}

// script returns the elements that run a module: the texts of it and of its imports, and packed.js, which maps these.
func (b *Page) script(first string) (string, error) {
	modules := make(map[string]string)
	unpacker, err := b.file("packed.js")
	if err == nil {
		err = b.addModules(modules, first)
	}
	list, _ := json.Marshal(modules) // of strings: there is no error
	return fmt.Sprintf(`<script type="text/plain" id="lab-modules" data-first="lab/%s">%s</script>
<script>
%sstartModules(document.getElementById("lab-modules"));
</script>
`, first, pack(compressed(list)), unpacker), err
}

// addModules adds a module and those that it imports, by the names that they have in the page of one file.
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

var unsafeChars = []byte("\x00\n\r\"<\\") // they end a string or an element, or a browser changes them

// pack writes bytes as text that can be in an element of the page and between quotation marks in a script. A character
// has seven bits, so the text is shorter than base64 by a seventh. In the place of an unsafe character and the next one
// there is one character of two bytes: the next one's seven bits, and above them the number of the unsafe one, from 1.
// If nothing is next, a number of its own is above the unsafe one. packed.js in the page reads the text.
func pack(b []byte) string {
	var text []byte
	groups := (8*len(b) + 6) / 7
	group := func(i int) rune { // the seven bits from 7*i on
		at, bit := 7*i/8, 7*i%8 // the byte and the bit at which they begin
		two := uint(b[at]) << 8
		if at+1 < len(b) {
			two |= uint(b[at+1])
		}
		return rune(two >> (9 - bit) & 127)
	}
	for i := 0; i < groups; i++ {
		c := group(i)
		number := bytes.IndexByte(unsafeChars, byte(c)) + 1 // 0: the character is safe
		switch {
		case number > 0 && i == groups-1: // nothing follows
			c |= rune(len(unsafeChars)+1) << 7
		case number > 0:
			i++
			c = rune(number)<<7 | group(i)
		}
		text = utf8.AppendRune(text, c)
	}
	return string(text)
}
