//! The adapter of an accepted policy, read from its folder.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::checkpoint::Checkpoint;
use super::declaration::{AdapterKind, PolicyAdapter};
use super::error::AdapterError;
use super::limits::MAX_JSON_BYTES;
use crate::runtime::{DECLARATION_FILE, MAX_DECLARATION_BYTES, PolicyDeclaration, SCRIPT_FILE};

impl PolicyAdapter {
    /// Reads the adapter of the policy in `folder` (created by [`crate::intake`]), with the number of executed actions
    /// that the checkpoint states. `None` for a policy with code.
    ///
    /// # Errors
    /// A message for the author: the policy was accepted by a version of assay that allows something else.
    pub fn of_folder(folder: &Path) -> Result<Option<Self>, String> {
        if folder.join(SCRIPT_FILE).is_file() {
            return Ok(None);
        }
        let of = |file: &'static str| move |error: io::Error| format!("{file}: {error}");
        let text = match read(&folder.join(DECLARATION_FILE), MAX_DECLARATION_BYTES + 1) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(of(DECLARATION_FILE)(error)),
        };
        let declaration = PolicyDeclaration::read(None, Some(&text));
        let declaration = declaration.map_err(|(file, problem)| format!("{file}: {problem}"))?;
        let Some(mut adapter) = declaration.adapter else { return Ok(None) };
        if let (AdapterKind::Lerobot { checkpoint }, None) = (&adapter.kind, adapter.action.replan_steps) {
            let name = format!("{checkpoint}/config.json");
            let text = read(&folder.join(&name), MAX_JSON_BYTES).map_err(|error| format!("{name}: {error}"))?;
            let config = Checkpoint::parse(&name, &text).map_err(|error: AdapterError| error.to_string())?;
            adapter.action.replan_steps = Some(config.n_action_steps);
        }
        Ok(Some(adapter))
    }
}

impl PolicyDeclaration {
    /// Returns the number of actions of an answer that the policy in `folder` (created by [`crate::intake`]) declares
    /// to be executed before it is asked again. `None` for all of them.
    #[must_use]
    pub fn replan_steps_of(folder: &Path) -> Option<u32> {
        let text = |name| read(&folder.join(name), MAX_DECLARATION_BYTES + 1).ok();
        match text(SCRIPT_FILE) {
            Some(script) => Self::read(Some(&script), text(DECLARATION_FILE).as_deref()).ok()?.replan_steps,
            None => PolicyAdapter::of_folder(folder).ok()??.action.replan_steps,
        }
    }
}

fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
