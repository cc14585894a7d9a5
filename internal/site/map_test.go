package site_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
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
	contributing = root + "/CONTRIBUTING.md"
	otherLocks   = root + "/docs/other-locks" // a module of its own
)

// A goPackage is a package, as go list prints it.
type goPackage struct {
	ImportPath, Dir, Name              string
	GoFiles, IgnoredGoFiles            []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
	Module                             *struct{ Path string }
	Standard                           bool
}

func (r goPackage) name() string { return strings.TrimPrefix(r.ImportPath, module+"/") }

// allPackages is all packages for the system that it is on.
func allPackages(t *testing.T) []goPackage {
	t.Helper()
	if listedPackages == nil {
		listedPackages = goList(t, root, "./...")
	}
	return listedPackages
}

var listedPackages []goPackage

func goList(t *testing.T, dir string, args ...string) (packages []goPackage) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list %v", args)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var r goPackage
		err := d.Decode(&r)
		if err == io.EOF {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, r)
	}
}

// firstSentence is the first one of a package's comment, and the file that has it, which
// may be a test if there is nothing else.
func firstSentence(t *testing.T, r goPackage) (text, from string) {
	t.Helper()
	for _, file := range slices.Concat(r.GoFiles, r.TestGoFiles, r.XTestGoFiles) {
		f := testenv.Must(parser.ParseFile(token.NewFileSet(), filepath.Join(r.Dir, file), nil, parser.PackageClauseOnly|parser.ParseComments))(t)
		if f.Doc != nil {
			text = new(doc.Package).Synopsis(f.Doc.Text())
			text = regexp.MustCompile(`(?i)^(?:(?:package|command) )?`+path.Base(r.name())+` (?:(?:is|has|holds) )?`).ReplaceAllString(text, "")
			text = regexp.MustCompile(`^Package \w+ (?:(?:is|has|holds) )?`).ReplaceAllString(text, "") // a step's folder has another name
			return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", `\|`), file
		}
	}
	require.Fail(t, "a package without a comment", "%s: write what it is for above the package clause", r.name())
	return "", ""
}

// importsOf are those of some files: with -find, so that no module must be there, go
// list says nothing of them.
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

// packageRows is the table of docs/architecture.md. Among the users of a package are those of the other module.
func packageRows(t *testing.T, packages, otherModule []goPackage) string {
	for i, r := range packages {
		files := r.GoFiles
		if r.name() == "internal/lab/engine" {
			files = r.IgnoredGoFiles // it runs in a page alone
		}
		packages[i].Imports, packages[i].TestImports = importsOf(t, r.Dir, files), importsOf(t, r.Dir, slices.Concat(r.TestGoFiles, r.XTestGoFiles))
	}
	users, testers := make(map[string][]string), make(map[string]int)
	for _, r := range packages {
		for _, of := range r.Imports {
			users[of] = append(users[of], "`"+r.name()+"`")
		}
		for _, of := range r.TestImports {
			if of != r.ImportPath {
				testers[of]++
			}
		}
	}
	guest := "`" + strings.TrimPrefix(otherLocks, root+"/") + "`"
	for _, r := range otherModule {
		for _, of := range importsOf(t, r.Dir, slices.Concat(r.GoFiles, r.TestGoFiles, r.XTestGoFiles)) {
			if !slices.Contains(users[of], guest) {
				users[of] = append(users[of], guest)
			}
		}
	}
	var b strings.Builder
	b.WriteString("| package | what it is | used by |\n|---|---|---|\n")
	for _, r := range packages {
		by := strings.Join(users[r.ImportPath], ", ")
		if n := testers[r.ImportPath]; n > 0 {
			by = strings.TrimPrefix(by+fmt.Sprintf("; the tests of %d packages", n), "; ")
		}
		text, file := firstSentence(t, r)
		if _, err := os.Stat(filepath.Join(r.Dir, "README.md")); err == nil {
			file = "" // the folder shows it
		}
		alone := map[bool]string{true: "a command", false: "its own tests"}[r.Name == "main"]
		fmt.Fprintf(&b, "| [`%s`](../%s/%s) | %s | %s |\n", r.name(), r.name(), file, text, cmp.Or(by, alone))
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "](../docs/", "]("), "the tests of 1 packages", "the tests of one package")
}

