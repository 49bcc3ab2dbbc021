//! `assay runtime show`.

use std::fmt::Write;

use assay_policy::RuntimeLibrary;
use serde_json::json;

use super::place::find;
use crate::exit::{ExitStatus, Failure, OrFail};

pub(super) fn show(library: &RuntimeLibrary, wanted: &str, json: bool) -> Result<ExitStatus, Failure> {
    let runtime = find(library, wanted)?;
    let manifest = &runtime.manifest;
    if json {
        let mut shown = serde_json::to_value(manifest.card(runtime.current)).or_internal()?;
        shown["env"] = json!(manifest.env);
        shown["address_space_bytes"] = json!(manifest.address_space_bytes);
        shown["folder"] = json!(runtime.folder);
        crate::commands::stdout::print(&serde_json::to_string_pretty(&shown).or_internal()?);
        return Ok(ExitStatus::Success);
    }
    let mut text = String::new();
    let version = if runtime.current { "current" } else { "an earlier version" };
    let _ = writeln!(text, "{} ({version})", manifest.name);
    let _ = writeln!(text, "sha256:   {}", manifest.sha256);
    let _ = writeln!(text, "folder:   {} ({} MB)", runtime.folder.display(), manifest.size_bytes / 1_000_000);
    let _ = writeln!(text, "Python:   {}", manifest.python);
    let _ = writeln!(text, "imported before a policy: {}", or_none(manifest.imports.join(", ")));
    let settings: Vec<_> = manifest.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _ = writeln!(text, "settings: {}", or_none(settings.join(" ")));
    let _ = writeln!(text, "packages:");
    for (name, version) in &manifest.packages {
        let _ = writeln!(text, "  {name} {version}");
    }
    crate::commands::stdout::print(text.trim_end());
    Ok(ExitStatus::Success)
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}
