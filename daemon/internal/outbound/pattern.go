package outbound

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Pattern is one entry of net.allow. Its zero value admits nothing.
type Pattern struct {
	scheme string       // http or https
	port   string       // decimal, or "*"
	name   string       // a host, lower case; "*" for any
	below  bool         // the names below name, and not name itself
	prefix netip.Prefix // addresses; not valid where name is set
}

// ParsePattern reads one entry of net.allow:
//
//	api.example.com            https on port 443, this name
//	*.example.com              https on port 443, every name below it
//	*                          https on port 443, every name and public address
//	https://host:8443          another port; ":*" is any
//	http://localhost:3000      http must be written
//	10.0.0.5, [fd00::1]:8443   an address
//	10.0.0.0/8, fd00::/8       addresses; http://10.0.0.0/8:8080 has scheme and port
//
// Nothing else of a URL may be there. Errors say what is wrong and what to write.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{scheme: "https"}
	rest := text
	if scheme, after, ok := strings.Cut(text, "://"); ok {
		p.scheme, rest = strings.ToLower(scheme), after
		if p.scheme != "http" && p.scheme != "https" {
			return Pattern{}, fmt.Errorf("%q: the scheme must be http or https", text)
		}
	}
	host, port, err := splitPort(rest)
	if err != nil {
		return Pattern{}, fmt.Errorf("%q: %w", text, err)
	}
	if p.port = port; port == "" {
		p.port = defaultPort(p.scheme)
	}
	switch {
	case host == "":
		return Pattern{}, fmt.Errorf("%q names no host", text)
	case strings.ContainsAny(host, "@?#\\ \t\r\n%"):
		return Pattern{}, fmt.Errorf("%q: write a host only, such as \"api.example.com\"", text)
	case host == "*":
		p.name = "*"
	case strings.HasPrefix(host, "*."):
		p.name, p.below = host[2:], true
		if err = checkName(p.name); err == nil && isNumber(p.name) {
			err = fmt.Errorf("a wildcard stands before a name, not before an address: write 10.0.0.0/8")
		}
	default:
		err = p.place(host)
	}
	if err != nil {
		return Pattern{}, fmt.Errorf("%q: %w", text, err)
	}
	p.name = strings.ToLower(strings.TrimSuffix(p.name, "."))
	return p, nil
}

// place reads a host that is no wildcard.
func (p *Pattern) place(host string) error {
	if strings.Contains(host, "/") {
		prefix, err := netip.ParsePrefix(strings.NewReplacer("[", "", "]", "").Replace(host))
		if err != nil {
			return fmt.Errorf("write a host only, without a path; a range of addresses is written 10.0.0.0/8")
		}
		if prefix.Addr().Is4In6() {
			return fmt.Errorf("write the IPv4 range itself")
		}
		p.prefix = prefix.Masked()
		return nil
	}
	target, isAddress, err := addressOf(host)
	if err != nil {
		return err
	}
	if !isAddress {
		p.name = host
		return checkName(host)
	}
	if classOf(target) == nowhere {
		return fmt.Errorf("%s is the address of no host", target)
	}
	p.prefix = netip.PrefixFrom(target, target.BitLen())
	return nil
}

// splitPort cuts a port off a host, an address or a range of addresses; empty
// when there is none.
func splitPort(s string) (host, port string, err error) {
	at := strings.LastIndexByte(s, ':')
	if at < 0 || strings.LastIndexByte(s, ']') > at || strings.Count(s, ":") > 1 && !strings.Contains(s, "]") {
		return s, "", nil // an IPv6 address without brackets has no port
	}
	host, port = s[:at], s[at+1:]
	if port == "*" {
		return host, port, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '+' {
		return "", "", fmt.Errorf("the port %q is no number from 1 to 65535", port)
	}
	return host, strconv.FormatUint(n, 10), nil
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// checkName holds a host's name against what DNS takes: letters, digits, "-" and
// "_" in labels of at most 63 characters.
func checkName(name string) error {
	name = strings.TrimSuffix(name, ".")
	if len(name) > 253 {
		return fmt.Errorf("the name has %d characters; a host's has at most 253", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("%q is no name of a host", name)
		}
		for i := range len(label) {
			switch c := label[i]; {
			case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			case c == '*':
				return fmt.Errorf("a * stands alone, or before the first dot: *.example.com")
			case c >= 0x80:
				return fmt.Errorf("write an international name as xn--…")
			default:
				return fmt.Errorf("%q is no name of a host", name)
			}
		}
	}
	return nil
}

// String is the pattern as it may be written; it parses to the same pattern.
func (p Pattern) String() string {
	host := p.name
	switch {
	case p.below:
		host = "*." + p.name
	case p.name == "" && p.prefix.IsSingleIP():
		if host = p.prefix.Addr().String(); p.prefix.Addr().Is6() {
			host = "[" + host + "]"
		}
	case p.name == "":
		if host = p.prefix.String(); p.prefix.Addr().Is6() {
			host = "[" + p.prefix.Addr().String() + "]/" + strconv.Itoa(p.prefix.Bits())
		}
	}
	return p.scheme + "://" + host + ":" + p.port
}

// speaks is whether scheme and port are the pattern's.
func (p Pattern) speaks(t target) bool {
	return p.scheme == t.scheme && (p.port == "*" || p.port == t.port)
}

// admits is whether a request to t is in the pattern's words. What it resolves
// to is another question.
func (p Pattern) admits(t target) bool {
	switch {
	case !p.speaks(t):
		return false
	case p.name == "*":
		return !t.addr.IsValid() || classOf(t.addr) == public
	case p.name == "":
		return t.addr.IsValid() && p.prefix.Contains(t.addr)
	case p.below:
		return !t.addr.IsValid() && strings.HasSuffix(t.host, "."+p.name)
	default:
		return !t.addr.IsValid() && t.host == p.name
	}
}
