//! A checked declaration of an adapter.

/// A policy without code: a network, what it sees, and what its output means.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyAdapter {
    /// The kind of the network.
    pub kind: AdapterKind,
    /// Version of the adapter's behaviour. It is part of the declaration, and thus of the policy's digest.
    pub version: u32,
    /// Inputs of the network, in the order of the declaration.
    pub inputs: Vec<AdapterInput>,
    /// Output of the network.
    pub action: AdapterAction,
}

/// The kind of an adapter's network, with its place in the policy's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdapterKind {
    /// A model for ONNX Runtime.
    Onnx {
        /// Path of the `.onnx` file.
        model: String,
    },
    /// A checkpoint of LeRobot.
    Lerobot {
        /// Path of the folder with `config.json`.
        checkpoint: String,
    },
}

/// An input of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterInput {
    /// Name of the model's input, or of the checkpoint's feature.
    pub name: String,
    /// The parts of the observation that it gets.
    pub source: InputSource,
    /// Statistics by which it is normalised.
    pub statistics: Option<StatisticsSource>,
}

/// The parts of an observation that an input gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputSource {
    /// Arrays of numbers, concatenated in this order.
    Arrays(Vec<NamedArray>),
    /// An image.
    Image {
        /// Name in the observation, with `images/`.
        name: String,
        /// Channels, height and width that the network takes; `None` for those of the checkpoint's feature.
        shape: Option<[u32; 3]>,
    },
}

/// An array of an observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedArray {
    /// Name in the observation.
    pub name: String,
    /// Number of its numbers.
    pub size: u32,
}

/// The place of a mean and a standard deviation.
#[derive(Debug, Clone, PartialEq)]
pub enum StatisticsSource {
    /// In the declaration.
    Inline,
    /// In a file of the policy.
    File(String),
}

/// The output of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterAction {
    /// Control mode that the network was trained for, as in a scenario.
    pub control_mode: String,
    /// Unit of each number of an action, as in a scenario.
    pub units: Vec<String>,
    /// Statistics by which it was normalised.
    pub statistics: Option<StatisticsSource>,
    /// Number of actions that are executed before the network runs again; `None` for that of the checkpoint.
    pub replan_steps: Option<u32>,
}

impl PolicyAdapter {
    /// Returns the package that its runtime must have.
    #[must_use]
    pub fn package(&self) -> &'static str {
        match self.kind {
            AdapterKind::Onnx { .. } => "onnxruntime",
            AdapterKind::Lerobot { .. } => "lerobot",
        }
    }
}

impl AdapterInput {
    /// Returns the number of numbers of its arrays; 0 for an image.
    #[must_use]
    pub fn size(&self) -> u32 {
        match &self.source {
            InputSource::Arrays(arrays) => arrays.iter().map(|array| array.size).fold(0, u32::saturating_add),
            InputSource::Image { .. } => 0,
        }
    }
}
