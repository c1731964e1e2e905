package cli

import (
	"strconv"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
)

// sinceValue is a flag that takes a moment: so long ago (90m, 2h, 7d), a date,
// or a time of RFC 3339. Dates are of the machine's time zone.
type sinceValue struct {
	at   *time.Time
	text string
}

func (s *sinceValue) String() string { return s.text }
func (s *sinceValue) Type() string   { return "time" }

func (s *sinceValue) Set(text string) error {
	at, ok := momentOf(text, time.Now())
	if !ok {
		return fault.New(fault.UsageError, "%q is no time", text).WithHint("such as 2h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z")
	}
	*s.at, s.text = at, text
	return nil
}

// maxDays is how many days back a moment may be: none of them is before the year 1,
// which the daemon would not read.
const maxDays = 365 * 1000

func momentOf(text string, now time.Time) (time.Time, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= maxDays {
			return now.AddDate(0, 0, -n), true
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at, true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}
