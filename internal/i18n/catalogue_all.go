//go:build !js

package i18n

import "embed"

//go:embed zh
var folder embed.FS

func files() (texts []string) {
	entries, _ := folder.ReadDir("zh") // what is embedded can be read
	for _, e := range entries {
		text, _ := folder.ReadFile("zh/" + e.Name())
		texts = append(texts, string(text))
	}
	return texts
}
