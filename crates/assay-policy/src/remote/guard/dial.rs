//! [`AddressGuard`]: connects to an endpoint, or refuses to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use tokio::net::TcpStream;
use url::Host;

use super::address::{AddressClass, standing};
use super::port::denied_port;
use super::resolver::{Resolver, SystemResolver};
use crate::remote::ServerEndpoint;

/// Maximum number of addresses tried per name.
const MAX_ADDRESSES: usize = 4;

/// Message for refused and for unreachable addresses alike, so that the service cannot be used as a port scanner.
const CLOSED_OR_GONE: &str = "the policy server can't be reached (from here, only public addresses and the networks in \
                              the operator's --policy-networks are)";

/// Decides which addresses may be connected to, and connects.
#[derive(Debug, Clone)]
pub struct AddressGuard {
    open: Vec<IpNet>,
    resolver: Arc<dyn Resolver>,
    tells_why: bool,
}

/// A refused or failed connection. For logs and for the operator; a client gets [`AddressGuard::client_message`].
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// A port that belongs to another service.
    #[error("port {0} is the port of {1}, not of a policy server")]
    Port(u16, &'static str),
    /// The address is never open.
    #[error("{0} is {1}: connections to it are never allowed")]
    Never(IpAddr, &'static str),
    /// The address is in a network that the operator did not open.
    #[error("{0} is {1}: add its network to --policy-networks to allow it")]
    Closed(IpAddr, &'static str),
    /// The name has no address.
    #[error("the name {0} has no address")]
    NoAddress(String),
    /// The name could not be looked up.
    #[error("the name {0} could not be looked up")]
    LookUp(String, #[source] io::Error),
    /// Nothing listens, or the packets do not arrive.
    #[error("could not connect to {0}")]
    Connect(SocketAddr, #[source] io::Error),
    /// Another address answered.
    #[error("connected to {1} instead of {0}")]
    Peer(SocketAddr, SocketAddr),
}

impl DialError {
    /// Returns the reason with its causes, in one line.
    #[must_use]
    pub fn in_full(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

impl AddressGuard {
    /// Creates a service's guard, which allows public addresses and the networks that its operator opened.
    #[must_use]
    pub fn new(open: Vec<IpNet>) -> Self {
        Self::with_resolver(open, Arc::new(SystemResolver))
    }

    /// Like [`Self::new`], with names looked up by `resolver`.
    #[must_use]
    pub fn with_resolver(open: Vec<IpNet>, resolver: Arc<dyn Resolver>) -> Self {
        Self { open, resolver, tells_why: false }
    }

    /// Creates the command line's guard: its user is the operator, so every network is open, and reasons are reported.
    #[must_use]
    pub fn of_operator() -> Self {
        let everything = [IpNet::from(ipnet::Ipv4Net::default()), IpNet::from(ipnet::Ipv6Net::default())];
        Self::of_operator_within(everything.to_vec())
    }

    /// Like [`Self::of_operator`], but only public addresses and these networks are open.
    #[must_use]
    pub fn of_operator_within(open: Vec<IpNet>) -> Self {
        Self { tells_why: true, ..Self::new(open) }
    }

    /// Checks the parts of an endpoint that need no look-up: its port, and its address if it is a literal.
    ///
    /// # Errors
    /// [`DialError`] if it would be refused for any answer of the name service.
    pub fn check(&self, endpoint: &ServerEndpoint) -> Result<(), DialError> {
        if let Some(what) = denied_port(endpoint.port()) {
            return Err(DialError::Port(endpoint.port(), what));
        }
        match endpoint.host() {
            Host::Ipv4(ip) => self.judge(IpAddr::V4(*ip)).map(|_| ()),
            Host::Ipv6(ip) => self.judge(IpAddr::V6(*ip)).map(|_| ()),
            Host::Domain(_) => Ok(()),
        }
    }

    /// Returns the addresses of `endpoint`, looked up now, after checking every one of them.
    ///
    /// # Errors
    /// [`DialError`] if one of them is refused, or there is none.
    pub async fn vet(&self, endpoint: &ServerEndpoint) -> Result<Vec<SocketAddr>, DialError> {
        self.check(endpoint)?;
        let addresses = match endpoint.host() {
            Host::Ipv4(ip) => vec![IpAddr::V4(*ip)],
            Host::Ipv6(ip) => vec![IpAddr::V6(*ip)],
            Host::Domain(name) => {
                self.resolver.resolve(name).await.map_err(|error| DialError::LookUp(name.clone(), error))?
            }
        };
        let judged = addresses.into_iter().map(|ip| self.judge(ip)).collect::<Result<Vec<_>, _>>()?;
        if judged.is_empty() {
            return Err(DialError::NoAddress(endpoint.host().to_string()));
        }
        Ok(judged.into_iter().map(|ip| SocketAddr::new(ip, endpoint.port())).collect())
    }

    /// Connects to `endpoint`. Called for every new connection, because names change.
    ///
    /// # Errors
    /// [`DialError`] if the connection is refused or fails.
    pub async fn dial(&self, endpoint: &ServerEndpoint) -> Result<TcpStream, DialError> {
        let addresses = self.vet(endpoint).await?;
        let mut last = DialError::NoAddress(endpoint.host().to_string());
        for address in addresses.into_iter().take(MAX_ADDRESSES) {
            match connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Returns the message for the client: the same for every reason, except for the operator.
    #[must_use]
    pub fn client_message(&self, error: &DialError) -> String {
        if self.tells_why {
            return format!("the policy server can't be reached: {}", error.in_full());
        }
        CLOSED_OR_GONE.to_owned()
    }

    fn judge(&self, ip: IpAddr) -> Result<IpAddr, DialError> {
        let ip = ip.to_canonical();
        let opened = self.open.iter().any(|network| network.contains(&ip));
        match standing(ip) {
            AddressClass::Never(what) => Err(DialError::Never(ip, what)),
            _ if opened => Ok(ip),
            AddressClass::Closed(what) => Err(DialError::Closed(ip, what)),
            AddressClass::Public if self.resolver.is_own(ip) => {
                Err(DialError::Closed(ip, "an address of this machine"))
            }
            AddressClass::Public => Ok(ip),
        }
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, DialError> {
    let failed = |error| DialError::Connect(address, error);
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    let peer = stream.peer_addr().map_err(failed)?;
    if peer.ip().to_canonical() != address.ip() || peer.port() != address.port() {
        return Err(DialError::Peer(address, peer));
    }
    // Each small request is answered before the next one, so waiting to fill a packet only adds delay.
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}
