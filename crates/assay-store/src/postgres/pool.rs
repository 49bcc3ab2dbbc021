//! The pool of connections, and TLS.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::open_error::PostgresOpenError;
use super::options::TlsOptions;

/// Maximum number of connections of a process, with that of the listener.
pub(super) const MAX_CONNECTIONS: usize = 16;
/// Maximum time to wait for a free connection.
const WAIT: Duration = Duration::from_secs(5);
/// Maximum time to open a connection, with the settings below.
const CREATE: Duration = Duration::from_secs(8);
/// Settings of each connection: a statement that takes longer than 15 s fails, a transaction without statements ends
/// after 30 s if this process no longer answers, and short statements are not compiled.
const SETTINGS: &str = "SET statement_timeout = '15s'; SET idle_in_transaction_session_timeout = '30s'; SET jit = off; \
                        SET client_min_messages = warning";

/// Creates the pool; opens no connection.
pub(super) fn pool(config: Config, tls: MakeRustlsConnect) -> Result<Pool, PoolError> {
    let manager = Manager::from_config(config, tls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    let built = Pool::builder(manager)
        .max_size(MAX_CONNECTIONS - 1)
        .runtime(Runtime::Tokio1)
        .timeouts(Timeouts { wait: Some(WAIT), create: Some(CREATE), recycle: Some(WAIT) })
        .post_create(Hook::async_fn(|client: &mut ClientWrapper, _| {
            Box::pin(async move { client.batch_execute(SETTINGS).await.map_err(HookError::Backend) })
        }))
        .build();
    // Fails only without a runtime.
    built.map_err(|_| PoolError::NoRuntimeSpecified)
}

/// Returns the connector for TLS. Certificates are always verified, with the name of the host.
pub(super) fn connector(options: &TlsOptions) -> Result<MakeRustlsConnect, PostgresOpenError> {
    let mut roots = RootCertStore::empty();
    match &options.root_certificates {
        Some(path) => {
            let failed = |source: Arc<dyn std::error::Error + Send + Sync>| PostgresOpenError::RootCertificates {
                path: path.clone(),
                source,
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|e| failed(Arc::new(e)))? {
                let certificate = certificate.map_err(|e| failed(Arc::new(e)))?;
                roots.add(certificate).map_err(|e| failed(Arc::new(e)))?;
            }
        }
        None => {
            // The system may have certificates that rustls does not understand.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder =
        versions.map_err(|source| PostgresOpenError::Tls { server: String::new(), source: Arc::new(source) })?;
    Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
