//! Classes of addresses. Source of the ranges: the IANA special-purpose address registries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressClass {
    /// An address on the public Internet.
    Public,
    /// An address in a network that only the operator can open, by naming it.
    Closed(&'static str),
    /// Never open: it leads to credentials of the machine, or is not the address of a single machine.
    Never(&'static str),
}

/// Ranges of IPv4: network, prefix length, class. The first match applies.
const V4: [([u8; 4], u32, AddressClass); 18] = [
    ([168, 63, 129, 16], 32, AddressClass::Never("a cloud's metadata service")),
    ([100, 100, 100, 200], 32, AddressClass::Never("a cloud's metadata service")),
    ([192, 0, 0, 192], 32, AddressClass::Never("a cloud's metadata service")),
    ([169, 254, 0, 0], 16, AddressClass::Never("a link-local address (used by metadata services)")),
    ([0, 0, 0, 0], 8, AddressClass::Never("not the address of a machine")),
    ([224, 0, 0, 0], 4, AddressClass::Never("a multicast address")),
    ([240, 0, 0, 0], 4, AddressClass::Never("a reserved address")),
    ([127, 0, 0, 0], 8, AddressClass::Closed("a loopback address")),
    ([10, 0, 0, 0], 8, AddressClass::Closed("a private address")),
    ([172, 16, 0, 0], 12, AddressClass::Closed("a private address")),
    ([192, 168, 0, 0], 16, AddressClass::Closed("a private address")),
    ([100, 64, 0, 0], 10, AddressClass::Closed("an address of a carrier-grade NAT")),
    ([192, 0, 0, 0], 24, AddressClass::Closed("an address reserved for protocol assignments")),
    ([192, 0, 2, 0], 24, AddressClass::Closed("an address reserved for documentation")),
    ([198, 51, 100, 0], 24, AddressClass::Closed("an address reserved for documentation")),
    ([203, 0, 113, 0], 24, AddressClass::Closed("an address reserved for documentation")),
    ([198, 18, 0, 0], 15, AddressClass::Closed("an address reserved for benchmarks")),
    ([192, 88, 99, 0], 24, AddressClass::Closed("a relay address")),
];

/// Ranges of IPv6: the first 32 bits of the network, prefix length (at most 32), class.
const V6: [(u32, u32, AddressClass); 4] = [
    (0x2001_0000, 32, AddressClass::Closed("a Teredo address")),
    (0x2001_0db8, 32, AddressClass::Closed("an address reserved for documentation")),
    (0x2002_0000, 16, AddressClass::Closed("a 6to4 address")),
    (0x2000_0000, 3, AddressClass::Public),
];

/// Metadata services of clouds, and other services that provide credentials: AWS (metadata, EKS), Google, Oracle,
/// Scaleway, Linode.
const METADATA_V6: [Ipv6Addr; 6] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
    Ipv6Addr::new(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1),
];

/// Returns the class of `ip`. An IPv4-mapped address (`::ffff:a.b.c.d`) is classified as IPv4; an address that embeds
/// one (NAT64, 6to4, Teredo, ISATAP, `::a.b.c.d`) stays closed, and is never open if the embedded one is not.
#[must_use]
pub fn standing(ip: IpAddr) -> AddressClass {
    match ip.to_canonical() {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => v6(ip),
    }
}

fn v4(ip: Ipv4Addr) -> AddressClass {
    let fits = |network: [u8; 4], bits: u32| (ip.to_bits() ^ u32::from_be_bytes(network)) >> (32 - bits) == 0;
    V4.iter()
        .find(|(network, bits, _)| fits(*network, *bits))
        .map_or(AddressClass::Public, |(_, _, standing)| *standing)
}

fn v6(ip: Ipv6Addr) -> AddressClass {
    if METADATA_V6.contains(&ip) {
        return AddressClass::Never("a cloud's metadata service");
    }
    if ip.is_unspecified() {
        return AddressClass::Never("not the address of a machine");
    }
    if ip.is_loopback() {
        return AddressClass::Closed("a loopback address");
    }
    if ip.is_multicast() {
        return AddressClass::Never("a multicast address");
    }
    if ip.is_unicast_link_local() {
        return AddressClass::Never("a link-local address");
    }
    if ip.is_unique_local() {
        return AddressClass::Closed("a private address");
    }
    if let Some(within) = carried(ip) {
        return match v4(within) {
            AddressClass::Never(what) => AddressClass::Never(what),
            _ => AddressClass::Closed("an IPv4 address carried in IPv6"),
        };
    }
    let first = (ip.to_bits() >> 96) as u32;
    let fits = |network: u32, bits: u32| (first ^ network) >> (32 - bits) == 0;
    let found = V6.iter().find(|(network, bits, _)| fits(*network, *bits));
    found.map_or(AddressClass::Closed("not a public address"), |(_, _, standing)| *standing)
}

/// Returns the IPv4 address that a translator would extract from `ip`.
fn carried(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let pair = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0 | 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0) => Some(pair(g, h)),
        (0x64, 0xff9b, 1, ..) => Some(pair(g, h)),
        (0x2002, ..) => Some(pair(b, c)),
        // Teredo's client, whose bits are inverted.
        (0x2001, 0, ..) => Some(pair(!g, !h)),
        // ISATAP, in any network.
        (_, _, _, _, 0 | 0x200, 0x5efe) => Some(pair(g, h)),
        _ => None,
    }
}
