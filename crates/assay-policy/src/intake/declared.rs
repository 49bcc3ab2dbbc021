//! Collects the text of the files in which a policy declares its runtime, while they are read.

use std::path::Path;

use super::error::IntakeError;
use super::limits::IntakeLimits;
use super::write::Observer;
use crate::PolicyDeclaration;
use crate::runtime::MAX_DECLARATION_BYTES;

const SCRIPT: &str = "policy.py";
const DECLARATION: &str = "policy.toml";

/// The text collected so far.
#[derive(Debug, Default)]
pub(super) struct DeclarationText {
    script: Vec<u8>,
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
            Some(SCRIPT) => Some(&mut self.script),
            Some(DECLARATION) => Some(self.toml.insert(Vec::new())),
            _ => None,
        })
    }

    /// Reads the declaration.
    pub(super) fn read(&self, limits: &IntakeLimits) -> Result<PolicyDeclaration, IntakeError> {
        if !limits.reads_declaration {
            return Ok(PolicyDeclaration::default());
        }
        PolicyDeclaration::read(&self.script, self.toml.as_deref())
            .map_err(|(file, problem)| IntakeError::Declaration { file, problem })
    }
}