// inChinese is a table of packages as the Chinese page has it. What a package is, and its link,
// are the page's own; those of a package that is new there are the English ones.
func inChinese(table, page string) string {
	own := map[string][]string{"": {"包", "是什么", "被谁使用"}}
	for line := range strings.Lines(page) {
		if name := inCode.FindString(cellsOf(line)[0]); name != "" {
			own[name] = cellsOf(line)
		}
	}
	use := strings.NewReplacer("the tests of one package", "一个包的测试", "the tests of ", "", " packages", " 个包的测试", "; ", "；",
		"`, `", "`、`", "a command", "一条命令", "its own tests", "它自己的测试", "used by", "被谁使用")
	var b strings.Builder
	for line := range strings.Lines(table) {
		row := cellsOf(line)
		if have := own[inCode.FindString(row[0])]; len(row) == 3 && len(have) == 3 && !strings.HasPrefix(line, "|--") {
			line = "| " + have[0] + " | " + have[1] + " | " + use.Replace(row[2]) + " |\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// packagesTable has each package with the packages that import it. What it is is in English the first sentence
// of its comment.
func packagesTable(t *testing.T, lang i18n.Language) string {
	// Of all builds; -find, so that the modules of the tags need not be there.
	want := "\n" + packageRows(t, goList(t, root, "-find", "-tags=docker,browser", "./..."), goList(t, otherLocks, "-find", "./...")) + "\n"
	require.Regexp(t, "`zklock`.*`bench`", want)
	if lang == i18n.Chinese {
		_, there, _, _ := site.Cut(site.Read(t, lang.Page(architecture)), "packages")
		want = inChinese(want, there)
	}
	return want
}

// picturedArrows are those of the picture: from a folder to one that it uses.
func picturedArrows(t *testing.T, page string) (all [][2]string) {
	t.Helper()
	_, picture, _ := strings.Cut(page, "```mermaid\n")
	picture, _, ok := strings.Cut(picture, "```\n")
	require.True(t, ok, "docs/architecture.md has no picture")
	folders := make(map[string]string)
	for _, m := range regexp.MustCompile(`(\w+)\["([^"<]+)`).FindAllStringSubmatch(picture, -1) {
		folders[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*(\w+) --> (.*)$`).FindAllStringSubmatch(picture, -1) {
		for to := range strings.SplitSeq(m[2], " & ") {
			require.Contains(t, folders, m[1])
			require.Contains(t, folders, to)
			all = append(all, [2]string{folders[m[1]], folders[to]})
		}
	}
	require.NotEmpty(t, all)
	return all
}

// isIn reports whether a package is in a folder of the picture.
func isIn(r, folder string) bool {
	if folder == "the steps" {
		return regexp.MustCompile(`^\d\d-[\w-]+$`).MatchString(r)
	}
	return r == folder || strings.HasPrefix(r, folder+"/")
}

// TestThePictureIsTheTree: an arrow of the picture is an import, and an import
// between two folders of the picture is an arrow, or a way along several.
func TestThePictureIsTheTree(t *testing.T) {
	drawn := picturedArrows(t, site.Read(t, architecture))
	ways := make(map[[2]string]bool) // along one arrow or several
	var folders []string
	for range drawn { // a way has no more of them
		for _, a := range drawn {
			ways[a] = true
			folders = append(folders, a[0], a[1])
			for _, way := range slices.Collect(maps.Keys(ways)) {
				if way[0] == a[1] {
					ways[[2]string{a[0], way[1]}] = true
				}
			}
		}
	}
	// A folder is the longest that a package is in.
	folderOf := func(name string) (longest string) {
		for _, f := range folders {
			if isIn(name, f) && len(f) > len(longest) {
				longest = f
			}
		}
		return longest
	}
	imports := make(map[[2]string]string)
	for _, r := range allPackages(t) {
		from := folderOf(r.name())
		for _, of := range r.Imports {
			to := folderOf(strings.TrimPrefix(of, module+"/"))
			if from != "" && to != "" && from != to {
				imports[[2]string{from, to}] = r.ImportPath + " imports " + of
			}
		}
	}
	for _, a := range drawn {
		require.Contains(t, imports, a, "the picture of docs/architecture.md has an arrow that is not an import: take it away")
	}
	for i, why := range imports {
		require.True(t, ways[i], "%s, and the picture of docs/architecture.md shows no way from %s to %s: is the import right? Then draw the arrow", why,
			i[0], i[1])
		require.False(t, ways[[2]string{i[1], i[0]}], "%s: the arrows run in a circle", why)
	}
}

// TestWhatAUserBuilds: a program that imports the lock builds the client library
// and the standard library besides, and the embedded server builds no other module. Neither
// brings the flags of go test.
func TestWhatAUserBuilds(t *testing.T) {
	for pkg, want := range map[string][]string{
		"./zklock":   {"github.com/go-zookeeper/zk", module + "/zklock", module + "/zklock/internal/client", module + "/zklock/internal/record", module + "/zklock/internal/conns"},
		"./zkserver": {module + "/internal/jute", module + "/zkserver"},
	} {
		var found []string
		for _, r := range goList(t, root, "-deps", pkg) {
			if !r.Standard || r.ImportPath == "testing" || r.ImportPath == "flag" {
				found = append(found, r.ImportPath)
			}
		}
		require.ElementsMatch(t, want, found, "go list -deps %s", pkg)
	}
}

// TestEachRequirementHasAReason: CONTRIBUTING.md says what each module is for that
// go.mod requires directly, and names no other; and so does the page of the other locks.
func TestEachRequirementHasAReason(t *testing.T) {
	for dir, says := range map[string]string{root: contributing, otherLocks: otherLocks + "/README.md"} {
		mod := testenv.Must(os.ReadFile(dir + "/go.mod"))(t)
		page := testenv.Must(os.ReadFile(says))(t)
		required := firstGroups(string(mod), `(?m)^\t(\S+) v\S+$`)
		require.NotEmpty(t, required)
		require.ElementsMatch(t, required, firstGroups(string(page), "(?m)^\\| `([\\w.-]+\\.\\w+/[^`]+)` \\| .{10,} \\|$"), "the table of requirements in %s", says)
	}
}
