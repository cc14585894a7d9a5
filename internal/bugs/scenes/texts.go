package scenes

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/explore/player"
)

//go:embed texts
var texts embed.FS

// tell fills in a bug's Level and its Stops from texts/ID.json. A bug without that file has neither, as
// the tests say.
func (b *Bug) tell() {
	file := "texts/" + b.ID + ".json"
	text, err := texts.ReadFile(file)
	if err != nil {
		return
	}
	told := struct {
		Level *Level
		Stops []ToldStop
	}{Level: &b.Level}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&told); err != nil {
		panic(fmt.Sprintf("scenes: %s: %v", file, err))
	}
	b.Stops = StopsOf(told.Stops)
}

// A ToldStop is a Stop as a file of texts has it. At is such as "250ms".
type ToldStop struct {
	At, Quote, States, Nodes, Watchers, En, Zh string
	Broken                                     bool
}

// StopsOf are the stops that a file tells. It panics if an instant is not a duration.
func StopsOf(told []ToldStop) (stops []Stop) {
	for _, s := range told {
		at, err := time.ParseDuration(s.At)
		if err != nil {
			panic("scenes: a stop's instant: " + err.Error())
		}
		stops = append(stops, Stop{at, Text{En: s.En, Zh: s.Zh}, s.Quote, s.States, s.Nodes, s.Watchers, s.Broken})
	}
	return stops
}

// Goals say what to reach, for a person who chooses the schedule, where a bug has no
// Goal of its own.
var Goals = map[player.Kind]Text{
	player.Endless:       {En: "Make it send requests without end.", Zh: "让代码无休止地发请求。"},
	player.ForeignDelete: {En: "Make one client delete another's node.", Zh: "让一个客户端删除别人的节点。"},
	player.Hang:          {En: "Make a contender wait forever.", Zh: "让一个竞争者永远等下去。"},
	player.TwoHolders:    {En: "Make two hold the lock at once.", Zh: "让两个竞争者同时持有锁。"},
	player.Crash:         {En: "Make lock() panic.", Zh: "让 lock() 发生 panic。"},
	player.Failure:       {En: "Make lock() fail although nothing forbids it.", Zh: "让 lock() 不该失败却失败。"},
	player.TooLong:       {En: "Make a contender wait longer than the time it asked for.", Zh: "让一个竞争者的等待超过它指定的时间。"},
	player.SessionLeft:   {En: "Leave a session behind.", Zh: "留下一个没有关闭的会话。"},
	player.NodeLeft:      {En: "Make a contender give up and leave a node behind.", Zh: "让一个竞争者放弃等待，却留下一个节点。"},
	player.WatchLeft:     {En: "Make a client leave a watch behind.", Zh: "让一个客户端留下一个监听。"},
	player.Overtaken:     {En: "Let a contender get in before one that is before it in the queue.", Zh: "让一个竞争者插队：排在它前面的还没拿到锁，它先拿到。"},
	player.Outlived:      {En: "Make a holder outlive its session.", Zh: "让持有者在会话结束之后仍以为持有锁。"},
}

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Anchor returns the anchor that GitHub gives a heading, such as that of a bug
// in docs/bugs.md.
func Anchor(heading string) string {
	return strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

var number = regexp.MustCompile(`\d{10}`)

// Short returns a node's name on the page: /lock/lock-0000000003 is lock-3.
func Short(p string) string {
	return number.ReplaceAllStringFunc(path.Base(p), func(digits string) string {
		n, _ := strconv.Atoi(digits)
		return strconv.Itoa(n)
	})
}
