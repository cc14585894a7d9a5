package player

import "example.com/zklock/internal/i18n"

// A Camera makes a film of a schedule while it is played. Its methods are called with the lock of the player held. A
// *Frame is a packet whose ID the camera sets; where a Frame is passed, the camera only reads it.
type Camera interface {
	Action()                             // an action is chosen
	Answer()                             // replies and events are about to arrive, as a part of the action
	Depart()                             // the camera is to look for packets that the server has sent since the last call
	Settled()                            // all goroutines have got as far as they can
	Sent(c *Client, p *Frame)            // a request departs
	Arrived(p *Frame, lost bool)         // a packet arrives, or is lost
	Carried(c *Client, p Frame)          // the server carries a request out
	Woken(c *Client, p Frame)            // an event has arrived, and wakes contenders
	Client(c *Client, state string)      // the state of a client; see film.Mark
	State(k *Contender, text i18n.Text)  // the state of a contender has changed
	Noted(k *Contender)                  // all that the contender has noted so far is in the log now
	Lost(k *Contender, noticed bool)     // a holder has lost the lock
	Violation(v Violation, known string) // known: the name of the Known that it matches, or ""
	Note(who string, text i18n.Text)     // a remark for the viewer; "" is the world
}

const isLost, isNoticed = true, true // for Arrived and Lost

// NoCamera is the camera of a schedule without a film.
type NoCamera struct{}

func (NoCamera) Action()                     {}
func (NoCamera) Answer()                     {}
func (NoCamera) Depart()                     {}
func (NoCamera) Settled()                    {}
func (NoCamera) Sent(*Client, *Frame)        {}
func (NoCamera) Arrived(*Frame, bool)        {}
func (NoCamera) Carried(*Client, Frame)      {}
func (NoCamera) Woken(*Client, Frame)        {}
func (NoCamera) Client(*Client, string)      {}
func (NoCamera) State(*Contender, i18n.Text) {}
func (NoCamera) Noted(*Contender)            {}
func (NoCamera) Lost(*Contender, bool)       {}
func (NoCamera) Violation(Violation, string) {}
func (NoCamera) Note(string, i18n.Text)      {}
