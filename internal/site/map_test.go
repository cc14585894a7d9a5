// The map of the packages is docs/architecture.md: its table and its picture agree with what go list prints.
package site_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

const (
	module       = "example.com/zklock"
	root         = "../.."
	architecture = "docs/architecture.md"
	otherLocks   = root + "/docs/other-locks" // a module of its own
)

type goPackage struct {
	ImportPath, Dir, Name     string
	GoFiles, IgnoredGoFiles   []string
	TestGoFiles, XTestGoFiles []string
	Imports                   []string
	Standard                  bool // of the standard library
}

// name is the path of a package's folder from the root.
func (p goPackage) name() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

func goList(t *testing.T, dir string, args ...string) (packages []goPackage) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	d := json.NewDecoder(bytes.NewReader(testenv.Must(cmd.Output())(t, "go list", args)))
	for d.More() {
		var p goPackage
		require.NoError(t, d.Decode(&p))
		packages = append(packages, p)
	}
	return packages
}

// firstSentence returns what the first sentence of a package's comment says that it is, and the file that has the
// comment: a test, if no other file has one.
func firstSentence(t *testing.T, p goPackage) (text, from string) {
	t.Helper()
	for _, file := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		f := testenv.Must(parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.PackageClauseOnly|parser.ParseComments))(t)
		if f.Doc != nil {
			text = new(doc.Package).Synopsis(f.Doc.Text())
			const verb = ` (?:(?:is|has|holds) )?` // "Package locks is the catalogue" becomes "the catalogue"
			text = regexp.MustCompile(`(?i)^(?:(?:package|command) )?`+path.Base(p.name())+verb).ReplaceAllString(text, "")
			text = regexp.MustCompile(`^Package \w+`+verb).ReplaceAllString(text, "") // a step's folder has another name
			return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", `\|`), file
		}
	}
	require.Fail(t, "a package without a comment", "%s: write what it is for above the package clause", p.name())
	return "", ""
}

// importsOf returns the imports of some files. With -find, which needs no modules, go list does not print them.
func importsOf(t *testing.T, dir string, files []string) (all []string) {
	t.Helper()
	for _, file := range files {
		f := testenv.Must(parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.ImportsOnly))(t)
		for _, spec := range f.Imports {
			all = append(all, strings.Trim(spec.Path.Value, `"`))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// packageRows returns the table of docs/architecture.md. The users of a package may be in the other module.
func packageRows(t *testing.T, packages, otherModule []goPackage) string {
	users, testers := make(map[string][]string), make(map[string]int) // by the import path
	for _, p := range packages {
		files := p.GoFiles
		if p.name() == "internal/lab/engine" {
			files = p.IgnoredGoFiles // it runs in a page alone
		}
		for _, imported := range importsOf(t, p.Dir, files) {
			users[imported] = append(users[imported], "`"+p.name()+"`")
		}
		for _, imported := range importsOf(t, p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles)) {
			if imported != p.ImportPath {
				testers[imported]++
			}
		}
	}
	otherName := "`" + strings.TrimPrefix(otherLocks, root+"/") + "`" // one user for all packages of the other module
	for _, p := range otherModule {
		for _, imported := range importsOf(t, p.Dir, slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles)) {
			if !slices.Contains(users[imported], otherName) {
				users[imported] = append(users[imported], otherName)
			}
		}
	}

	var b strings.Builder
	b.WriteString("| package | what it is | used by |\n|---|---|---|\n")
	for _, p := range packages {
		by := strings.Join(users[p.ImportPath], ", ")
		if n := testers[p.ImportPath]; n > 0 {
			count := cmp.Or(map[int]string{1: "one package"}[n], fmt.Sprint(n, " packages"))
			by = strings.TrimPrefix(by+"; the tests of "+count, "; ")
		}
		text, file := firstSentence(t, p)
		if _, err := os.Stat(filepath.Join(p.Dir, "README.md")); err == nil {
			file = "" // the link leads to the folder, which shows its README
		}
		if by == "" && p.Name == "main" {
			by = "a command"
		}
		fmt.Fprintf(&b, "| [`%s`](../%s/%s) | %s | %s |\n", p.name(), p.name(), file, text, cmp.Or(by, "its own tests"))
	}
	return strings.ReplaceAll(b.String(), "](../docs/", "](") // the table is on a page in docs
}

