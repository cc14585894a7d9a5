// Tests that the catalogue, the folder zh, has the Chinese of each text in the code, and nothing else.
package i18n_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

const (
	root        = "../.."
	textPackage = "example.com/zklock/internal/i18n"
)

var (
	entry  = regexp.MustCompile(`(?m)^msgid (".*")\nmsgstr (".*")$`) // of a file of the catalogue
	verb   = regexp.MustCompile(`%[^%a-z]*([a-z])`)                  // of a format, such as %3d
	letter = regexp.MustCompile(`\p{L}`)
)

// The texts of a package have their Chinese in its file of the catalogue, and nothing else is in the file.
func TestEachTextHasItsChinese(t *testing.T) {
	testenv.Landing(t, "type-checks all packages")
	catalogue, chineseOf := catalogueFiles(t), make(map[string]string)
	for file, chinese := range catalogue {
		for en, zh := range chinese {
			require.Contains(t, []string{"", zh}, chineseOf[en], "%s: the Chinese of %q is another one than in other files", file, en)
			chineseOf[en] = zh
		}
	}

	texts := textsOf(t, "./...")
	inBrowser := textsOf(t, "./internal/lab/engine", "GOOS=js", "GOARCH=wasm")
	for folder := range inBrowser {
		texts[folder] = append(texts[folder], inBrowser[folder]...)
	}
	for folder, ofFolder := range texts {
		file := strings.ReplaceAll(folder, "/", "-") + ".po"
		for _, en := range ofFolder {
			hasWords := letter.MatchString(verb.ReplaceAllString(en, ""))
			if _, hasChinese := catalogue[file][en]; hasWords && !hasChinese {
				t.Errorf("internal/i18n/zh/%s lacks the Chinese of a text of %s: %q", file, folder, en)
			}
		}
		maps.DeleteFunc(catalogue[file], func(en, _ string) bool { return slices.Contains(ofFolder, en) })
	}
	for file, unused := range catalogue {
		if !strings.HasPrefix(file, "docs-other-locks-") { // another module
			require.Empty(t, unused, "no package has these texts of internal/i18n/zh/%s", file)
		}
	}
}

func TestBothLanguagesTakeTheSameValues(t *testing.T) {
	verbs := func(format string) []string { // of "%3d of %[2]s": %d and %s, without width and number
		format = strings.NewReplacer("%%", "", "%w", "%v").Replace(format)
		return verb.FindAllString(verb.ReplaceAllString(format, "%$1"), -1)
	}
	for file, chinese := range catalogueFiles(t) {
		for en, zh := range chinese {
			if isNumbered := strings.Contains(zh, "%["); isNumbered { // they may be in another order
				require.ElementsMatch(t, verbs(en), verbs(zh), "%s: %s", file, zh)
			} else {
				require.Equal(t, verbs(en), verbs(zh), "%s: %s", file, zh)
			}
		}
	}
}

// TestTheCommandsErrorsAreInBothLanguages: the lab, the book, the benchmark and zklock make no error in English only.
func TestTheCommandsErrorsAreInBothLanguages(t *testing.T) {
	englishOnly := regexp.MustCompile(`.*(?:fmt\.Errorf|errors\.New)\(.*`)
	for _, folder := range []string{"cmd/lab", "cmd/book", "bench", "cmd/zklock"} {
		files := testenv.Must(filepath.Glob(filepath.Join(root, folder, "*.go")))(t)
		require.NotEmpty(t, files)
		for _, file := range files {
			if text := testenv.Must(os.ReadFile(file))(t); !strings.HasSuffix(file, "_test.go") {
				require.Empty(t, string(englishOnly.Find(text)), "%s: i18n.Errorf has both languages", file)
			}
		}
	}
}

// catalogueFiles returns the Chinese of each text in each file of the catalogue.
func catalogueFiles(t *testing.T) map[string]map[string]string {
	files := make(map[string]map[string]string)
	for _, name := range testenv.Must(filepath.Glob("zh/*.po"))(t) {
		chinese := make(map[string]string)
		for _, m := range entry.FindAllStringSubmatch(string(testenv.Must(os.ReadFile(name))(t)), -1) {
			if en := testenv.Must(strconv.Unquote(m[1]))(t); en != "" { // otherwise it says what kind of file it is
				chinese[en] = testenv.Must(strconv.Unquote(m[2]))(t)
			}
		}
		files[filepath.Base(name)] = chinese
	}
	return files
}

