//! Warm interpreters: a pool for each runtime in use, and separate ones for secret worlds.
//!
//! An interpreter is started when the one before it is taken, and can read its own age from its files. So an
//! interpreter for public worlds must not have been started when a secret episode took the previous one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::{RuntimeVersion, Sha256Digest};
use assay_policy::{Pool, PoolConfig, PoolError, RuntimeError, RuntimeLibrary};

/// Maximum number of pools, whose idle interpreters take up memory.
const MAX_POOLS: usize = 8;

/// The pools of an engine.
#[derive(Debug)]
pub(crate) struct Pools {
    runtimes: RuntimeLibrary,
    /// The configuration of every pool, with the runtime of policies that name no other.
    config: PoolConfig,
    /// The pools in use, most recently used last. Most engines never need more than the first.
    open: Mutex<Vec<OpenPool>>,
}

#[derive(Debug)]
struct OpenPool {
    runtime: Sha256Digest,
    is_secret: bool,
    pool: Arc<Pool>,
}

/// The reason why there is no pool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoPool {
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Pool(#[from] PoolError),
}

impl Pools {
    /// Starts warming interpreters of the configured runtime for public worlds.
    pub(crate) fn start(runtimes: RuntimeLibrary, config: PoolConfig) -> Result<Self, PoolError> {
        let first = OpenPool {
            runtime: config.runtime.manifest.sha256,
            is_secret: false,
            pool: Arc::new(Pool::new(config.clone())?),
        };
        Ok(Self { runtimes, config, open: Mutex::new(vec![first]) })
    }

    /// Returns the pool of a runtime, by default that of the configuration, for public or for secret worlds.
    pub(crate) fn of(&self, runtime: Option<&RuntimeVersion>, is_secret: bool) -> Result<Arc<Pool>, NoPool> {
        let sha256 = runtime.map_or(self.config.runtime.manifest.sha256, |version| version.sha256);
        let mut open = self.lock();
        if let Some(at) = open.iter().position(|one| one.runtime == sha256 && one.is_secret == is_secret) {
            let found = open.remove(at);
            let pool = Arc::clone(&found.pool);
            open.push(found);
            return Ok(pool);
        }
        let config = match runtime.filter(|_| sha256 != self.config.runtime.manifest.sha256) {
            None => self.config.clone(),
            Some(version) => {
                let runtime = self.runtimes.open(self.runtimes.version(version)?)?;
                PoolConfig { runtime, ..self.config.clone() }
            }
        };
        let pool = Arc::new(Pool::new(config)?);
        open.push(OpenPool { runtime: sha256, is_secret, pool: Arc::clone(&pool) });
        if open.len() > MAX_POOLS {
            // Interpreters that were taken from it live on.
            drop(open.remove(0));
        }
        Ok(pool)
    }

    /// Returns the runtimes of the pools, whose interpreters may read their files at any time.
    pub(crate) fn runtimes(&self) -> Vec<Sha256Digest> {
        self.lock().iter().map(|pool| pool.runtime).collect()
    }

    /// Returns the reason why the configured runtime is not in memory.
    pub(crate) fn on_disk(&self) -> Option<String> {
        self.lock().first()?.pool.on_disk().map(ToString::to_string)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OpenPool>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
