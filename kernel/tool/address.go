package tool

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errAddress says that an address must not be connected to.
var errAddress = errors.New("the address is not public; it is refused")

// addressClass says who an address belongs to.
type addressClass int

const (
	addressPublic   addressClass = iota
	addressPrivate               // this machine and the networks around it
	addressReserved              // never a web server: link-local, cloud metadata, multicast, special use
)

type addressRange struct {
	prefix string
	class  addressClass
}

// specialRanges are the IANA special-purpose registries, and the addresses
// under which clouds answer with a machine's credentials. The first that
// contains an address decides.
func specialRanges() []addressRange {
	return []addressRange{
		{"168.63.129.16/32", addressReserved},   // Azure's wire server
		{"100.100.100.200/32", addressReserved}, // Alibaba's metadata
		{"fd00:ec2::/32", addressReserved},      // Amazon's metadata
		{"fd20:ce::254/128", addressReserved},   // Google's metadata
		{"0.0.0.0/8", addressReserved},
		{"10.0.0.0/8", addressPrivate},
		{"100.64.0.0/10", addressPrivate},
		{"127.0.0.0/8", addressPrivate},
		{"169.254.0.0/16", addressReserved},
		{"172.16.0.0/12", addressPrivate},
		{"192.0.0.0/24", addressReserved},
		{"192.0.2.0/24", addressReserved},
		{"192.88.99.0/24", addressReserved},
		{"192.168.0.0/16", addressPrivate},
		{"198.18.0.0/15", addressReserved},
		{"198.51.100.0/24", addressReserved},
		{"203.0.113.0/24", addressReserved},
		{"224.0.0.0/3", addressReserved}, // multicast, reserved, broadcast
		{"::1/128", addressPrivate},
		{"fc00::/7", addressPrivate},
		// What is left outside of 2000::/3 is not routed in public; these inside
		// it are special, or carry an IPv4 address of their own.
		{"2001::/23", addressReserved}, // Teredo, benchmarking, ORCHID
		{"2001:db8::/32", addressReserved},
		{"2002::/16", addressReserved}, // 6to4
		{"3fff::/20", addressReserved},
		{"2000::/3", addressPublic},
		{"::/0", addressReserved},
	}
}

// classify says who an address belongs to. An IPv4 address in IPv6 clothes is
// the IPv4 address.
func classify(address netip.Addr) addressClass {
	address = address.Unmap().WithZone("")
	if !address.IsValid() {
		return addressReserved
	}
	if netip.MustParsePrefix("64:ff9b::/96").Contains(address) { // NAT64
		bytes := address.As16()
		address = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for _, r := range specialRanges() {
		if netip.MustParsePrefix(r.prefix).Contains(address) {
			return r.class
		}
	}
	return addressPublic
}

// dialControl is for [net.Dialer]: it judges the very address that is about to
// be connected to. A name that resolves to something else on a second look, or
// a redirect, comes by here like everything.
func dialControl(allowPrivate bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return fmt.Errorf("%w: it is not TCP", errAddress)
		}
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: it is no IP address", errAddress)
		}
		switch class := classify(target.Addr()); {
		case class == addressPublic, class == addressPrivate && allowPrivate:
			return nil
		}
		return errAddress
	}
}
