package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration as config files and flags write it: Go's
// units (ms, s, m, h) and d for days of 24 hours, for example "10m", "1h30m",
// "30d". "0" is zero. A number without a unit and a negative one are errors.
func ParseDuration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	days, rest := time.Duration(0), s
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration such as \"90s\", \"10m\" or \"30d\"", s)
		}
		days, rest = time.Duration(n)*24*time.Hour, tail
	}
	if rest == "" {
		return days, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || days+d < 0 {
		if _, bare := strconv.ParseFloat(s, 64); bare == nil && !strings.HasPrefix(s, "-") {
			return 0, fmt.Errorf("%q has no unit: write %q or %q", s, s+"s", s+"ms")
		}
		return 0, fmt.Errorf("%q is not a duration such as \"90s\", \"10m\" or \"30d\"", s)
	}
	return days + d, nil
}

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"k", 1 << 10}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30},
	{"B", 1}, {"", 1},
}

// maxSize is the most bytes that a size may be: two of them can be added.
const maxSize = math.MaxInt64 / 2

// ParseSize reads a number of bytes: "64KiB", "10MB", "4096". K, M and G alone
// are powers of 1024. What is beyond 2^62 bytes is an error.
func ParseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		head, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(head), 64)
		infinite := err == nil && math.IsInf(n, 0) // the word, not a number out of range
		if (err == nil || errors.Is(err, strconv.ErrRange)) && !infinite && n*u.bytes > maxSize {
			return 0, fmt.Errorf("%q is too large: the most is %d bytes", s, maxSize)
		}
		if err != nil || n < 0 || infinite || math.IsNaN(n) {
			break
		}
		return int64(n * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is not a size such as \"64KiB\" or \"10MB\"", s)
}
