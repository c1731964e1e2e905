package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// OAuth is what an entry says of the login to a remote server, as written. None:
// a login is made as the server asks for it.
type OAuth struct {
	Off          bool   `json:",omitempty"` // oauth: false
	ClientID     string `json:",omitempty"`
	ClientSecret string `json:",omitempty"`
	Document     string `json:",omitempty"` // clientMetadataUrl
	Scope        string `json:",omitempty"`
	Redirect     string `json:",omitempty"` // a loopback address; callbackPort makes one
	Metadata     string `json:",omitempty"` // authServerMetadataUrl
}

// checkOAuth checks a value of oauth: false, or an object.
func checkOAuth(n *node, key *Key, shown string) error {
	if n.kind == boolNode && n.text == "false" {
		return nil
	}
	if n.kind != objectNode {
		return wrongType(n, key, shown)
	}
	return checkBelow(n, key.Path, shown)
}

// oauthNames are the names that hosts give to the fields: opencode's two
// generations, Claude Code and Cursor write the same things in four ways.
var oauthNames = map[string]string{
	"clientid": "clientId", "clientsecret": "clientSecret", "scope": "scope", "scopes": "scope",
	"callbackport": "callbackPort", "redirecturi": "redirectUri",
	"authservermetadataurl": "authServerMetadataUrl", "clientmetadataurl": "clientMetadataUrl",
}

// readOAuth reads the login of an entry, in our own form or a host's. The
// unknown names of a host's are returned; in our own there are none.
func readOAuth(n *node) (*OAuth, []string) {
	if n.kind == boolNode {
		if n.text == "false" {
			return &OAuth{Off: true}, nil
		}
		return nil, nil // a login where one is wanted, which goes without saying
	}
	var o OAuth
	var unknown []string
	for _, m := range n.members {
		text := m.value.text
		if list, ok := m.value.strings(); ok {
			text = strings.Join(list, " ")
		}
		switch oauthNames[strings.ToLower(strings.ReplaceAll(m.name, "_", ""))] {
		case "clientId":
			o.ClientID = text
		case "clientSecret":
			o.ClientSecret = text
		case "scope":
			o.Scope = text
		case "callbackPort":
			if o.Redirect == "" {
				o.Redirect = "http://127.0.0.1:" + text + "/callback"
			}
		case "redirectUri":
			o.Redirect = text
		case "authServerMetadataUrl":
			o.Metadata = text
		case "clientMetadataUrl":
			o.Document = text
		default:
			unknown = append(unknown, m.name)
		}
	}
	return &o, unknown
}

// problem says what is wrong between the fields, or nothing.
func (o *OAuth) problem() string {
	switch {
	case o == nil || o.Off:
		return ""
	case o.ClientSecret != "" && o.ClientID == "":
		return "oauth.clientSecret needs oauth.clientId"
	}
	if o.Redirect != "" {
		u, err := url.Parse(o.Redirect)
		if err != nil || u.Scheme != "http" || !loopbackHost(u.Hostname()) || u.Fragment != "" || u.RawQuery != "" {
			return "oauth.redirectUri must be a loopback address, such as http://127.0.0.1:8976/callback"
		}
		if port := u.Port(); port != "" {
			if i, err := strconv.ParseUint(port, 10, 16); err != nil || i == 0 {
				return fmt.Sprintf("oauth.callbackPort: %s is no port from 1 to 65535", port)
			}
		}
	}
	if o.Document != "" && !strings.Contains(o.Document, "${") {
		// https with a path, as draft-ietf-oauth-client-id-metadata-document has it.
		if u, err := url.Parse(o.Document); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			return "oauth.clientMetadataUrl must be an https address with a path"
		}
	}
	return ""
}

func loopbackHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// oauth expands the login of s.
func (x *expander) oauth(s *Server) (*OAuth, error) {
	if s.OAuth == nil {
		return nil, nil
	}
	o := *s.OAuth
	for _, f := range []struct {
		name string
		text *string
	}{
		{"clientId", &o.ClientID}, {"clientSecret", &o.ClientSecret}, {"clientMetadataUrl", &o.Document},
		{"scope", &o.Scope}, {"authServerMetadataUrl", &o.Metadata},
	} {
		value, err := x.field(s, "oauth."+f.name, *f.text, f.name == "clientSecret")
		if err != nil {
			return nil, err
		}
		*f.text = value
	}
	if o.ClientSecret != "" {
		x.secret(o.ClientSecret)
	}
	return &o, nil
}
