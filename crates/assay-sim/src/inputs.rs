//! External inputs of the physics: controls, applied forces, mocap bodies. Together with the start state and the model,
//! they determine the whole episode.

use mujoco_rs::prelude::*;

use crate::{Simulation, Unstable};

/// MuJoCo's external inputs, in the order in which it stores them in a state. `userdata` is not included, because the
/// physics does not read it.
const GROUPS: [(MjtState, &str); 6] = [
    (MjtState::mjSTATE_CTRL, "ctrl"),
    (MjtState::mjSTATE_QFRC_APPLIED, "qfrc_applied"),
    (MjtState::mjSTATE_XFRC_APPLIED, "xfrc_applied"),
    (MjtState::mjSTATE_EQ_ACTIVE, "eq_active"),
    (MjtState::mjSTATE_MOCAP_POS, "mocap_pos"),
    (MjtState::mjSTATE_MOCAP_QUAT, "mocap_quat"),
];

/// Returns the bits of all [`GROUPS`].
fn all() -> u32 {
    GROUPS.iter().fold(0, |bits, (group, _)| bits | *group as u32)
}

impl Simulation {
    /// Returns the names of the external inputs: MuJoCo's name of the array and the flat index in it, as in
    /// `xfrc_applied.7`.
    #[must_use]
    pub fn input_names(&self) -> Vec<String> {
        let model = self.model();
        let names = |(group, name): &(MjtState, &str)| {
            let name = (*name).to_owned();
            (0..model.state_size(*group as u32)).map(move |index| format!("{name}.{index}"))
        };
        GROUPS.iter().flat_map(names).collect()
    }

    /// Reads the current inputs into `inputs`, which has the length of [`Self::input_names`].
    pub fn read_inputs(&self, inputs: &mut [f64]) {
        self.data().read_state_into(all(), inputs);
    }

    /// Runs one physics step with these inputs, without controller and signals, to replay a recording.
    ///
    /// # Errors
    /// [`Unstable`] if MuJoCo warned.
    pub fn step_with(&mut self, inputs: &[f64]) -> Result<(), Unstable> {
        // Fails only if there are too few inputs; the step then deviates from the recording.
        drop(self.data_mut().set_state(inputs, all()));
        self.step_data()
    }

    /// Returns the compiled model, including all drawn values, in MuJoCo's binary format (MJB).
    #[must_use]
    pub fn model_bytes(&self) -> Vec<u8> {
        let model = self.model();
        let mut bytes = vec![0; model.size()];
        // The buffer has the length that the model requires.
        model.save_to_buffer(&mut bytes).map(|()| bytes).unwrap_or_default()
    }
}
