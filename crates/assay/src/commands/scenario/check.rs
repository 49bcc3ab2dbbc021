//! `assay scenario check`: whether a scenario can be used, and what is wrong where it can't.

use std::path::{Path, PathBuf};

use assay_model::Isolation;
use assay_model::lane::{Checked, Figures};
use assay_worker::Installation;
use serde_json::json;

use crate::exit::{Code, Failure, OrFail};

pub(super) fn run(installation: &Installation, path: &str, json: bool) -> Result<Code, Failure> {
    let folder = folder(installation, path)?;
    let engine = super::super::engine(installation, Some(1), Isolation::Namespaces)?;
    let checked = assay_worker::check(&engine, &folder, &installation.robots()).ours()?;
    let ok = checked.fault.is_none();
    if json {
        let answer = json!({ "ok": ok, "path": path, "fault": checked.fault, "figures": checked.figures });
        super::super::print(&serde_json::to_string_pretty(&answer).ours()?);
    } else {
        super::super::print(&text(path, &checked));
    }
    Ok(if ok { Code::Success } else { Code::Unsafe })
}

/// A folder as it is, or the built-in scenario of that id; the library need not be whole for it.
fn folder(installation: &Installation, path: &str) -> Result<PathBuf, Failure> {
    let built_in = installation.scenarios().join(path);
    if Path::new(path).is_dir() {
        // The checker has another working directory.
        return Path::new(path).canonicalize().usage();
    }
    if built_in.is_dir() {
        return Ok(built_in);
    }
    Err(anyhow::anyhow!("{path:?} is neither a folder nor the id of a built-in scenario")).usage()
}

fn text(path: &str, checked: &Checked) -> String {
    if let Some(fault) = &checked.fault {
        let key = fault.key.as_ref().map(|key| format!(": {key}")).unwrap_or_default();
        return format!("{path}: can't be used\n  {}{key}: {}\n", fault.file, fault.problem);
    }
    let figures = checked.figures.as_ref().map(figures).unwrap_or_default();
    format!("{path}: ok\n{figures}")
}

fn figures(figures: &Figures) -> String {
    let Figures { compile_ms, bodies, geoms, degrees_of_freedom, worlds, .. } = figures;
    let Figures { smoke_s, real_time_factor, most_contacts, .. } = figures;
    format!(
        "  compiled in {compile_ms:.0} ms: {bodies} bodies, {geoms} geoms, {degrees_of_freedom} degrees of freedom\n  \
         drew {worlds} worlds; no clause is violated at their start\n  \
         ran {smoke_s:.1} s without any action: {real_time_factor:.1} times as fast as real time, at most {most_contacts} \
         contacts\n"
    )
}
