package locks

import (
	_ "embed"
	"encoding/json"

	"example.com/zklock/internal/bugs/scenes"
)

// A Story explains a scene at a few instants of its film.
type Story struct {
	Scene Scene  `json:"scene"` // a listing's is a schedule, and so is one with Choices
	Stops []Stop `json:"stops"`
}

// A Stop is an instant of a film, and what is to be seen there.
type Stop = scenes.Stop

// An OpeningScene shows two locks beside each other, and explains their films at a few instants.
type OpeningScene struct {
	Address `json:"-"`
	Name    Text    `json:"name"` // the button that leads to it
	Titles  [2]Text `json:"titles"`
	Stops   []Stop  `json:"stops"`
}

// stories.json has the words of the openings, and those of the stories of the steps and of zklock.
// The bugs have their stories in package scenes.
//
//go:embed stories.json
var storiesText []byte

// Openings are the scenes that the page opens with, one after the other. At the last stop of the first one
// the page shows the measured times of a thousand contenders.
var Openings = readStories("openings")

// Opening is the address of the first of them.
var Opening = Openings[0].Address

// stories are those of the steps and of zklock, by the lock's name.
var stories = func() map[string]*Story {
	all := make(map[string]*Story)
	for _, s := range readStories("stories") {
		all[s.Lock] = &Story{s.Scene, s.Stops}
	}
	return all
}()

// readStories reads one of the two lists in stories.json. A story has neither a name nor titles.
func readStories(name string) (list []OpeningScene) {
	var all map[string][]struct {
		Address string
		Name    Text
		Titles  [2]Text
		Stops   []scenes.ToldStop
	}
	must(json.Unmarshal(storiesText, &all))
	for _, s := range all[name] {
		address, err := parseAnyLock(s.Address)
		must(err)
		list = append(list, OpeningScene{Address: address, Name: s.Name, Titles: s.Titles, Stops: scenes.StopsOf(s.Stops)})
	}
	return list
}

func must(err error) {
	if err != nil {
		panic("stories.json: " + err.Error())
	}
}
