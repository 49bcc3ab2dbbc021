//! A policy made of a checkpoint and its map: a folder with the map as `policy.toml` and the checkpoint where it says.
//!
//! The same folder, packed, can be submitted to a service.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use assay_policy::{AdapterKind, IntakeLimits, PolicyDeclaration};

/// Maximum number of files of a checkpoint. LeRobot writes seven.
const MAX_FILES: usize = 256;
/// Maximum size of a map, in bytes: one more than any that is accepted.
const MAX_MAP_BYTES: u64 = 1 << 20;

/// Creates the folder `to` from the files in `checkpoint`, and `map`. Links to files are followed, because caches of
/// downloads consist of them.
///
/// # Errors
/// A problem of the given files, for the user.
pub(crate) fn create(checkpoint: &Path, map: &Path, to: &Path) -> anyhow::Result<()> {
    let shown = |path: &Path| path.display().to_string();
    let about = fs::metadata(map).with_context(|| format!("--map {}", shown(map)))?;
    if !about.is_file() || about.len() > MAX_MAP_BYTES {
        bail!("--map {}: give a file with the table [adapter] (see docs/adapters.md)", shown(map));
    }
    let text = fs::read(map).with_context(|| format!("--map {}", shown(map)))?;
    let declaration = PolicyDeclaration::read(None, Some(&text));
    let declaration = declaration.map_err(|(_, problem)| anyhow!(problem).context(format!("--map {}", shown(map))))?;
    let place = match declaration.adapter.map(|adapter| adapter.kind) {
        Some(AdapterKind::Lerobot { checkpoint }) => checkpoint,
        Some(AdapterKind::Onnx { .. }) => {
            bail!("--map {}: it is a map of kind \"onnx\", but --adapter lerobot was given", shown(map))
        }
        None => bail!("--map {}: it has no table [adapter] (see docs/adapters.md)", shown(map)),
    };
    if !is_plain(&place) {
        bail!("--map {}: adapter.checkpoint is {place:?}; use the name of a folder, or leave it out", shown(map));
    }
    if !checkpoint.is_dir() {
        bail!("{}: --adapter lerobot takes the folder of a checkpoint, with its config.json", shown(checkpoint));
    }
    fs::create_dir_all(to.join(&place))?;
    fs::write(to.join("policy.toml"), &text)?;
    copy(checkpoint, &to.join(&place)).with_context(|| shown(checkpoint))
}

fn is_plain(place: &str) -> bool {
    !place.is_empty() && !place.starts_with('.') && !place.contains(['/', '\\', '\0'])
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let limit = IntakeLimits::default().unpacked_bytes;
    let mut left = limit;
    for (index, entry) in fs::read_dir(from)?.enumerate() {
        if index >= MAX_FILES {
            bail!("it has more than {MAX_FILES} files; give the folder `pretrained_model` of one checkpoint");
        }
        let entry = entry?;
        if entry.path().is_file() {
            // Counted as it is copied: the length of a file may change, or be far more than it has on the disk.
            let mut file = File::open(entry.path())?.take(left.saturating_add(1));
            let copied = std::io::copy(&mut file, &mut File::create(to.join(entry.file_name()))?)?;
            left = left.checked_sub(copied).with_context(|| {
                let name = entry.file_name();
                format!("with {} it has more than {} MiB", name.display(), limit >> 20)
            })?;
        }
    }
    Ok(())
}
