//! The doctor's check of how policies start, for each runtime.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use assay_jail::{HostCheck, Jail, StrongestJail};
use assay_policy::{InstalledRuntime, PoolConfig, RuntimeLibrary, check_forking};

const NAME: &str = "start of policies";
const REMEDY: &str =
    "starting an interpreter takes longer than forking and changes no result; see `assay doctor --jail`";

/// Reports for each runtime whether its policies are forked, or interpreters of their own and why.
pub(super) fn check(library: &RuntimeLibrary) -> HostCheck {
    let rows: Vec<(String, Option<String>)> = library
        .list()
        .into_iter()
        .filter(|runtime| runtime.current)
        .map(|runtime| {
            let name = runtime.manifest.name.to_string();
            (name, reason(library, runtime).unwrap_or_else(|error| Some(format!("{error:#}"))))
        })
        .collect();
    summary(&rows)
}

/// Returns the reason why policies of the runtime are not forked; `None` if they are.
fn reason(library: &RuntimeLibrary, runtime: InstalledRuntime) -> Result<Option<String>> {
    let StrongestJail { jail, .. } = Jail::strongest()?;
    let isolation = jail.isolation();
    let work = tempfile::tempdir()?;
    fs::set_permissions(work.path(), fs::Permissions::from_mode(0o755))?;
    Ok(check_forking(PoolConfig { isolation, ..PoolConfig::new(0, library.open(runtime)?, work.path()) })?)
}

fn summary(rows: &[(String, Option<String>)]) -> HostCheck {
    let forked: Vec<&str> = rows.iter().filter(|(_, why)| why.is_none()).map(|(name, _)| name.as_str()).collect();
    let mut parts = Vec::new();
    if !forked.is_empty() {
        parts.push(format!("{}: forked from a process that has imported the runtime", forked.join(", ")));
    }
    for (name, why) in rows.iter().filter_map(|(name, why)| why.as_ref().map(|why| (name, why))) {
        parts.push(format!("{name}: an interpreter for each episode, because {why}"));
    }
    let holds = forked.len() == rows.len();
    let remedy = if holds { String::new() } else { REMEDY.to_owned() };
    HostCheck { name: NAME, holds, required: false, detail: parts.join("; "), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_that_cannot_be_forked_are_listed_with_their_reason() {
        let row = |name: &str, why: Option<&str>| (name.to_owned(), why.map(str::to_owned));
        let all = summary(&[row("base", None), row("onnx", None)]);
        assert!(all.holds && all.remedy.is_empty() && all.detail.starts_with("base, onnx: forked"), "{all:?}");
        let some = summary(&[row("base", None), row("jax", Some("its libraries leave 3 threads"))]);
        assert!(!some.holds && !some.required && some.remedy.contains("changes no result"), "{some:?}");
        assert!(some.detail.ends_with("; jax: an interpreter for each episode, because its libraries leave 3 threads"));
    }
}
