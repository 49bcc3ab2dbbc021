//! Values of options.

use std::net::IpAddr;

use clap::builder::TypedValueParser;
use clap::value_parser;
use ipnet::IpNet;

/// A network, or a single address.
pub(crate) fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| "write a network such as 192.168.0.0/16, or an address".to_owned())
}

/// A size in MiB, up to a TiB.
pub(crate) fn mebibytes() -> impl TypedValueParser<Value = u64> {
    value_parser!(u64).range(1..=1 << 20)
}

/// A number of lanes.
pub(crate) fn lanes() -> impl TypedValueParser<Value = u16> {
    value_parser!(u16).range(1..=256)
}

/// A number strictly between 0 and 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number > 0.0 && number < 1.0 { Ok(number) } else { Err("must lie between 0 and 1".to_owned()) }
}
