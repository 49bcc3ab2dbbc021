//! The fuzz target of a lane's messages.

use crate::lane::{Rendered, Reply, ScenarioCheck};
use crate::{Comparison, EpisodePlots};

/// Parses messages of a lane, which are untrusted because it loads untrusted scenarios.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn lane(data: &[u8]) {
    if let Ok(Reply::Done(done)) = serde_json::from_slice::<Reply>(data) {
        serde_json::to_vec(&done.result).expect("a result is JSON");
    }
    drop(serde_json::from_slice::<ScenarioCheck>(data));
    drop(serde_json::from_slice::<Rendered>(data));
    drop(serde_json::from_slice::<Comparison>(data));
    drop(serde_json::from_slice::<EpisodePlots>(data));
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn lane_accepts_its_corpus() {
        run_corpus("lane", super::lane);
    }
}
