//! Warm interpreters for everybody, and others for secret worlds.
//!
//! An interpreter is started when one before it is taken, and can read from its files how old it is. So one that a
//! stranger gets must not have been started when a secret episode took the one before it.

use std::sync::OnceLock;

use assay_policy::{Pool, PoolConfig, PoolError};

/// The pools of an engine.
#[derive(Debug)]
pub(crate) struct Pools {
    open: Pool,
    /// Made when it is first needed: most engines never run a season.
    secret: OnceLock<Pool>,
    config: PoolConfig,
}

impl Pools {
    /// Begins to warm interpreters for everybody.
    pub(crate) fn start(config: PoolConfig) -> Result<Self, PoolError> {
        Ok(Self { open: Pool::new(config.clone())?, secret: OnceLock::new(), config })
    }

    /// The pool for what everybody may know, or for worlds that are secret.
    pub(crate) fn of(&self, is_secret: bool) -> Result<&Pool, PoolError> {
        match (is_secret, self.secret.get()) {
            (false, _) => Ok(&self.open),
            (true, Some(pool)) => Ok(pool),
            (true, None) => {
                let made = Pool::new(self.config.clone())?;
                // Another lane may have been faster; then this one is dropped.
                Ok(self.secret.get_or_init(|| made))
            }
        }
    }
}
