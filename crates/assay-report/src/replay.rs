//! Result of a replay, for people and for programs.

use std::fmt::Write;

use assay_model::{Comparison, Difference, DifferenceCause, FingerprintDifference, Sha256Digest};
use serde::Serialize;

/// Replay of one episode, compared with the recording row by row and hash by hash.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ReplayReport {
    /// True if recording and replay are bit-identical.
    pub same: bool,
    /// Index of the episode in the job.
    pub episode: u32,
    /// Trace hash in the report, 64 hexadecimal digits; `null` if it has none.
    pub recorded_trace_hash: Option<Sha256Digest>,
    /// Trace hash of the replay, 64 hexadecimal digits; `null` if it has none.
    pub replayed_trace_hash: Option<Sha256Digest>,
    /// Differences between the fingerprints of the report and of this machine, which may explain all other differences.
    pub fingerprint_differences: Vec<FingerprintDifference>,
    /// Comparison of the two recordings.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl ReplayReport {
    /// Describes the replay in text, one line per fact.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.fingerprint_differences {
            let _ = writeln!(text, "{} was {} when recorded and is {} here", part.name, part.recorded, part.replayed);
        }
        match &self.comparison.difference {
            None => {
                let steps = self.comparison.recorded_steps;
                let hash = self.recorded_trace_hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string());
                let _ = writeln!(text, "episode {}: bit-identical, {steps} control steps", self.episode);
                let _ = writeln!(text, "trace hash {hash}");
            }
            Some(difference) => {
                let _ = writeln!(text, "episode {}: differs from {}", self.episode, place(difference));
                let _ = writeln!(text, "{}", numbers(difference));
                let _ = writeln!(text, "{}", meaning(difference, !self.fingerprint_differences.is_empty()));
            }
        }
        text
    }
}

fn place(difference: &Difference) -> String {
    match difference.cause {
        DifferenceCause::World => "the start".to_owned(),
        _ => format!("control step {} onwards ({:.3} s)", difference.control_step, difference.time_s),
    }
}

fn numbers(difference: &Difference) -> String {
    let quantity = &difference.quantity;
    match (difference.recorded, difference.replayed) {
        (Some(recorded), Some(replayed)) if quantity == "length" => {
            format!("{recorded} physics steps were recorded, {replayed} replayed")
        }
        (Some(recorded), Some(replayed)) => format!("{quantity} was {recorded} and is now {replayed}"),
        _ => format!("{quantity} differs"),
    }
}

/// Explains the first difference.
fn meaning(difference: &Difference, other_machine: bool) -> &'static str {
    match (difference.cause, other_machine) {
        (DifferenceCause::World, _) => {
            "a different world was drawn: the scenario, the seed or the version of assay is not that of the report"
        }
        (DifferenceCause::Policy, false) => {
            "the policy answered the same observations differently: it is not deterministic (unseeded or system random \
             numbers, the time, the order of a set)"
        }
        (DifferenceCause::Policy, true) => {
            "the policy answered the same observations differently: its libraries compute differently here (see \
             above), or it is not deterministic"
        }
        (DifferenceCause::Recording, _) => {
            "the recording is forged: its trace hashes, which follow from states and actions, are those of the replay, but \
             this part of it is not"
        }
        (DifferenceCause::Physics, true) => {
            "the same actions led to a different state: the engine is not the same (see above)"
        }
        (DifferenceCause::Physics, false) => {
            "the same actions led to a different state on the same engine: report this as a bug"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(difference: Option<Difference>) -> ReplayReport {
        ReplayReport {
            same: difference.is_none(),
            episode: 2,
            recorded_trace_hash: Some(Sha256Digest::new([0xab; 32])),
            replayed_trace_hash: Some(Sha256Digest::new([0xcd; 32])),
            fingerprint_differences: Vec::new(),
            comparison: Comparison { recorded_steps: 10, replayed_steps: 10, difference },
        }
    }

    #[test]
    fn a_replay_is_described_in_words() {
        let hash = "ab".repeat(32);
        let same = format!("episode 2: bit-identical, 10 control steps\ntrace hash {hash}\n");
        assert_eq!(report(None).text(), same);
        let difference = Difference {
            control_step: 3,
            time_s: 0.06,
            quantity: "action.0".into(),
            recorded: Some(1.0),
            replayed: Some(2.0),
            cause: DifferenceCause::Policy,
        };
        let mut found = report(Some(difference));
        let text = found.text();
        let first = "episode 2: differs from control step 3 onwards (0.060 s)\naction.0 was 1 and is now 2\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("not deterministic"), "{text}");
        let part = FingerprintDifference { name: "glibc".into(), recorded: "2.36".into(), replayed: "2.40".into() };
        found.fingerprint_differences.push(part);
        assert!(found.text().starts_with("glibc was 2.36 when recorded and is 2.40 here\n"));
    }
}
