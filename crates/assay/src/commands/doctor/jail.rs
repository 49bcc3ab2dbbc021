//! `assay doctor --jail`: runs every known attack on the jail on this machine.

use std::fmt::Write;

use assay_model::{Isolation, RuntimeName};
use assay_policy::PoolConfig;
use assay_policy::attacks::{Attack, AttackReport, FenceCheck, Table, fences, run as attack};
use serde_json::{Value, json};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::screen;

/// Width of the column of names.
const NAME_COLUMNS: usize = 44;
/// The kind that selects the inspection of the jail.
const FENCES: &str = "fences";

/// The attacks to run, and where.
pub(super) struct JailAttacks<'a> {
    /// Only attacks of this kind.
    pub(super) only: Option<&'a str>,
    /// The tier to attack.
    pub(super) isolation: Isolation,
    /// The runtime of the attacking policies.
    pub(super) runtime: &'a RuntimeName,
    /// True if policies are forked where that is possible.
    pub(super) forks: bool,
}

pub(super) fn run(wanted: &JailAttacks<'_>, json: bool) -> Result<ExitStatus, Failure> {
    let JailAttacks { only, isolation, runtime, forks } = *wanted;
    let kinds = kinds()?;
    if let Some(kind) = only.filter(|kind| *kind != FENCES && !kinds.iter().any(|known| known == kind)) {
        return Err(Failure::Usage(anyhow::anyhow!(
            "there are no attacks of kind {kind:?}; the kinds are {FENCES}, {}",
            kinds.join(", ")
        )));
    }
    let runtimes = crate::commands::machine::installation()?.runtimes();
    let runtime = runtimes.open(runtimes.current(runtime).or_usage()?).or_internal()?;
    let work = tempfile::tempdir().or_internal()?;
    std::fs::set_permissions(work.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).or_internal()?;
    let config = PoolConfig { isolation, forks, ..PoolConfig::new(0, runtime, work.path()) };
    let mut results = JailResults {
        json,
        isolation,
        rows: Vec::new(),
        held: 0,
        weaker: 0,
        broken: 0,
        kind: String::new(),
        not_forked: None,
    };
    if only.is_none_or(|kind| kind == FENCES) {
        fences(config.clone()).or_internal()?.iter().for_each(|fence| results.add_fence(fence));
    }
    let wanted = |attack: &Attack| only.is_none_or(|kind| kind == attack.kind);
    results.not_forked =
        attack(config, &wanted, &mut |attack, report| results.add_attack(attack, report)).or_internal()?;
    results.finish();
    Ok(if results.broken == 0 { ExitStatus::Success } else { ExitStatus::Unsafe })
}

fn kinds() -> Result<Vec<String>, Failure> {
    let mut kinds: Vec<String> = Table::load().or_internal()?.attacks.into_iter().map(|attack| attack.kind).collect();
    kinds.dedup();
    Ok(kinds)
}

/// The results so far. Each row is printed as soon as it is known, or all rows as JSON at the end.
struct JailResults {
    json: bool,
    isolation: Isolation,
    rows: Vec<Value>,
    held: u32,
    /// Number of attacks that the tier is known not to stop.
    weaker: u32,
    broken: u32,
    /// The kind of the last row.
    kind: String,
    /// The reason why the policies were not forked.
    not_forked: Option<String>,
}

/// The result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowMark {
    Held,
    Weaker,
    Broken,
}

impl RowMark {
    fn of(holds: bool, is_weaker: bool) -> Self {
        match (holds, is_weaker) {
            (false, _) => Self::Broken,
            (true, true) => Self::Weaker,
            (true, false) => Self::Held,
        }
    }
}

impl JailResults {
    fn add_fence(&mut self, fence: &FenceCheck) {
        let row = json!({
            "kind": FENCES, "name": fence.name, "holds": fence.holds(), "weaker": fence.is_weaker,
            "expected": fence.expected, "outcome": fence.found, "left": [], "log": "",
        });
        let mark = RowMark::of(fence.holds(), fence.is_weaker);
        self.add_row(FENCES, &fence.name, mark, (&fence.found, &fence.expected), row);
    }

    fn add_attack(&mut self, attack: &Attack, report: &AttackReport) {
        let (expected, succeeds) = (attack.expected(report.variant), attack.succeeds(report.variant));
        let holds = report.holds(attack);
        let row = json!({
            "kind": attack.kind, "name": attack.name, "holds": holds, "weaker": succeeds, "expected": expected,
            "outcome": report.outcome, "left": report.left, "log": report.log,
        });
        let outcome = match report.left.as_slice() {
            [] => report.outcome.clone(),
            left => format!("{}; left behind: {}", report.outcome, left.join(", ")),
        };
        self.add_row(&attack.kind, &attack.name, RowMark::of(holds, succeeds), (&outcome, expected), row);
    }

    fn add_row(&mut self, kind: &str, name: &str, mark: RowMark, (outcome, expected): (&str, &str), row: Value) {
        match mark {
            RowMark::Held => self.held += 1,
            RowMark::Weaker => self.weaker += 1,
            RowMark::Broken => self.broken += 1,
        }
        if self.json {
            self.rows.push(row);
            return;
        }
        let mut text = String::new();
        if self.kind != kind {
            kind.clone_into(&mut self.kind);
            let _ = writeln!(text, "{kind}");
        }
        let outcome = if outcome.is_empty() { "none" } else { outcome };
        let (mark, outcome) = match mark {
            RowMark::Held => ("ok  ", outcome.to_owned()),
            RowMark::Weaker => ("weak", outcome.to_owned()),
            RowMark::Broken => ("FAIL", format!("{outcome} (expected: {expected})")),
        };
        text.push_str(&screen::layout().facts(&[(format!("{mark}  {name:<NAME_COLUMNS$}"), outcome)], 2));
        crate::commands::stdout::print(&text);
    }

    fn finish(&self) {
        if self.json {
            let all = json!({
                "holds": self.broken == 0, "isolation": self.isolation, "held": self.held, "weaker": self.weaker,
                "broken": self.broken, "forked": self.not_forked.is_none(), "not_forked_because": self.not_forked,
                "rows": self.rows,
            });
            crate::commands::stdout::print(&format!("{all:#}"));
            return;
        }
        print_conclusion(&match &self.not_forked {
            None => "Policies are forked from a process that has imported their runtime.".to_owned(),
            Some(why) => {
                format!("Policies are started as interpreters of their own, which takes longer than forking: {why}.")
            }
        });
        if self.broken == 0 && self.weaker > 0 {
            print_conclusion(&format!(
                "{} fences and attacks gave the expected result; {} (weak) are known not to hold in the tier {}.",
                self.held, self.weaker, self.isolation
            ));
        } else if self.broken == 0 {
            print_conclusion(&format!("All {} fences and attacks gave the expected result.", self.held));
        } else {
            let all = self.held + self.weaker + self.broken;
            print_conclusion(&format!(
                "{} of {all} fences and attacks gave a wrong result. Do not run untrusted policies on this machine.",
                self.broken
            ));
        }
    }
}

/// Prints a paragraph at the end.
fn print_conclusion(text: &str) {
    crate::commands::stdout::print(&format!("\n{}", screen::layout().paragraph(text, 0)));
}
