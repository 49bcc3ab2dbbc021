//! `assay scenario check`: checks that a scenario can be used.

use assay_model::lane::{Figures, ScenarioCheck};
use assay_model::{DrawnRange, ImageCost, Isolation, ONE_WORLD};
use assay_scenario::{Library, Scenario};
use assay_worker::Installation;
use serde_json::json;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::screen;

/// Maximum number of distributions that are listed as text.
const SHOWN_RANGES: usize = 16;

pub(super) fn run(installation: &Installation, path: &str, json: bool) -> Result<ExitStatus, Failure> {
    // Found without opening the library, which may contain broken scenarios.
    let folder = Library::folder(&installation.scenarios(), path).or_usage()?;
    let engine = super::super::machine::service_engine(installation, Some(1), Isolation::Namespaces)?;
    let checked = assay_worker::check(&engine, &folder, &installation.robots()).or_internal()?;
    let ok = checked.fault.is_none();
    let scenario = Scenario::load(&folder, &installation.robots()).ok();
    let images = scenario.as_ref().and_then(Scenario::image_cost);
    let drawn = scenario.as_ref().map(Scenario::drawn_ranges);
    let warnings: Vec<&str> = drawn.iter().filter(|drawn| drawn.is_empty()).map(|_| ONE_WORLD).collect();
    if json {
        let answer = json!({ "ok": ok, "path": path, "fault": checked.fault, "figures": checked.figures,
                             "images": images, "drawn_ranges": drawn, "warnings": warnings });
        super::super::stdout::print(&serde_json::to_string_pretty(&answer).or_internal()?);
    } else {
        super::super::stdout::print(&text(path, &checked, images, drawn.as_deref()));
    }
    Ok(if ok { ExitStatus::Success } else { ExitStatus::Unsafe })
}

fn text(path: &str, checked: &ScenarioCheck, images: Option<ImageCost>, drawn: Option<&[DrawnRange]>) -> String {
    let screen = screen::layout();
    if let Some(fault) = &checked.fault {
        let key = fault.key.as_ref().map(|key| format!(": {key}")).unwrap_or_default();
        let fault = screen.paragraph(&format!("{}{key}: {}", fault.file, fault.problem), 2);
        return format!("{path}: can't be used\n{fault}");
    }
    let mut lines: Vec<String> = checked.figures.iter().flat_map(figures).collect();
    lines.extend(drawn.map(|drawn| match drawn {
        [] => format!("warning: {ONE_WORLD}"),
        drawn => {
            let shown: Vec<String> = drawn.iter().take(SHOWN_RANGES).map(ToString::to_string).collect();
            let more = drawn.len().saturating_sub(SHOWN_RANGES);
            let more = if more > 0 { format!("; and {more} more (--json lists them)") } else { String::new() };
            format!("draws for each episode: {}{more}", shown.join("; "))
        }
    }));
    lines.extend(images.map(|cost| {
        let measured = checked.figures.map_or(0.0, |figures| figures.observation_cpu_s_per_s);
        let cost = cost.summary();
        format!("images: {cost}; measured here: {measured:.2} s of CPU time for all observations of a second")
    }));
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
