// Package picture draws films for pages that do not move: as SVG, light or dark as the reader has it.
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

// The sizes of a picture, in pixels.
const (
	width      = 860
	left       = 62 // from the picture's edge to the lanes: for the names
	right      = 18 // from the lanes to the picture's edge
	titleH     = 52 // of a panel's title, with the numbers below it
	serverLane = 26 // from the server's lane to the first client's
	clientLane = 22 // from a client's lane to the next one's
	foot       = 14 // below the last lane of a panel
	legendH    = 40 // two lines
)

//go:embed picture.css
var style string

// Draw draws films one below the other, on one clock. Each has a lane for the server and one for each client; a line
// between two lanes is a packet, with its real departure and arrival.
func Draw(lang i18n.Language, alt string, panels ...Panel) string {
	end, height := time.Duration(0), legendH
	for _, p := range panels {
		end = max(end, allDone(p.Film))
		height += titleH + serverLane + clientLane*len(p.Film.Clients) + foot
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`width="%d" height="%d" role="img" aria-label="%s">`+"\n", width, height, width, height, html.EscapeString(alt))
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

// allDone returns the instant at which the last contender has unlocked.
func allDone(f *film.Film) (at time.Duration) {
	for _, m := range f.Marks {
		if m.Kind == "state" && m.State == "done" {
			at = max(at, m.At)
		}
	}
	return max(at, time.Millisecond)
}

// draw draws the panel from top down, up to the instant end, and returns the top of the next one.
func (p Panel) draw(b *strings.Builder, lang i18n.Language, top int, end time.Duration) int {
	f, count := p.Film, p.Film.Counters
	x := func(at time.Duration) float64 {
		return left + float64(min(at, end))/float64(end)*(width-left-right)
	}
	fmt.Fprintf(b, `<text class="p t" x="12" y="%d">%s</text>`+"\n", top+21, html.EscapeString(p.Title))
	fmt.Fprintf(b, `<text class="p s" x="12" y="%d">%s</text>`+"\n", top+39,
		i18n.Textf("%d requests, %d watch events, %d wake-ups", count.Requests, count.Events, count.Wakeups).In(lang))
	serverY := top + titleH + 6            // a lane's y is that of its line
	laneY := make(map[string]int)          // by the name of a client or a contender
	drawLane := func(name string, y int) { // the letters of the name stand 4 pixels below the line
		fmt.Fprintf(b, `<text class="p s" x="12" y="%d">%s</text>`, y+4, name)
		fmt.Fprintf(b, `<line class="lane" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", left, width-right, y, y)
	}
	drawLane(i18n.Text("server").In(lang), serverY)
	for i, c := range f.Clients {
		laneY[c.Name] = serverY + serverLane + i*clientLane
		drawLane(html.EscapeString(c.Name), laneY[c.Name])
		for _, contender := range c.Contenders {
			laneY[contender] = laneY[c.Name]
		}
	}

	for _, packet := range f.Packets {
		if packet.Sent > end || packet.Pending {
			continue
		}
		from, to := laneY[packet.Client], serverY
		if packet.Kind != "request" {
			from, to = to, from
		}
		fmt.Fprintf(b, `<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", packet.Kind, x(packet.Sent), from, x(packet.Arrived), to)
	}

	last, woken := make(map[string]film.Mark), "" // the last change of each contender's state; the dots, above its bars
	for _, m := range f.Marks {
		y := laneY[m.Who]
		switch m.Kind {
		case "wakeup":
			woken += fmt.Sprintf(`<circle class="woken" cx="%.1f" cy="%d" r="3.2"/>`+"\n", x(m.At), y)
		case "state":
			if was := last[m.Who]; was.State == "waits" || was.State == "holds" {
				fmt.Fprintf(b, `<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", was.State, x(was.At), x(m.At), y, y)
			}
			last[m.Who] = m
		}
	}
	b.WriteString(woken)
	return serverY + serverLane + (len(f.Clients)-1)*clientLane + foot + 8 // below the last client's lane
}

// legend says what the lines are, at the left, where a narrow window shows it.
func legend(b *strings.Builder, lang i18n.Language, top int) {
	for i, item := range []struct {
		class string
		text  i18n.Text
	}{
		{"holds", "holds the lock"}, {"waits", "waits"}, {"request", "request"},
		{"woken", "woken"}, {"event", "watch event"}, {"reply", "reply"},
	} {
		x, y := 12+128*(i%3), top+18*(i/3)
		fmt.Fprintf(b, `<line class="%s" x1="%d" x2="%d" y1="%d" y2="%d"/><text class="p s" x="%d" y="%d">%s</text>`+"\n",
			item.class, x+4, x+26, y, y, x+36, y+4, item.text.In(lang))
	}
	fmt.Fprintf(b, `<circle class="woken" cx="27" cy="%d" r="3.2"/>`+"\n", top+18)
}
