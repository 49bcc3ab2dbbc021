//! Models that policies declare besides the files in their folder.

use std::io;

use assay_jail::{ClosedPath, check_reachable, open_to_jail};
use assay_policy::{PolicyHome, PolicyModel};
use assay_store::{ModelFile, ModelFiles};

use crate::Engine;

/// The reason why policies cannot use models of this machine.
#[derive(Debug, thiserror::Error)]
pub enum ModelsNotRun {
    /// The user that jails run as cannot reach them.
    #[error("policies can't read models")]
    Closed(#[from] ClosedPath),
    /// A model cannot be read.
    #[error("could not prepare a model for a policy")]
    Io(#[from] io::Error),
}

impl Engine {
    /// Checks that jails can read the models in `files`; if this process is root, gives the jails' group access.
    ///
    /// # Errors
    /// [`ModelsNotRun`], for the operator.
    pub fn runs_models(&self, files: &ModelFiles) -> Result<(), ModelsNotRun> {
        let (folder, data) = (files.path(), files.data());
        open_to_jail(folder, data)?;
        Ok(check_reachable(folder).or_else(|closed| if closed.at == folder { Ok(()) } else { Err(closed) })?)
    }

    /// Returns the home of a policy with these models, which its jails see at their paths in the policy's folder.
    ///
    /// # Errors
    /// [`ModelsNotRun`], for the operator.
    pub fn policy_home(&self, models: &[ModelFile]) -> Result<PolicyHome, ModelsNotRun> {
        let models = models.iter().map(|model| {
            open_to_jail(&model.host, &model.data)?;
            check_reachable(&model.host)?;
            Ok(PolicyModel::new(&model.path, &model.host)?)
        });
        Ok(PolicyHome::with_models(models.collect::<Result<_, ModelsNotRun>>()?))
    }
}