// A goPackage is what go list says of a package, or of a package compiled together with its tests.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	ImportMap               map[string]string
	Module                  *struct{ Main bool }
}

// textsOf returns the English of the texts in this module's packages that match a pattern, by their folders. A text is
// a constant of type Text, or the constant format in a call of a function such as Errorf(format string, args ...any),
// if its package imports this one. textsOf type-checks the packages with their tests.
func textsOf(t *testing.T, pattern string, env ...string) map[string][]string {
	const fields = "-json=ImportPath,Dir,Export,GoFiles,ImportMap,Module" // those of goPackage
	list := exec.Command("go", "list", "-export", "-deps", "-test", fields, pattern)
	list.Dir, list.Env = root, append(os.Environ(), env...)
	decoder := json.NewDecoder(bytes.NewReader(testenv.Must(list.Output())(t)))
	var ours []goPackage
	exports := make(map[string]string) // the file with what the compiler knows of a package, by its path
	for decoder.More() {
		var p goPackage
		require.NoError(t, decoder.Decode(&p))
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main && !strings.HasSuffix(p.ImportPath, ".test") {
			ours = append(ours, p)
		}
	}

	texts := make(map[string][]string)
	for _, p := range ours {
		export := func(path string) (io.ReadCloser, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			return os.Open(exports[path])
		}
		folder := testenv.Must(filepath.Rel(testenv.Must(filepath.Abs(root))(t), p.Dir))(t)
		texts[folder] = append(texts[folder], textsIn(t, p, export)...)
	}
	return texts
}

// textsIn type-checks a package, with what the compiler exported of those that it imports, and returns its texts.
func textsIn(t *testing.T, p goPackage, export importer.Lookup) (texts []string) {
	fset, files := token.NewFileSet(), make([]*ast.File, len(p.GoFiles))
	for i, name := range p.GoFiles {
		files[i] = testenv.Must(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t)
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", export)}
	testenv.Must(config.Check(p.ImportPath, fset, files, info))(t)

	add := func(e ast.Expr) {
		if value := info.Types[e].Value; value != nil && constant.StringVal(value) != "" {
			texts = append(texts, constant.StringVal(value))
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch e := n.(type) {
			case *ast.SelectorExpr: // not added: Inspect goes on to its Ident
			case *ast.Ident: // an untyped constant becomes a Text where it is used; a typed one is added where it is declared
				if c, ok := info.Uses[e].(*types.Const); ok && c.Type() == types.Typ[types.UntypedString] && isText(info.TypeOf(e)) {
					add(e)
				}
			case ast.Expr:
				if isText(info.TypeOf(e)) {
					add(e)
				}
			}
			if call, ok := n.(*ast.CallExpr); ok {
				add(formatOf(call, info))
			}
			return true
		})
	}
	return texts
}

// formatOf returns the argument for format of a call as textsOf describes it; nil: the call is another one.
func formatOf(call *ast.CallExpr, info *types.Info) ast.Expr {
	signature, _ := info.TypeOf(call.Fun).(*types.Signature)
	if signature == nil || !signature.Variadic() || signature.Params().Len() < 2 {
		return nil
	}
	last := signature.Params().Len() - 1
	format, args := signature.Params().At(last-1), signature.Params().At(last)
	isTextPackage := func(p *types.Package) bool { return p.Path() == textPackage }
	if format.Name() != "format" || args.Name() != "args" ||
		!isTextPackage(format.Pkg()) && !slices.ContainsFunc(format.Pkg().Imports(), isTextPackage) {
		return nil
	}
	return call.Args[last-1]
}

// isText reports whether a type is Text, or a string whose method Text returns it as one.
func isText(t types.Type) bool {
	named, _ := types.Unalias(t).(*types.Named)
	if named == nil {
		return false
	}
	text := types.NewMethodSet(named).Lookup(nil, "Text")
	_, isString := named.Underlying().(*types.Basic)
	return named.String() == textPackage+".Text" || isString && text != nil
}
