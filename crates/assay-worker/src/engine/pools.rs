//! Warm interpreters for public worlds, and separate ones for secret worlds.
//!
//! An interpreter is started when the one before it is taken, and can read its own age from its files. So an
//! interpreter for public worlds must not have been started when a secret episode took the previous one.

use std::sync::OnceLock;

use assay_policy::{Pool, PoolConfig, PoolError};

/// The pools of an engine.
#[derive(Debug)]
pub(crate) struct Pools {
    open: Pool,
    /// Created on first use: most engines never run a season.
    secret: OnceLock<Pool>,
    config: PoolConfig,
}

impl Pools {
    /// Starts warming interpreters for public worlds.
    pub(crate) fn start(config: PoolConfig) -> Result<Self, PoolError> {
        Ok(Self { open: Pool::new(config.clone())?, secret: OnceLock::new(), config })
    }

    /// Returns the pool for public or for secret worlds.
    pub(crate) fn of(&self, is_secret: bool) -> Result<&Pool, PoolError> {
        match (is_secret, self.secret.get()) {
            (false, _) => Ok(&self.open),
            (true, Some(pool)) => Ok(pool),
            (true, None) => {
                let made = Pool::new(self.config.clone())?;
                // Another lane may have created it meanwhile; then this pool is dropped.
                Ok(self.secret.get_or_init(|| made))
            }
        }
    }
}
