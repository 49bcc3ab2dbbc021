//! Interface to the system's names and addresses; tests provide their own. Checking a name makes no connection.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::pin::Pin;

/// Future of the addresses of a name, or an error.
pub type Resolve<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks up names.
pub trait Resolver: Send + Sync + fmt::Debug {
    /// Returns the addresses of `name`. Never called with a literal address.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolve<'a>;

    /// Returns true if `ip` belongs to this machine.
    fn is_own(&self, ip: IpAddr) -> bool;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolve<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    /// The kernel chooses the destination as the source address of a packet to one of this machine's own addresses.
    /// Nothing is sent: a datagram socket that connects only looks up the route.
    fn is_own(&self, ip: IpAddr) -> bool {
        let any: IpAddr = if ip.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        let route = UdpSocket::bind(SocketAddr::new(any, 0)).and_then(|socket| {
            socket.connect(SocketAddr::new(ip, 9))?;
            socket.local_addr()
        });
        route.is_ok_and(|own| own.ip() == ip)
    }
}
