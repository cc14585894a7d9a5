package i18n

import (
	"strconv"
	"strings"
	"sync"
)

// chineseOf returns the Chinese of an English text or format, or the text itself if the catalogue does not have it.
func chineseOf(en string) string {
	if zh, ok := catalogue()[en]; ok {
		return zh
	}
	return en
}

// The catalogue has the Chinese of the texts of package a/b in zh/a-b.po, in the format of GNU gettext: for each
// text a line msgid with the English, and a line msgstr with the Chinese. Both are quoted as in Go.
var catalogue = sync.OnceValue(func() map[string]string {
	chinese := make(map[string]string)
	for _, file := range files() {
		var en string
		for _, line := range strings.Split(file, "\n") {
			keyword, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
			text, _ := strconv.Unquote(quoted)
			switch keyword {
			case "msgid":
				en = text
			case "msgstr":
				chinese[en] = text
			}
		}
	}
	delete(chinese, "") // it says what kind of file it is
	return chinese
})
