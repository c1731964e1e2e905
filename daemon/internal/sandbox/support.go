package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
)

// What the kernel must have. Landlock's version 3 (Linux 6.2) is the first that
// also holds truncation; before 6 (Linux 6.12) it does not hold signals.
const (
	minABI    = 3
	signalABI = 6
)

// Support is what this machine can enforce.
type Support struct {
	ABI    int    // Landlock's version; 0: there is none
	Reason string // why strict modes cannot be held; empty when they can
	Gaps   []string
}

// Variable lowers what is believed of the kernel: its value is the version of
// Landlock that counts, 0 for none. It never raises it.
const Variable = "TENON_LANDLOCK"

// Probe asks the kernel, once.
var Probe = sync.OnceValue(func() Support {
	s := assess(landlockABI())
	if abi, err := strconv.Atoi(os.Getenv(Variable)); err == nil {
		return s.AtMost(abi)
	}
	return s
})

// AtMost is s as an older kernel would have it. It never says that more can be
// enforced than can.
func (s Support) AtMost(abi int) Support {
	if s.Reason != "" && s.ABI == 0 || abi >= s.ABI {
		return s
	}
	if abi <= 0 {
		return assess(0, errNone)
	}
	return assess(abi, nil)
}

var errNone = errors.New("this kernel has no Landlock, or it is switched off")

func assess(abi int, err error) Support {
	s := Support{ABI: abi}
	switch {
	case err != nil:
		s.Reason = err.Error()
	case abi < minABI:
		s.Reason = fmt.Sprintf("this kernel's Landlock has version %d, and truncation is only held from version %d on (Linux 6.2)", abi, minABI)
	case abi < signalABI:
		s.Gaps = append(s.Gaps, fmt.Sprintf("signals to other processes of the user: held from Landlock version %d on (Linux 6.12)", signalABI))
	}
	return s
}

// Holds is nil when m can be enforced here, else the reason why not.
func (s Support) Holds(m Mode) error {
	switch {
	case m == Full:
		return nil
	case m == Confined:
		return errors.New("only the embedded engine is confined")
	case s.Reason != "":
		return errors.New(s.Reason)
	}
	return nil
}
