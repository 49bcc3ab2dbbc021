//! Small ONNX models, written byte by byte.
//!
//! Source: the messages and field numbers of `onnx.proto` (ONNX 1.16), in the encoding of Protocol Buffers.

/// Types of elements.
const FLOAT: u64 = 1;
const INT64: u64 = 7;
/// Value of a tensor's `data_location` for another file.
const EXTERNAL: u64 = 1;

/// A model: the bytes of its graph so far.
#[derive(Debug, Clone, Default)]
pub struct OnnxModel {
    graph: Vec<u8>,
    domains: Vec<String>,
}

impl OnnxModel {
    /// Adds an input of float32 numbers; a length of 0 is one of any size.
    #[must_use]
    pub fn input(self, name: &str, shape: &[u64]) -> Self {
        self.value(11, name, shape)
    }

    /// Adds an output of float32 numbers.
    #[must_use]
    pub fn output(self, name: &str, shape: &[u64]) -> Self {
        self.value(12, name, shape)
    }

    /// Adds an operator of ONNX.
    #[must_use]
    pub fn node(self, operator: &str, inputs: &[&str], output: &str) -> Self {
        self.node_of("", operator, inputs, output)
    }

    /// Adds an operator of another domain.
    #[must_use]
    pub fn node_of(mut self, domain: &str, operator: &str, inputs: &[&str], output: &str) -> Self {
        let mut node = Vec::new();
        inputs.iter().for_each(|input| bytes(&mut node, 1, input.as_bytes()));
        bytes(&mut node, 2, output.as_bytes());
        bytes(&mut node, 4, operator.as_bytes());
        bytes(&mut node, 7, domain.as_bytes());
        bytes(&mut self.graph, 1, &node);
        if !domain.is_empty() {
            self.domains.push(domain.to_owned());
        }
        self
    }

    /// Adds a constant of float32 numbers.
    #[must_use]
    pub fn constant(self, name: &str, shape: &[u64], numbers: &[f32]) -> Self {
        let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tensor(name, shape, FLOAT, |tensor| bytes(tensor, 9, &raw))
    }

    /// Adds a constant of integers.
    #[must_use]
    pub fn integers(self, name: &str, numbers: &[i64]) -> Self {
        let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tensor(name, &[numbers.len() as u64], INT64, |tensor| bytes(tensor, 9, &raw))
    }

    /// Adds a constant of float32 numbers that are in another file.
    #[must_use]
    pub fn external(self, name: &str, shape: &[u64], location: &str) -> Self {
        let length = 4 * shape.iter().product::<u64>();
        self.tensor(name, shape, FLOAT, |tensor| {
            for (key, value) in [("location", location), ("offset", "0"), ("length", &length.to_string())] {
                let mut entry = Vec::new();
                bytes(&mut entry, 1, key.as_bytes());
                bytes(&mut entry, 2, value.as_bytes());
                bytes(tensor, 13, &entry);
            }
            varint(tensor, 14, EXTERNAL);
        })
    }

    /// Returns the file's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut graph = self.graph.clone();
        bytes(&mut graph, 2, b"graph");
        let mut model = Vec::new();
        varint(&mut model, 1, 9);
        bytes(&mut model, 7, &graph);
        for domain in std::iter::once("").chain(self.domains.iter().map(String::as_str)) {
            let mut operators = Vec::new();
            bytes(&mut operators, 1, domain.as_bytes());
            varint(&mut operators, 2, if domain.is_empty() { 17 } else { 1 });
            bytes(&mut model, 8, &operators);
        }
        model
    }

    fn value(mut self, field: u64, name: &str, shape: &[u64]) -> Self {
        let mut dimensions = Vec::new();
        for length in shape {
            let mut dimension = Vec::new();
            match length {
                0 => bytes(&mut dimension, 2, b"any"),
                length => varint(&mut dimension, 1, *length),
            }
            bytes(&mut dimensions, 1, &dimension);
        }
        let (mut tensor, mut kind, mut value) = (Vec::new(), Vec::new(), Vec::new());
        varint(&mut tensor, 1, FLOAT);
        bytes(&mut tensor, 2, &dimensions);
        bytes(&mut kind, 1, &tensor);
        bytes(&mut value, 1, name.as_bytes());
        bytes(&mut value, 2, &kind);
        bytes(&mut self.graph, field, &value);
        self
    }

    fn tensor(mut self, name: &str, shape: &[u64], kind: u64, data: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut tensor = Vec::new();
        shape.iter().for_each(|length| varint(&mut tensor, 1, *length));
        varint(&mut tensor, 2, kind);
        bytes(&mut tensor, 8, name.as_bytes());
        data(&mut tensor);
        bytes(&mut self.graph, 5, &tensor);
        self
    }
}

fn number(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    to.push(u8::try_from(value).unwrap());
}

fn varint(to: &mut Vec<u8>, field: u64, value: u64) {
    number(to, field << 3);
    number(to, value);
}

fn bytes(to: &mut Vec<u8>, field: u64, value: &[u8]) {
    number(to, field << 3 | 2);
    number(to, value.len() as u64);
    to.extend_from_slice(value);
}
