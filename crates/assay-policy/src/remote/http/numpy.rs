//! json_numpy format: `{"__numpy__": base64, "dtype": "<f8", "shape": [7]}`, a scalar with `"shape": []`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::remote::array::{ArrayError, ElementError, MAX_DIMENSIONS, NumberArray};
use crate::remote::limits::MAX_HORIZON;

/// A value that is not an array of numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NumpyDecodeError {
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error(transparent)]
    Element(#[from] ElementError),
    #[error("a json_numpy object without {0}")]
    Missing(&'static str),
    #[error("neither lists of numbers nor a json_numpy object")]
    NoNumbers,
    #[error("lists of unequal length")]
    Ragged,
}

pub(super) fn encode(dtype: &str, shape: &[u32], data: &[u8]) -> Value {
    json!({ "__numpy__": STANDARD.encode(data), "dtype": dtype, "shape": shape })
}

pub(super) fn is_array(value: &Value) -> bool {
    value.get("__numpy__").is_some()
}

/// Reads a json_numpy object, or lists of numbers.
pub(super) fn to_array(value: &Value) -> Result<NumberArray, NumpyDecodeError> {
    if let Some(data) = value.get("__numpy__") {
        let data =
            data.as_str().and_then(|text| STANDARD.decode(text).ok()).ok_or(NumpyDecodeError::Missing("base64"))?;
        let dtype = value.get("dtype").and_then(Value::as_str).ok_or(NumpyDecodeError::Missing("dtype"))?;
        let shape = value.get("shape").and_then(Value::as_array).ok_or(NumpyDecodeError::Missing("shape"))?;
        if shape.len() > MAX_DIMENSIONS {
            return Err(ArrayError::TooLarge.into());
        }
        let length =
            |n: &Value| n.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or(NumpyDecodeError::Missing("shape"));
        return Ok(NumberArray::decode(dtype, shape.iter().map(length).collect::<Result<_, _>>()?, &data)?);
    }
    let mut array = NumberArray { shape: Vec::new(), values: Vec::new() };
    flatten(value, &mut Vec::new(), &mut array)?;
    Ok(array)
}

/// Adds the numbers of nested lists; `path` is the place of `value` in them.
fn flatten(value: &Value, path: &mut Vec<usize>, into: &mut NumberArray) -> Result<(), NumpyDecodeError> {
    let depth = path.len();
    let Some(list) = value.as_array() else {
        into.values
            .push(value.as_f64().or_else(|| value.as_bool().map(f64::from)).ok_or_else(|| not_a_number(value, path))?);
        return if depth == into.shape.len() { Ok(()) } else { Err(NumpyDecodeError::Ragged) };
    };
    if depth >= MAX_DIMENSIONS || list.len() > MAX_HORIZON {
        return Err(ArrayError::TooLarge.into());
    }
    match into.shape.get(depth) {
        Some(length) if *length == list.len() => {}
        None if into.values.is_empty() => into.shape.push(list.len()),
        _ => return Err(NumpyDecodeError::Ragged),
    }
    list.iter().enumerate().try_for_each(|(number, item)| {
        path.push(number);
        let done = flatten(item, path, into);
        path.pop();
        done
    })
}

fn not_a_number(value: &Value, path: &[usize]) -> NumpyDecodeError {
    match value {
        Value::String(text) => ElementError::new(path, text, "a string").into(),
        Value::Null => ElementError::new(path, "null", "").into(),
        Value::Object(_) if !path.is_empty() => ElementError::new(path, "an object", "").into(),
        _ => NumpyDecodeError::NoNumbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_the_format_of_json_numpy() {
        // json_numpy.dumps(np.array([0.5, -1.0])) of json-numpy 2.1.
        let captured = json!({ "__numpy__": "AAAAAAAA4D8AAAAAAADwvw==", "dtype": "<f8", "shape": [2] });
        let bytes: Vec<u8> = [0.5_f64, -1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(encode("<f8", &[2], &bytes), captured);
        assert_eq!(to_array(&captured), Ok(NumberArray { shape: vec![2], values: vec![0.5, -1.0] }));
        let scalar = json!({ "__numpy__": "AAAAAAAA4D8=", "dtype": "<f8", "shape": [] });
        assert_eq!(to_array(&scalar), Ok(NumberArray { shape: vec![], values: vec![0.5] }));
    }

    #[test]
    fn reads_lists_and_rejects_other_values() {
        assert_eq!(
            to_array(&json!([[1, 2.5], [3, true]])),
            Ok(NumberArray { shape: vec![2, 2], values: vec![1., 2.5, 3., 1.] })
        );
        let cases = [
            (json!([[1, 2], [3]]), NumpyDecodeError::Ragged),
            (json!(["1"]), ElementError::new(&[0], "1", "a string").into()),
            (json!([[0, 1], [0, null]]), ElementError::new(&[1, 1], "null", "").into()),
            (json!({}), NumpyDecodeError::NoNumbers),
            (json!({ "__numpy__": "!", "dtype": "<f8", "shape": [1] }), NumpyDecodeError::Missing("base64")),
            (json!({ "__numpy__": "", "shape": [0] }), NumpyDecodeError::Missing("dtype")),
            (json!({ "__numpy__": "", "dtype": "<f8", "shape": [-1] }), NumpyDecodeError::Missing("shape")),
            (json!([[[[[1]]]]]), NumpyDecodeError::Array(ArrayError::TooLarge)),
        ];
        for (value, error) in cases {
            assert_eq!(to_array(&value), Err(error), "{value}");
        }
    }
}
