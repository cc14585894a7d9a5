package player

import "example.com/zklock/internal/i18n"

// A Camera makes a film of a schedule while it is played. Its methods are called with the lock of the player held.
type Camera interface {
	Action()                             // an action is chosen
	Answer()                             // replies and events are about to arrive, as a part of the action
	Depart()                             // the server may have sent something since the last call
	Settled()                            // all goroutines have got as far as they can
	Sent(c *Client, p *Frame)            // a request departs
	Arrived(p *Frame, lost bool)         // a packet arrives, or is lost
	Carried(c *Client, p Frame)          // a request is carried out
	Woken(c *Client, p Frame)            // an event has arrived, and wakes contenders
	Client(c *Client, state string)      // the state of a client; see film.Mark
	State(k *Contender, text i18n.Text)  // the state of a contender has changed
	Noted(k *Contender)                  // the notes of the contender are in the log
	Lost(k *Contender, noticed bool)     // a holder has lost the lock
	Violation(v Violation, known string) // known: the name of the Known that it matches, or ""
	Note(who string, text i18n.Text)
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
