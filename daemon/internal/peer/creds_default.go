//go:build !linux && !darwin

package peer

import "net"

// peerCreds has no way to learn who connected on this system; without it
// nobody is served over the socket.
func peerCreds(net.Conn) (creds, error) { return creds{}, errNoCreds }
