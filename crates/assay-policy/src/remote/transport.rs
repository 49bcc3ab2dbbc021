//! A connection to a server: dialled by the guard, encrypted if its scheme requires that.

use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{IpAddr, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Host;

use super::allowance::{Metered, ReceiveAllowance};
use super::endpoint::ServerEndpoint;
use super::fault::ServerFault;
use super::guard::{AddressGuard, DialError};

/// Bytes to and from a server.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// Connects to `endpoint`, which may send as much as `allowance` permits. The caller sets the deadline.
pub(crate) async fn open(
    guard: &AddressGuard,
    endpoint: &ServerEndpoint,
    allowance: &ReceiveAllowance,
) -> Result<Box<dyn Transport>, ServerFault> {
    connect(guard, endpoint, allowance).await.map_err(|error| match error {
        ConnectError::Dial(error) => {
            tracing::info!(endpoint = %endpoint, reason = %error.in_full(), "could not connect to policy server");
            ServerFault::connect(guard.client_message(&error))
        }
        ConnectError::Tls(why) => {
            ServerFault::connect(format!("could not encrypt the connection to the policy server: {why}"))
        }
    })
}

/// The reason why a connection failed.
pub(super) enum ConnectError {
    /// The guard refused the address, or the connection failed.
    Dial(DialError),
    /// It could not be encrypted.
    Tls(String),
}

/// Like [`open`], for callers with error messages of their own.
pub(super) async fn connect(
    guard: &AddressGuard,
    endpoint: &ServerEndpoint,
    allowance: &ReceiveAllowance,
) -> Result<Box<dyn Transport>, ConnectError> {
    let stream = guard.dial(endpoint).await.map_err(ConnectError::Dial)?;
    let stream = Metered::new(stream, allowance);
    if !endpoint.is_tls() {
        return Ok(Box::new(stream));
    }
    let name = match endpoint.host() {
        Host::Domain(name) => {
            let unfit = |_| ConnectError::Tls("its name cannot be matched with a certificate".to_owned());
            ServerName::try_from(name.clone()).map_err(unfit)?
        }
        Host::Ipv4(ip) => ServerName::IpAddress(IpAddr::from(std::net::IpAddr::V4(*ip))),
        Host::Ipv6(ip) => ServerName::IpAddress(IpAddr::from(std::net::IpAddr::V6(*ip))),
    };
    let connector = TlsConnector::from(configuration());
    let stream = connector.connect(name, stream).await.map_err(|error| ConnectError::Tls(error.to_string()))?;
    Ok(Box::new(stream))
}

/// Returns the TLS configuration: it trusts the machine's certificates, so that an operator's own authority works.
fn configuration() -> Arc<ClientConfig> {
    static SHARED: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let make = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
    };
    Arc::clone(SHARED.get_or_init(make))
}
