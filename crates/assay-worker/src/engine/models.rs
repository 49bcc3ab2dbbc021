//! Models that policies declare besides the files in their folder.

use assay_model::{DeclaredModel, sanitise};

use crate::Engine;

/// Maximum length of a displayed path, in bytes.
const SHOWN_PATH_BYTES: usize = 200;

/// The reason why a policy with models cannot run here; a message for its author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the policy declares the model '{path}', which is not among its files: this version of assay stores models, but cannot \
     pass them to policies yet; put the file into the policy's folder or archive"
)]
pub struct ModelsNotRun {
    /// The declared path of the first model, sanitised.
    path: String,
}

impl Engine {
    /// Checks that policies with these models, none of which are in the policy's folder, can run here. This is the only
    /// place that decides it: intake, preflights, replays and the command line ask here.
    ///
    /// # Errors
    /// [`ModelsNotRun`], until jails bind [`crate::PolicyFolder::models`].
    pub fn runs_models(&self, models: &[DeclaredModel]) -> Result<(), ModelsNotRun> {
        match models.first() {
            None => Ok(()),
            Some(first) => Err(ModelsNotRun { path: sanitise(&first.path, SHOWN_PATH_BYTES) }),
        }
    }
}
