//! Starts a jail: in namespaces by bubblewrap, or without them.

use assay_model::Isolation;

use crate::reachable::check_reachable;
use crate::{Child, Jail, JailSpec, SpawnError, namespaces, without_namespaces};

impl Jail {
    /// Starts a jailed process. Call it from a thread that outlives the child (see the crate's documentation).
    ///
    /// # Errors
    /// [`SpawnError`]. A program that cannot be executed is not an error: the child's exit and log show it.
    pub fn spawn(&self, spec: JailSpec) -> Result<Child, SpawnError> {
        check_sources(&spec)?;
        match self.isolation() {
            Isolation::Namespaces => namespaces::spawn(self, spec),
            Isolation::Landlock | Isolation::None => without_namespaces::spawn(self, spec),
        }
    }
}

fn check_sources(spec: &JailSpec) -> Result<(), SpawnError> {
    for bind in &spec.binds {
        if !bind.host.exists() {
            return Err(SpawnError::NoSource { path: bind.host.clone() });
        }
        check_reachable(&bind.host)?;
    }
    Ok(())
}
