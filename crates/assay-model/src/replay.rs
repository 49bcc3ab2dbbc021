//! Result of a replay: an episode run again and compared with its recording.

use serde::{Deserialize, Serialize};

use crate::{Fingerprint, RuntimeVersion, Sha256Digest};

/// Comparison of two recordings of the same episode, row by row and hash by hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// Number of control steps in the recording.
    pub recorded_steps: u32,
    /// Number of control steps in the replay.
    pub replayed_steps: u32,
    /// The first difference; `null` if the recordings are bit-identical.
    pub difference: Option<Difference>,
}

/// The first difference between a recording and its replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Difference {
    /// Control step of the difference, from 0.
    pub control_step: u32,
    /// Simulated time of the difference, in seconds.
    pub time_s: f64,
    /// Quantity that differs: a column of the trace such as `action.0`, a property of the trace such as `draw.lean`,
    /// `length`, or `trace_hash`.
    pub quantity: String,
    /// Value in the recording; `null` if it is not a number.
    pub recorded: Option<f64>,
    /// Value in the replay; `null` if it is not a number.
    pub replayed: Option<f64>,
    /// Cause of the difference.
    pub cause: DifferenceCause,
}

/// Cause of a difference. Everything before the first difference was identical, so it determines the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceCause {
    /// A different world was drawn: the scenario, seed or engine is not the same.
    World,
    /// The policy answered the same observations differently, or ended at a different time: it is not deterministic.
    Policy,
    /// The same actions led to a different state: the engine is not the same, or assay has a bug.
    Physics,
    /// The recording contradicts itself: its trace hashes are those of the replay, but this column is not. It was
    /// changed after the episode.
    Recording,
}

/// Difference between the fingerprint in the report and that of the replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FingerprintDifference {
    /// Name of the fingerprint's field.
    pub name: String,
    /// Value in the report.
    pub recorded: String,
    /// Value on the machine of the replay.
    pub replayed: String,
}

impl Fingerprint {
    /// Returns the fingerprint of the same machine for policies in a runtime with this version of numpy.
    #[must_use]
    pub fn in_runtime(&self, runtime: RuntimeVersion, numpy: &str) -> Self {
        Self { runtime: Some(runtime), numpy: numpy.to_owned(), ..self.clone() }
    }

    /// Returns the SHA-256 of the fingerprint's JSON without the isolation, on which no result depends.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        let decisive = Self { isolation: crate::Isolation::default(), ..self.clone() };
        // A struct of texts and lists always has a JSON form.
        Sha256Digest::of(serde_json::to_vec(&decisive).unwrap_or_default())
    }

    /// Returns the parts of `here` that differ from this fingerprint, which is that of the report.
    #[must_use]
    pub fn differences(&self, here: &Self) -> Vec<FingerprintDifference> {
        let features = |fingerprint: &Self| fingerprint.cpu_features.join(" ");
        let runtime = |fingerprint: &Self| match &self.runtime {
            // An earlier version recorded none.
            None => String::new(),
            Some(_) => fingerprint.runtime.as_ref().map_or_else(String::new, ToString::to_string),
        };
        let pairs = [
            ("runtime", runtime(self), runtime(here)),
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
    fn fingerprint_differences_name_the_changed_field() {
        let then = Fingerprint {
            mujoco: "3.17.0".into(),
            libmujoco_sha256: Sha256Digest::new([0xab; 32]),
            cpu_features: vec!["avx".into(), "fma".into()],
            glibc: "2.36".into(),
            numpy: "2.4.6".into(),
            blas_core: "Haswell".into(),
            scorer_version: "1".into(),
            isolation: Isolation::Namespaces,
            runtime: None,
        };
        assert!(then.differences(&then).is_empty());
        let now = Fingerprint { cpu_features: vec!["avx".into()], ..then.clone() };
        let expected =
            FingerprintDifference { name: "cpu_features".into(), recorded: "avx fma".into(), replayed: "avx".into() };
        assert_eq!(then.differences(&now), [expected]);
    }
}
