package outbound

import "net/netip"

// class says what an address is for, as far as it decides who may be reached.
type class int

const (
	public  class = iota
	private       // of the machine or of a network around it: reached where it is named
	link          // of one link, and of services that a machine asks about itself: reached by the address only
	nowhere       // no destination of a request
)

// special are the ranges that are not globally reachable, after the IANA
// registries of special-purpose addresses (RFC 6890), and addresses at which
// providers answer a machine's questions about itself.
var special = []struct {
	prefix netip.Prefix
	class  class
}{
	{netip.MustParsePrefix("0.0.0.0/8"), nowhere},       // this network
	{netip.MustParsePrefix("10.0.0.0/8"), private},      // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), private},   // carrier-grade NAT, RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), private},     // loopback
	{netip.MustParsePrefix("168.63.129.16/32"), link},   // Azure's virtual host
	{netip.MustParsePrefix("169.254.0.0/16"), link},     // link-local; metadata of most providers
	{netip.MustParsePrefix("172.16.0.0/12"), private},   // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), link},       // IETF assignments; metadata at Oracle
	{netip.MustParsePrefix("192.0.2.0/24"), private},    // documentation
	{netip.MustParsePrefix("192.88.99.0/24"), nowhere},  // 6to4 relays, RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), private},  // RFC 1918
	{netip.MustParsePrefix("198.18.0.0/15"), private},   // benchmarks, RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), private}, // documentation
	{netip.MustParsePrefix("203.0.113.0/24"), private},  // documentation
	{netip.MustParsePrefix("224.0.0.0/4"), nowhere},     // multicast
	{netip.MustParsePrefix("240.0.0.0/4"), nowhere},     // reserved, broadcast
	{netip.MustParsePrefix("::/128"), nowhere},          // unspecified
	{netip.MustParsePrefix("::1/128"), private},         // loopback
	{netip.MustParsePrefix("::/96"), nowhere},           // IPv4-compatible, deprecated
	{netip.MustParsePrefix("64:ff9b:1::/48"), private},  // NAT64 of a network, RFC 8215
	{netip.MustParsePrefix("100::/64"), nowhere},        // discard, RFC 6666
	{netip.MustParsePrefix("2001:db8::/32"), private},   // documentation
	{netip.MustParsePrefix("2001::/23"), nowhere},       // IETF assignments, Teredo among them
	{netip.MustParsePrefix("3fff::/20"), private},       // documentation, RFC 9637
	{netip.MustParsePrefix("5f00::/16"), nowhere},       // segment routing, RFC 9602
	{netip.MustParsePrefix("fc00::/7"), private},        // unique local; metadata at Amazon
	{netip.MustParsePrefix("fe80::/10"), link},          // link-local
	{netip.MustParsePrefix("fec0::/10"), link},          // site-local, deprecated
	{netip.MustParsePrefix("ff00::/8"), nowhere},        // multicast
}

// Ranges of IPv6 in whose addresses one of IPv4 is written.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixTo4 = netip.MustParsePrefix("2002::/16")    // RFC 3056
)

// classOf is the class of an address, of the IPv4 one in it where it leads there.
func classOf(a netip.Addr) class {
	class, _ := rangeOf(a)
	return class
}

// rangeOf is the class of an address and the special range that it comes from.
func rangeOf(a netip.Addr) (class, netip.Prefix) {
	a = inner(a)
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.class, s.prefix
		}
	}
	return public, netip.Prefix{}
}

// inner is the IPv4 address to which an IPv6 one leads, else the address itself.
func inner(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixTo4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}
