package scenes

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"example.com/zklock/internal/i18n"
)

//go:embed texts
var texts embed.FS

// readTexts sets a bug's Level and its Stops from texts/ID.json. Each bug with a scene has that file.
func (b *Bug) readTexts() {
	file := "texts/" + b.ID + ".json"
	text, err := texts.ReadFile(file)
	if err != nil {
		return
	}
	content := struct {
		Level *Level
		Stops []ToldStop
	}{Level: &b.Level} // decoded into it, so its Route stays
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&content); err != nil {
		panic(fmt.Sprintf("scenes: %s: %v", file, err))
	}
	b.Stops = StopsOf(content.Stops)
}

// A ToldStop is a Stop as a file of texts has it; At is a duration, such as "250ms".
type ToldStop struct {
	At, Quote, States, Nodes, Watchers, En, Zh string
	Broken                                     bool
}

// StopsOf returns the stops of a file of texts. It panics if an instant is not a duration.
func StopsOf(told []ToldStop) (stops []Stop) {
	for _, s := range told {
		at, err := time.ParseDuration(s.At)
		if err != nil {
			panic("scenes: a stop's instant: " + err.Error())
		}
		stops = append(stops, Stop{At: at, Text: i18n.Both(s.En, s.Zh), Quote: s.Quote, States: s.States,
			Nodes: s.Nodes, Watchers: s.Watchers, Broken: s.Broken})
	}
	return stops
}
