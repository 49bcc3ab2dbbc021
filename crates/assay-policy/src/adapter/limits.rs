//! Limits of an adapter's declaration and of the files that it names.

/// Maximum number of inputs of a network.
pub(super) const MAX_INPUTS: usize = 16;
/// Maximum number of arrays of an input.
pub(super) const MAX_ARRAYS: usize = 64;
/// Maximum number of numbers in an array of an observation.
pub(super) const MAX_ARRAY_SIZE: u32 = 65_536;
/// Maximum height and width of an image, in pixels.
pub(super) const MAX_IMAGE_SIDE: u32 = 4096;
/// Maximum number of numbers of an action.
pub(super) const MAX_ACTION_SIZE: usize = 256;
/// Maximum number of actions in an output: that of an answer of a policy server.
pub(super) const MAX_CHUNK: u32 = 1000;
/// Maximum length of a name or unit, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 256;
/// Maximum size of a JSON file of a checkpoint, in bytes.
pub(super) const MAX_JSON_BYTES: usize = 1 << 20;
/// Maximum number of features or processing steps of a checkpoint.
pub(super) const MAX_FEATURES: usize = 64;
/// Maximum number of dimensions of a tensor.
pub(super) const MAX_DIMENSIONS: usize = 8;
/// Maximum size of a safetensors header, in bytes. The format allows 100 MB; a network of 1000 tensors has 100 kB.
pub(super) const MAX_HEADER_BYTES: usize = 1 << 20;
