//go:build !linux && !darwin

package serve

import "os"

// redirect has no counterpart here: the streams stay where the starter put them.
func redirect(*os.File) {}
