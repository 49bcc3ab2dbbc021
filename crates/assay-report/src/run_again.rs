//! Command that repeats the episodes of a job.

use assay_model::{JobReport, sanitise};

/// Parts of a command that repeats the same episodes from any folder; the report itself contains only names.
#[derive(Debug, Clone)]
pub struct RunAgain {
    /// Words before the arguments: environment variables and the program.
    pub program: Vec<String>,
    /// Path of the policy; `None` uses the name in the report.
    pub policy: Option<String>,
    /// Id or path of the scenario.
    pub scenario: String,
    /// Further options.
    pub options: Vec<String>,
}

/// Returns the policy (an archive, a folder, a script, an address) as a word of a shell command. Unusual file names are
/// replaced by a placeholder.
pub(crate) fn policy_word(report: &JobReport) -> String {
    let ordinary = |c: char| c.is_alphanumeric() || " ._-+,=@:/()~%?[]".contains(c);
    let name = &report.policy_name;
    let name = if name.chars().all(ordinary) { name.as_str() } else { "policy.zip" };
    // A name that starts with a hyphen would be read as an option, unless a folder precedes it.
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    shlex::try_quote(&name).map_or_else(|_| "policy".to_owned(), std::borrow::Cow::into_owned)
}

/// Returns the command that repeats the same episodes, to be run in the folder of the policy.
pub(crate) fn reproduce(report: &JobReport) -> String {
    verify(report, "assay", &policy_word(report), report.scenario.as_str())
}

/// Returns the command that repeats the same episodes, from any folder.
pub(crate) fn command(report: &JobReport, again: &RunAgain) -> String {
    let policy = again.policy.as_deref().map_or_else(|| policy_word(report), quoted);
    let mut command = verify(report, &shell_words(&again.program), &policy, &quoted(&again.scenario));
    if !again.options.is_empty() {
        command.push(' ');
        command.push_str(&shell_words(&again.options));
    }
    command
}

/// Returns words as a shell command that can be copied from a terminal.
#[must_use]
pub fn shell_words(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    // Text that a terminal does not show verbatim cannot be copied from it, and quoting would not protect against it.
    let is_shown = sanitise(text, usize::MAX) == text && !text.contains(['\n', '\t']);
    match shlex::try_quote(text) {
        Ok(word) if is_shown => word.into_owned(),
        _ => "'(a name that cannot be shown)'".to_owned(),
    }
}

fn verify(report: &JobReport, program: &str, policy: &str, scenario: &str) -> String {
    let mut command = format!(
        "{program} verify {policy} --scenario {scenario} --episodes {} --seed {}",
        report.num_episodes, report.seed
    );
    if let Some(key) = &report.policy_key {
        command.push_str(&format!(" --policy-key {}", key.to_hex()));
    }
    if let Some(steps) = report.replan_steps {
        command.push_str(&format!(" --replan-steps {steps}"));
    }
    if let Some(statistics) = &report.statistics
        && let Some(target) = statistics.target
    {
        command
            .push_str(&format!(" --max-violation-probability {target} --confidence {}", statistics.confidence_level));
    }
    command
}
