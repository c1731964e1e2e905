//go:build !linux && !darwin

package local

import "net"

// PeerOf has no way to learn who connected on this system; without it
// nobody is served over the socket.
func PeerOf(net.Conn) (Creds, error) { return Creds{}, ErrNoCreds }
