package upstream

import (
	"net/http"
	"net/url"
)

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// sameServer follows redirects within the server that the configuration names,
// and from http to https of it. All others are an answer like any: a message,
// the headers of the entry and the answer belong to that server alone, and an
// address within this network may be nobody's to name.
func sameServer(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || !within(via[0].URL, r.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

func within(from, to *url.URL) bool {
	if to.User != nil {
		return false
	}
	return from.Scheme == to.Scheme && from.Host == to.Host ||
		from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname()
}

// redirectHint says what to do about a redirect that is not followed.
func redirectHint(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil {
		return "it redirects, and does not say where"
	}
	return "it redirects to " + to.Scheme + "://" + to.Host + ", which is another server: if that is right, write its address in url"
}