// inChinese returns a table of packages as the Chinese page has it. Of each package, the link and what it is are
// those of the page; a package that the page does not have yet gets the English ones.
func inChinese(table, page string) string {
	own := map[string][]string{"": {"包", "是什么", "被谁使用"}} // cells by the link's code; "" is the head, which has none
	for line := range strings.Lines(page) {
		if name := inCode.FindString(cellsOf(line)[0]); name != "" {
			own[name] = cellsOf(line)
		}
	}
	users := strings.NewReplacer("; the tests of one", "；另有一", "; the tests of ", "；另有 ", "the tests of one", "一", "the tests of ", "", " packages", " 个包的测试",
		" package", "个包的测试", "`, `", "`、`", "a command", "本身是命令", "its own tests", "它自己的测试", "used by", "被谁使用")
	var b strings.Builder
	for line := range strings.Lines(table) {
		row := cellsOf(line)
		if there := own[inCode.FindString(row[0])]; len(row) == 3 && len(there) == 3 && !strings.HasPrefix(line, "|--") {
			line = "| " + there[0] + " | " + there[1] + " | " + users.Replace(row[2]) + " |\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// packagesTable has each package with those that import it. In English, its comment's first sentence says what it is.
func packagesTable(t *testing.T, lang i18n.Language) string {
	// With all build tags; and -find, because the modules that these need may not be there.
	want := "\n" + packageRows(t, goList(t, root, "-find", "-tags=docker,browser", "./..."),
		goList(t, otherLocks, "-find", "./...")) + "\n"
	require.Regexp(t, "`zklock`.*`bench`", want)
	if lang == i18n.Chinese {
		_, there, _, _ := site.Cut(site.Read(t, lang.Page(architecture)), "packages")
		want = inChinese(want, there)
	}
	return want
}

// picturedArrows returns the arrows of the picture in docs/architecture.md: each from a folder to one that it uses.
func picturedArrows(t *testing.T, page string) (all [][2]string) {
	t.Helper()
	_, picture, _ := strings.Cut(page, "```mermaid\n")
	picture, _, ok := strings.Cut(picture, "```\n")
	require.True(t, ok, "docs/architecture.md has no picture")
	folders := make(map[string]string)
	for _, box := range regexp.MustCompile(`(\w+)\["([^"<]+)`).FindAllStringSubmatch(picture, -1) {
		name, folder := box[1], box[2]
		folders[name] = folder
	}
	for _, arrow := range regexp.MustCompile(`(?m)^\s*(\w+) --> (.*)$`).FindAllStringSubmatch(picture, -1) {
		from := arrow[1]
		for to := range strings.SplitSeq(arrow[2], " & ") {
			require.Contains(t, folders, from)
			require.Contains(t, folders, to)
			all = append(all, [2]string{folders[from], folders[to]})
		}
	}
	require.NotEmpty(t, all)
	return all
}

// isIn reports whether a package is in a folder of the picture.
func isIn(pkg, folder string) bool {
	if folder == "the steps" {
		return regexp.MustCompile(`^\d\d-[\w-]+$`).MatchString(pkg)
	}
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

// TestTheArrowsOfThePictureAreTheImports: each arrow is an import, and for each import between two folders of the
// picture there is an arrow, or a way along several.
func TestTheArrowsOfThePictureAreTheImports(t *testing.T) {
	drawn := picturedArrows(t, site.Read(t, architecture))
	var folders []string
	for _, arrow := range drawn {
		folders = append(folders, arrow[0], arrow[1])
	}
	ways := make(map[[2]string]bool) // the transitive closure of the arrows
	for range drawn {                // each turn makes the ways longer by an arrow, and no way has more than were drawn
		for _, arrow := range drawn {
			ways[arrow] = true
			for _, way := range slices.Collect(maps.Keys(ways)) {
				if way[0] == arrow[1] {
					ways[[2]string{arrow[0], way[1]}] = true
				}
			}
		}
	}

	folderOf := func(name string) (longest string) { // a folder may be in another one
		for _, f := range folders {
			if isIn(name, f) && len(f) > len(longest) {
				longest = f
			}
		}
		return longest
	}
	imports := make(map[[2]string]string) // by its two folders, an import in words
	for _, p := range goList(t, root, "./...") {
		from := folderOf(p.name())
		for _, imported := range p.Imports {
			to := folderOf(strings.TrimPrefix(imported, module+"/"))
			if from != "" && to != "" && from != to {
				imports[[2]string{from, to}] = p.ImportPath + " imports " + imported
			}
		}
	}

	for _, arrow := range drawn {
		require.Contains(t, imports, arrow, "the picture of docs/architecture.md has an arrow that is not an import: remove it")
	}
	for ends, why := range imports {
		require.True(t, ways[ends], "%s, and the picture of docs/architecture.md shows no way from %s to %s: "+
			"is the import right? Then draw the arrow", why, ends[0], ends[1])
		require.False(t, ways[[2]string{ends[1], ends[0]}], "%s: the arrows run in a circle", why)
	}
}

// TestAUsersProgramBuildsFewPackages: besides the standard library, a program that imports the lock builds only the
// client library, and one that imports the embedded server builds no other module. Neither has the flags of go test.
func TestAUsersProgramBuildsFewPackages(t *testing.T) {
	for pkg, want := range map[string][]string{
		"./zklock": {"github.com/go-zookeeper/zk", module + "/zklock", module + "/zklock/internal/client",
			module + "/zklock/internal/record", module + "/zklock/internal/conns"},
		"./zkserver": {module + "/internal/jute", module + "/zkserver"},
	} {
		var found []string
		for _, p := range goList(t, root, "-deps", pkg) {
			if !p.Standard || p.ImportPath == "testing" || p.ImportPath == "flag" { // these two bring the flags of go test
				found = append(found, p.ImportPath)
			}
		}
		require.ElementsMatch(t, want, found, "go list -deps %s", pkg)
	}
}

// TestEachRequirementHasAReason: CONTRIBUTING.md says of each module that go.mod requires directly what it is for, and
// of no other. So does the page of the other locks for their module.
func TestEachRequirementHasAReason(t *testing.T) {
	for dir, says := range map[string]string{root: root + "/CONTRIBUTING.md", otherLocks: otherLocks + "/README.md"} {
		mod := testenv.Must(os.ReadFile(dir + "/go.mod"))(t)
		page := testenv.Must(os.ReadFile(says))(t)
		required := firstGroups(string(mod), `(?m)^\t(\S+) v\S+$`)
		require.NotEmpty(t, required)
		require.ElementsMatch(t, required, firstGroups(string(page), "(?m)^\\| `([\\w.-]+\\.\\w+/[^`]+)` \\| .{10,} \\|$"),
			"the table of requirements in %s", says)
	}
}
