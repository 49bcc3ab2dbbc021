//! `assay scenario check`: checks that a scenario can be used.

use assay_model::Isolation;
use assay_model::lane::{Figures, ScenarioCheck};
use assay_scenario::Library;
use assay_worker::Installation;
use serde_json::json;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::screen;

pub(super) fn run(installation: &Installation, path: &str, json: bool) -> Result<ExitStatus, Failure> {
    // Found without opening the library, which may contain broken scenarios.
    let folder = Library::folder(&installation.scenarios(), path).or_usage()?;
    let engine = super::super::machine::engine(installation, Some(1), Isolation::Namespaces)?;
    let checked = assay_worker::check(&engine, &folder, &installation.robots()).or_internal()?;
    let ok = checked.fault.is_none();
    if json {
        let answer = json!({ "ok": ok, "path": path, "fault": checked.fault, "figures": checked.figures });
        super::super::stdout::print(&serde_json::to_string_pretty(&answer).or_internal()?);
    } else {
        super::super::stdout::print(&text(path, &checked));
    }
    Ok(if ok { ExitStatus::Success } else { ExitStatus::Unsafe })
}

fn text(path: &str, checked: &ScenarioCheck) -> String {
    let screen = screen::layout();
    if let Some(fault) = &checked.fault {
        let key = fault.key.as_ref().map(|key| format!(": {key}")).unwrap_or_default();
        let fault = screen.paragraph(&format!("{}{key}: {}", fault.file, fault.problem), 2);
        return format!("{path}: can't be used\n{fault}");
    }
    let lines = checked.figures.as_ref().map(figures).unwrap_or_default();
    let lines: String = lines.iter().map(|line| screen.paragraph(line, 2)).collect();
    format!("{path}: ok\n{lines}")
}

fn figures(figures: &Figures) -> [String; 3] {
    let Figures { compile_ms, bodies, geoms, degrees_of_freedom, worlds, .. } = figures;
    let Figures { smoke_s, real_time_factor, most_contacts, .. } = figures;
    [
        format!(
            "compiled in {compile_ms:.0} ms: {bodies} bodies, {geoms} geoms, {degrees_of_freedom} degrees of freedom"
        ),
        format!("drew {worlds} worlds; no clause is violated at their start"),
        format!(
            "ran {smoke_s:.1} s without any action: {real_time_factor:.1} times as fast as real time, at most \
             {most_contacts} contacts"
        ),
    ]
}
