//! The lane's observations, as arrays by name.

use assay_model::frame::{ArraySpec, Dtype, Init};

/// Size of an observation's time and remaining time, in bytes.
const TIMES_BYTES: usize = 16;

/// The parts of an episode that a server may know.
#[derive(Debug, Clone)]
pub(crate) struct Episode {
    /// Random: identifies the episode, and carries no other information.
    pub(crate) id: String,
    pub(crate) seed: u64,
    /// The scenario's id.
    pub(crate) scenario: String,
    pub(crate) instruction: String,
    pub(crate) specs: Vec<ArraySpec>,
    pub(crate) action_dim: usize,
}

/// One observation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemoteObservation<'a> {
    pub(crate) episode: &'a Episode,
    pub(crate) step: u32,
    pub(crate) time: f64,
    pub(crate) time_remaining: f64,
    payload: &'a [u8],
}

/// An array of it: little-endian, C order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayView<'a> {
    pub(crate) spec: &'a ArraySpec,
    pub(crate) data: &'a [u8],
}

impl Episode {
    pub(crate) fn new(id: String, init: Init) -> Self {
        Self {
            id,
            seed: init.seed,
            scenario: init.scenario,
            instruction: init.instruction.unwrap_or_default(),
            specs: init.observation,
            action_dim: init.action_dim as usize,
        }
    }

    /// Bytes of an observation's payload.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.specs.iter().map(ArraySpec::size_bytes).fold(TIMES_BYTES, usize::saturating_add)
    }

    /// Returns the images among the arrays.
    pub(crate) fn images(&self) -> impl Iterator<Item = &ArraySpec> {
        self.specs.iter().filter(|spec| is_image(spec))
    }
}

impl<'a> RemoteObservation<'a> {
    /// Creates a view of `payload`; `None` if it does not have the length that the episode announced.
    pub(crate) fn new(episode: &'a Episode, step: u32, payload: &'a [u8]) -> Option<Self> {
        if payload.len() != episode.payload_bytes() {
            return None;
        }
        let times = &payload[..TIMES_BYTES];
        let number = |bytes: &[u8]| bytes.try_into().map(f64::from_le_bytes).ok();
        Some(Self { episode, step, time: number(&times[..8])?, time_remaining: number(&times[8..])?, payload })
    }

    /// Returns the payload of its frame.
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }

    pub(crate) fn arrays(&self) -> impl Iterator<Item = ArrayView<'a>> {
        let mut rest = &self.payload[TIMES_BYTES..];
        self.episode.specs.iter().map(move |spec| {
            let (data, others) = rest.split_at(spec.size_bytes());
            rest = others;
            ArrayView { spec, data }
        })
    }
}

impl ArrayView<'_> {
    /// Returns numpy's name of the type.
    pub(crate) fn dtype(&self) -> &'static str {
        match self.spec.dtype {
            Dtype::F64 => "<f8",
            Dtype::F32 => "<f4",
            Dtype::U8 => "|u1",
        }
    }

    /// Returns the numbers of a float array.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.data.chunks_exact(8).map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
    }
}

/// Returns true if the shape is height, width and three colours of one byte each.
pub(crate) fn is_image(spec: &ArraySpec) -> bool {
    spec.dtype == Dtype::U8 && matches!(spec.shape.as_slice(), [_, _, 3])
}

#[cfg(test)]
mod tests {
    use assay_model::frame::{ArraySpec, Dtype, Init};

    use super::{Episode, RemoteObservation};

    #[test]
    fn arrays_larger_than_any_memory_match_no_payload() {
        let huge = |name: &str| ArraySpec { name: name.to_owned(), dtype: Dtype::F64, shape: vec![u32::MAX; 3] };
        let init = Init {
            seed: 0,
            scenario: "x".to_owned(),
            instruction: None,
            observation: vec![huge("a"), huge("b")],
            action_dim: 1,
        };
        let episode = Episode::new("0".to_owned(), init);
        assert_eq!(episode.payload_bytes(), usize::MAX);
        // The number of bytes to which the sum of their lengths wraps.
        for bytes in [0, 14, 15, 16, 64] {
            assert!(RemoteObservation::new(&episode, 0, &vec![0; bytes]).is_none(), "{bytes}");
        }
    }
}
