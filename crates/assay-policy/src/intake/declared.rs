//! Collects the text of the files in which a policy declares its runtime, while they are read.

use std::path::{Path, PathBuf};

use super::error::IntakeError;
use super::limits::IntakeLimits;
use super::names::no_main;
use super::write::Observer;
use crate::PolicyDeclaration;
use crate::runtime::{DECLARATION_FILE, MAX_DECLARATION_BYTES, SCRIPT_FILE};

/// The text collected so far.
#[derive(Debug, Default)]
pub(super) struct DeclarationText {
    script: Option<Vec<u8>>,
    toml: Option<Vec<u8>>,
}

/// An observer of one file, which may be one of those.
pub(super) struct DeclarationObserver<'a>(Option<&'a mut Vec<u8>>);

impl Observer for DeclarationObserver<'_> {
    fn update(&mut self, bytes: &[u8]) {
        if let Some(text) = &mut self.0 {
            // One byte more than the limit shows that there is more.
            let room = (MAX_DECLARATION_BYTES + 1).saturating_sub(text.len());
            text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}

impl DeclarationText {
    /// Returns the observer of the file with this path in the policy's folder.
    pub(super) fn file(&mut self, path: &Path) -> DeclarationObserver<'_> {
        DeclarationObserver(match path.to_str() {
            Some(SCRIPT_FILE) => Some(self.script.insert(Vec::new())),
            Some(DECLARATION_FILE) => Some(self.toml.insert(Vec::new())),
            _ => None,
        })
    }

    /// Reads the declaration of the policy with these `files`, which has code or an adapter.
    pub(super) fn read(&self, files: &[PathBuf], limits: &IntakeLimits) -> Result<PolicyDeclaration, IntakeError> {
        if !limits.reads_declaration {
            return Ok(PolicyDeclaration::default());
        }
        let declaration = PolicyDeclaration::read(self.script.as_deref(), self.toml.as_deref())
            .map_err(|(file, problem)| IntakeError::Declaration { file, problem })?;
        if self.script.is_none() && declaration.adapter.is_none() {
            return Err(no_main(files, limits.content));
        }
        Ok(declaration)
    }
}
