package cli

import (
	"fmt"
	"time"
)

// ago is how long ago an RFC 3339 time was, for a column.
func ago(stamp string) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return dash(stamp)
	}
	return rough(time.Since(t)) + " ago"
}

// in is how long it is until an RFC 3339 time; empty for none.
func in(stamp string) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return stamp
	}
	if d := time.Until(t); d > 0 {
		return "in " + rough(d)
	}
	return "now"
}

// rough leaves out what nobody needs to see.
func rough(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return d.Truncate(time.Minute).String()[:len(d.Truncate(time.Minute).String())-2] // without 0s
	default:
		s := d.Truncate(time.Minute).String()
		return s[:len(s)-2]
	}
}

// count is a number with the word for what it counts.
func count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
