package outbound

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// target is where a URL leads, in the one form in which it is checked and
// dialled.
type target struct {
	scheme string     // http or https
	host   string     // a name, lower case, without a dot at its end; or an address
	port   string     // decimal
	addr   netip.Addr // where host is an address; never IPv4 within IPv6
}

// targetOf reads a URL. Errors say what is wrong with it, without repeating it.
func targetOf(u *url.URL) (target, error) {
	t := target{scheme: strings.ToLower(u.Scheme), host: u.Hostname(), port: u.Port()}
	switch {
	case t.scheme != "http" && t.scheme != "https":
		return target{}, fmt.Errorf("the scheme %q is not http or https", clip(u.Scheme, 20))
	case u.User != nil:
		return target{}, fmt.Errorf("the URL holds a user or a password; send a header instead")
	case t.host == "":
		return target{}, fmt.Errorf("the URL has no host")
	}
	if t.port == "" {
		t.port = defaultPort(t.scheme)
	} else if n, err := strconv.ParseUint(t.port, 10, 16); err != nil || n == 0 {
		return target{}, fmt.Errorf("the port is no number from 1 to 65535")
	} else {
		t.port = strconv.FormatUint(n, 10)
	}
	addr, isAddress, err := addressOf(t.host)
	if err != nil {
		return target{}, err
	}
	if isAddress {
		t.addr, t.host = addr, addr.String()
		return t, nil
	}
	if err := checkName(t.host); err != nil {
		return target{}, err
	}
	t.host = strings.ToLower(strings.TrimSuffix(t.host, "."))
	return t, nil
}

// origin is scheme, host and port as a user reads them, without a port that goes
// without saying.
func (t target) origin() string { return t.scheme + "://" + t.place() }

// place is host and port, the latter where it does not go without saying.
func (t target) place() string {
	host := t.host
	if t.addr.Is6() {
		host = "[" + host + "]"
	}
	if t.port != defaultPort(t.scheme) {
		host += ":" + t.port
	}
	return host
}

// pattern is the entry of net.allow that admits t and nothing more.
func (t target) pattern() string {
	if t.scheme == "http" {
		return t.origin()
	}
	return t.place()
}

// local is whether the name is one of the machine itself, which no server of
// names is asked for (RFC 6761).
func (t target) local() bool { return t.host == "localhost" || strings.HasSuffix(t.host, ".localhost") }

// addressOf reads an address as the URL standard does: IPv6 in or without
// brackets, and every form of IPv4 that resolvers of C take too, such as
// 0x7f.1 and 2130706433. A name whose last part is a number and that is no
// address is an error, as it is there: some resolver might take it for one.
func addressOf(host string) (addr netip.Addr, is bool, err error) {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return netip.Addr{}, false, fmt.Errorf("%q is no address", clip(host, 60))
		}
		return addr.Unmap(), true, nil
	}
	host = strings.TrimSuffix(host, ".")
	if !isNumber(host) {
		return netip.Addr{}, false, nil
	}
	parts := strings.Split(host, ".")
	var value uint64
	for i, part := range parts {
		n, ok := number(part)
		last := i == len(parts)-1
		most := uint64(255)
		if last {
			most = 1<<(8*(5-min(len(parts), 4))) - 1
		}
		if !ok || n > most || len(parts) > 4 {
			return netip.Addr{}, false, fmt.Errorf("%q is no address", clip(host, 60))
		}
		if last {
			value += n
		} else {
			value += n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true, nil
}

// isNumber is whether a host's last part is a number, of whatever base.
func isNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return false
	}
	if _, ok := number(last); ok {
		return true
	}
	return strings.Trim(last, "0123456789") == ""
}

// number reads one part of an IPv4 address: 0x… is hexadecimal, 0… octal.
func number(s string) (uint64, bool) {
	base := 10
	switch {
	case len(s) > 1 && (s[:2] == "0x" || s[:2] == "0X"):
		if s, base = s[2:], 16; s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	for i := range len(s) { // no sign, no underscore
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, base, 33)
	return n, err == nil
}

// clip is at most n bytes of s, cut between characters, with a mark where
// something is missing.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
