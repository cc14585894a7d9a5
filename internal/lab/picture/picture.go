// Package picture draws films for pages that do not move: as SVG, light or dark
// as the reader has it.
package picture

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
	"time"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/i18n"
)

// A Panel is a film with its title above it.
type Panel struct {
	Title string
	Film  *film.Film
}

const (
	left   = 62  // of the lanes, for the names
	right  = 18  // beside them
	top    = 34  // for a panel's title
	server = 26  // from the server's lane to the first client's
	lane   = 22  // from one client's lane to the next one's
	foot   = 14  // below the last lane
	width  = 860 // of the picture
)

//go:embed picture.css
var style string

// Draw draws films one below the other, on one clock. Each has a lane for the
// server and one for each client; a line between two lanes is a packet, with
// its real departure and arrival.
func Draw(lang i18n.Language, alt string, panels ...Panel) string {
	var end time.Duration
	height := 0
	for _, p := range panels {
		end = max(end, allDone(p.Film))
		height += top + server + lane*len(p.Film.Clients) + foot
	}
	height += 22 // for the legend
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(alt))
	b.WriteString("<style>\n" + style + "</style>\n")
	fmt.Fprintf(&b, `<rect class="bg" width="%d" height="%d" rx="8"/>`+"\n", width, height)
	y := 0
	for _, p := range panels {
		y = p.draw(&b, lang, y, end)
	}
	legend(&b, lang, y+8)
	b.WriteString("</svg>\n")
	return b.String()
}

// allDone is when the last contender has unlocked.
func allDone(f *film.Film) (at time.Duration) {
	for _, m := range f.Marks {
		if m.Kind == "state" && m.State == "done" {
			at = max(at, m.At)
		}
	}
	return max(at, time.Millisecond)
}

// draw draws the panel from y down, and returns where it ends.
func (p Panel) draw(b *strings.Builder, lang i18n.Language, y int, end time.Duration) int {
	f := p.Film
	x := func(at time.Duration) float64 {
		return left + float64(min(at, end))/float64(end)*(width-left-right)
	}
	fmt.Fprintf(b, `<text class="p t" x="12" y="%d">%s</text>`+"\n", y+21, html.EscapeString(p.Title))
	fmt.Fprintf(b, `<text class="p s" x="%d" y="%d" text-anchor="end">%s</text>`+"\n", width-right, y+21,
		i18n.Textf("%d requests, %d watch events, %d wake-ups", "%d 个请求，%d 个监听事件，%d 次唤醒", f.Counters.Requests, f.Counters.Events, f.Counters.Wakeups).In(lang))
	serverY := y + top + 6
	laneY := make(map[string]int)
	line := func(name string, at int) {
		fmt.Fprintf(b, `<text class="p s" x="12" y="%d">%s</text><line class="lane" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", at+4, name, left, width-right, at, at)
	}
	line(i18n.Textf("server", "服务器").In(lang), serverY)
	for i, c := range f.Clients {
		laneY[c.Name] = serverY + server + i*lane
		line(html.EscapeString(c.Name), laneY[c.Name])
		for _, k := range c.Contenders {
			laneY[k] = laneY[c.Name]
		}
	}
	for _, q := range f.Packets {
		if q.Sent > end || q.Pending {
			continue
		}
		from, to := laneY[q.Client], serverY
		if q.Kind != "request" {
			from, to = to, from
		}
		fmt.Fprintf(b, `<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", q.Kind, x(q.Sent), from, x(q.Arrived), to)
	}
	type since struct {
		state string
		at    time.Duration
	}
	now := make(map[string]since)
	for _, m := range f.Marks {
		at := laneY[m.Who]
		switch m.Kind {
		case "wakeup":
			fmt.Fprintf(b, `<circle class="woken" cx="%.1f" cy="%d" r="3.2"/>`+"\n", x(m.At), at)
		case "state":
			if was := now[m.Who]; was.state == "waits" || was.state == "holds" {
				fmt.Fprintf(b, `<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", was.state, x(was.at), x(m.At), at, at)
			}
			now[m.Who] = since{m.State, m.At}
		}
	}
	return serverY + server + (len(f.Clients)-1)*lane + foot + 8
}

func legend(b *strings.Builder, lang i18n.Language, y int) {
	at := 12
	for _, item := range []struct {
		class string
		text  i18n.Text
	}{
		{"holds", i18n.Textf("holds the lock", "持有锁")}, {"waits", i18n.Textf("waits", "等待")}, {"request", i18n.Textf("request", "请求")},
		{"reply", i18n.Textf("reply", "响应")}, {"event", i18n.Textf("watch event", "监听事件")},
	} {
		fmt.Fprintf(b, `<line class="%s" x1="%d" x2="%d" y1="%d" y2="%d"/><text class="p s" x="%d" y="%d">%s</text>`+"\n",
			item.class, at+4, at+26, y, y, at+36, y+4, item.text.In(lang))
		at += 60 + 7*len(item.text.En) // about 7 pixels for each letter
	}
	fmt.Fprintf(b, `<circle class="woken" cx="%d" cy="%d" r="3.2"/><text class="p s" x="%d" y="%d">%s</text>`+"\n", at+4, y, at+16, y+4, i18n.Textf("woken", "被唤醒").In(lang))
}
