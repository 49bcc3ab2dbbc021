//! `assay runtime check`: the self-test in the jail.

use assay_jail::{Jail, StrongestJail};
use assay_policy::{RuntimeLibrary, SelfTest, self_test};
use serde_json::{Value, json};

use super::place::find;
use crate::exit::{ExitStatus, Failure, OrFail};

pub(super) fn check(library: &RuntimeLibrary, wanted: &str, json: bool) -> Result<ExitStatus, Failure> {
    let installed = find(library, wanted)?;
    let (name, runtime) = (installed.manifest.name.clone(), library.open(installed).or_internal()?);
    let outcome = self_test(&jail()?, &runtime).or_internal()?;
    if json {
        let failures: Vec<Value> = outcome
            .failures
            .iter()
            .map(|one| json!({ "module": one.module, "error": one.error, "advice": one.advice }))
            .collect();
        let shown = json!({ "runtime": name, "modules": outcome.tried, "failures": failures });
        crate::commands::stdout::print(&serde_json::to_string_pretty(&shown).or_internal()?);
    } else {
        crate::commands::stdout::print(text(&outcome).trim_end());
    }
    Ok(if outcome.failures.is_empty() { ExitStatus::Success } else { ExitStatus::Unsafe })
}

/// Returns the jail of policies, in the strongest tier that this machine offers.
pub(super) fn jail() -> Result<Jail, Failure> {
    let StrongestJail { jail, .. } = Jail::strongest().or_internal()?;
    Ok(jail)
}

/// Returns the outcome as text for people.
pub(super) fn text(outcome: &SelfTest) -> String {
    let SelfTest { tried, failures } = outcome;
    if failures.is_empty() {
        return format!("every module can be imported in the jail ({tried} tried)");
    }
    let mut text = format!("{} of {tried} modules cannot be imported in the jail:\n", failures.len());
    for failure in failures {
        text.push_str(&format!("  {}: {}\n", failure.module, failure.error));
        if let Some(advice) = failure.advice {
            text.push_str(&format!("    {advice}\n"));
        }
    }
    text
}
