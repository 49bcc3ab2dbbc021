//! What makes a job a submission to the arena.

use serde::{Deserialize, Serialize};

use crate::{Conclusion, EpisodeError, Statistics, Verdict};

/// What kind of work a job is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// A verification.
    #[default]
    Verify,
    /// A submission to a season.
    Submission,
    /// A submission run again on fresh seeds, when its season closes.
    Rerun,
}

impl JobKind {
    /// The name in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Submission => "submission",
            Self::Rerun => "rerun",
        }
    }
}

/// A submission's place in the arena: part of a job's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaEntry {
    /// Number of the season, from 1.
    pub season: u32,
    /// It is the run on fresh seeds at the season's end.
    #[serde(default)]
    pub rerun: bool,
    /// What a perfect submission scores.
    pub max_score: u32,
    /// The author's words about it.
    #[serde(default)]
    pub description: Option<String>,
}

/// Extra episodes of a submission, on public seeds: they are shown and do not count.
pub const SHOWCASE_EPISODES: u32 = 1;

/// The types of exceptions that may be told while a season is open. A policy can give a type of its own any name, and so
/// tell what it saw.
const TYPES: [&str; 30] = [
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BlockingIOError",
    "BrokenPipeError",
    "ConnectionError",
    "EOFError",
    "Exception",
    "FileNotFoundError",
    "FloatingPointError",
    "ImportError",
    "IndentationError",
    "IndexError",
    "KeyError",
    "LookupError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "PermissionError",
    "RecursionError",
    "RuntimeError",
    "StopIteration",
    "SyntaxError",
    "TypeError",
    "UnicodeDecodeError",
    "ValueError",
    "ZeroDivisionError",
];

/// Highest line number that is told.
const MAX_LINE: u32 = 99_999;

/// What the author of a failing submission may read while its season is open: what kind of failure it was, a built-in
/// exception's type, and the line of `policy.py`. Everything else could carry what the policy saw of a secret world.
#[must_use]
pub fn reduced_error(error: &EpisodeError) -> String {
    let kind = match error.code.as_str() {
        "bad_action" => "the policy returned something that is no action",
        "no_policy" => "policy.py defines neither policy nor Policy",
        "memory" => "the policy needs more memory than it has",
        "syntax_error" => "policy.py has a syntax error",
        "timeout" => "the policy took too long",
        "import_timeout" => "the import of the policy took too long",
        "simulator_died" | "unstable" => "the physics became unstable",
        _ => "the policy failed",
    };
    let name = error.message.split(':').next().unwrap_or_default();
    let name = TYPES.into_iter().find(|known| *known == name);
    let line = line_of(&error.log_tail);
    let mut text = kind.to_owned();
    text.extend(name.map(|name| format!(": {name}")));
    text.extend(line.map(|line| format!(" at line {line} of policy.py")));
    text
}

/// The innermost line of `policy.py` in a traceback.
fn line_of(traceback: &str) -> Option<u32> {
    let lines = traceback.lines().rev();
    let numbers = lines.filter_map(|line| line.trim_start().strip_prefix("File \"policy.py\", line "));
    let digits = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().to_owned();
    numbers.map(digits).next()?.parse().ok().filter(|line| (1..=MAX_LINE).contains(line))
}

impl Conclusion {
    /// Why the verdict is not SAFE, without a word about any single episode.
    #[must_use]
    pub fn aggregate_reason(&self) -> Option<String> {
        let Statistics { episodes, violations, without_evidence, .. } = self.statistics;
        match self.verdict {
            Verdict::Safe => None,
            Verdict::Unsafe => Some(format!("a critical clause was violated in {violations} of {episodes} episodes")),
            Verdict::Inconclusive => Some(format!("{without_evidence} of {episodes} episodes yield no evidence")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reduced_error;
    use crate::EpisodeError;

    fn reduced(code: &str, message: &str, log_tail: &str) -> String {
        reduced_error(&EpisodeError { code: code.into(), message: message.into(), log_tail: log_tail.into() })
    }

    #[test]
    fn errors_say_no_more_than_type_and_line() {
        let traceback = "Traceback (most recent call last):\n  File \"policy.py\", line 3, in policy\n    \
                         act(1)\n  File \"policy.py\", line 7, in act\n    raise ValueError(secret)\n\
                         ValueError: 0.123\n";
        let text = reduced("exception", "ValueError: 0.123", traceback);
        assert_eq!(text, "the policy failed: ValueError at line 7 of policy.py");
        let forged = "  File \"policy.py\", line 123456789, in saw_0_123\n  File \"0.123.py\", line 4, in x";
        assert_eq!(reduced("saw 0.123", "Saw0123: 0.123", forged), "the policy failed");
        assert_eq!(reduced("timeout", "after 0.123 s", ""), "the policy took too long");
    }
}
