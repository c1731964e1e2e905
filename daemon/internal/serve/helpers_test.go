package serve

import (
	"context"
	"net"
	"net/http"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// get asks for the servers as a client of another build would.
func get(c *client.Client, build local.Stamp) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", c.Paths.Socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest("GET", "http://localhost/v1/leases", nil)
	if err != nil {
		return err
	}
	req.Header.Set(proto.HeaderProtocol, "1")
	req.Header.Set(proto.HeaderBuild, build.String())
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}
