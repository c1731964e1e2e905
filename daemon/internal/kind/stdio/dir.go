package stdio

import "os"

// PrivateDir makes a directory for one server, which removes it at its end. parent
// is made when it is missing; empty: the system's temporary directory.
func PrivateDir(parent string) (string, error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(parent, "tenon-server-") // mode 0700
}
