package history

import (
	"fmt"
	"time"
)

// Note is what somebody should know of a history that is being kept.
type Note struct {
	Text string // what is so
	Hint string // what to do, or that nothing is to be done
}

// leapt is a leap of the clock, and until when nothing is too old by it.
type leapt struct{ from, to, until time.Time }

// Notes says that the clock has moved far, for as long as that keeps what is old,
// and that a journal was damaged, for the life of this store.
func (s *Store) Notes() []Note {
	var out []Note
	if l := s.leapt.Load(); l != nil && time.Until(l.until) > 0 && l.to.Sub(s.now()) < leap { // else it has been set right
		out = append(out, Note{
			Text: fmt.Sprintf("the clock has moved from %s to %s: nothing is removed for its age for %s yet",
				l.from.Format(time.DateTime), l.to.Format(time.DateTime), time.Until(l.until).Round(time.Minute)),
			Hint: "if it is wrong, set it right (NTP) before then: what is older than history.retention by it goes",
		})
	}
	if n := s.unread.Load(); n > 0 {
		out = append(out, Note{
			Text: fmt.Sprintf("%d lines of the journal of a killed daemon could not be read: what it did then may not be in history", n),
			Hint: "a note, not an error",
		})
	}
	return out
}
