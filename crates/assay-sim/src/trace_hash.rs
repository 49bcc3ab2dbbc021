//! The hash chain that shows whether two episodes are identical to the bit.

use assay_model::{Sha256Digest, Sha256Writer};

/// SHA-256 chain: `h[0] = H(label, start state, draws)`, `h[k] = H(h[k-1], state after control step k, action k)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceHash(Sha256Digest);

impl TraceHash {
    /// Starts the chain with the state before the first step and the world's draws (which the state does not contain).
    #[must_use]
    pub fn start(state: &[f64], draws: &[f64]) -> Self {
        Self(absorb(b"assay/trace/1", &[state, draws]))
    }

    /// Adds a control step.
    pub fn step(&mut self, state: &[f64], action: &[f64]) {
        self.0 = absorb(self.0.as_bytes(), &[state, action]);
    }

    /// Returns the hash so far.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        self.0
    }
}

fn absorb(before: &[u8], parts: &[&[f64]]) -> Sha256Digest {
    let mut hash = Sha256Writer::default();
    hash.update(before);
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        for number in *part {
            hash.update(number.to_le_bytes());
        }
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::TraceHash;

    #[test]
    fn every_bit_counts() {
        let chain = |x: f64, action: f64| {
            let mut hash = TraceHash::start(&[1.0, x], &[3.0]);
            hash.step(&[0.5], &[action]);
            hash.digest()
        };
        assert_eq!(chain(2.0, 0.0), chain(2.0, 0.0));
        assert_ne!(chain(2.0, 0.0), chain(f64::from_bits(2.0_f64.to_bits() + 1), 0.0));
        assert_ne!(chain(2.0, 0.0), chain(2.0, -0.0));
    }
}
