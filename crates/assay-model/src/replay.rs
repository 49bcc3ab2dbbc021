//! The result of a replay: an episode run again and compared with its recording.

use serde::{Deserialize, Serialize};

use crate::Fingerprint;

/// Two recordings of the same episode, compared row by row and hash by hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// Control steps of the recording.
    pub recorded_steps: u32,
    /// Control steps of the replay.
    pub replayed_steps: u32,
    /// The first thing that differs; `null` when everything is the same to the bit.
    pub difference: Option<Difference>,
}

/// The first difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Difference {
    /// Control step, from 0.
    pub control_step: u32,
    /// Simulated seconds.
    pub time_s: f64,
    /// A column of the trace such as `action.0`, a fact of it such as `draw.lean`, `length` or `trace_hash`.
    pub quantity: String,
    /// Its number in the recording, where it is one.
    pub recorded: Option<f64>,
    /// Its number in the replay.
    pub replayed: Option<f64>,
    /// Where it comes from.
    pub cause: DifferenceCause,
}

/// Where a difference comes from. Everything before it was the same, so it is the first to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceCause {
    /// Another world was drawn: another scenario, seed or engine.
    World,
    /// The policy answered the same observations differently, or ended elsewhere: it is not deterministic.
    Policy,
    /// The same actions led to another state: another engine, or a fault of ours.
    Physics,
}

/// A part of the fingerprint that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FingerprintDifference {
    /// The fingerprint's field.
    pub name: String,
    /// In the report.
    pub recorded: String,
    /// Here.
    pub replayed: String,
}

impl Fingerprint {
    /// Which parts of `here` are not what they were in the report.
    #[must_use]
    pub fn differences(&self, here: &Self) -> Vec<FingerprintDifference> {
        let features = |fingerprint: &Self| fingerprint.cpu_features.join(" ");
        let pairs = [
            ("mujoco", self.mujoco.clone(), here.mujoco.clone()),
            ("libmujoco_sha256", self.libmujoco_sha256.to_string(), here.libmujoco_sha256.to_string()),
            ("cpu_features", features(self), features(here)),
            ("glibc", self.glibc.clone(), here.glibc.clone()),
            ("numpy", self.numpy.clone(), here.numpy.clone()),
            ("blas_core", self.blas_core.clone(), here.blas_core.clone()),
            ("scorer_version", self.scorer_version.clone(), here.scorer_version.clone()),
        ];
        let differs = |(name, recorded, replayed): (&str, String, String)| {
            (recorded != replayed).then(|| FingerprintDifference { name: name.to_owned(), recorded, replayed })
        };
        pairs.into_iter().filter_map(differs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, FingerprintDifference};
    use crate::{Isolation, Sha256Digest};

    #[test]
    fn a_fingerprint_names_what_changed() {
        let then = Fingerprint {
            mujoco: "3.17.0".into(),
            libmujoco_sha256: Sha256Digest::new([0xab; 32]),
            cpu_features: vec!["avx".into(), "fma".into()],
            glibc: "2.36".into(),
            numpy: "2.4.6".into(),
            blas_core: "Haswell".into(),
            scorer_version: "1".into(),
            isolation: Isolation::Namespaces,
        };
        assert!(then.differences(&then).is_empty());
        let now = Fingerprint { cpu_features: vec!["avx".into()], ..then.clone() };
        let expected =
            FingerprintDifference { name: "cpu_features".into(), recorded: "avx fma".into(), replayed: "avx".into() };
        assert_eq!(then.differences(&now), [expected]);
    }
}
