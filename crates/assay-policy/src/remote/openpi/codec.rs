//! msgpack with numpy arrays, as `openpi_client.msgpack_numpy` writes it: an array is a map whose keys are *binary*
//! (`__ndarray__`, `data`, `dtype`, `shape`), a scalar one with `__npgeneric__`; all other keys are text.

use rmpv::Value;

use crate::remote::array::{ArrayError, ElementError, MAX_DIMENSIONS, NumberArray};
use crate::remote::limits::{MAX_HORIZON, MAX_REPLY_DEPTH};

/// A value that is not an array of numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum MsgpackDecodeError {
    #[error("not msgpack ({0})")]
    Msgpack(String),
    #[error("bytes after the message")]
    Trailing,
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error(transparent)]
    Element(#[from] ElementError),
    #[error("an array without {0}")]
    Missing(&'static str),
    #[error("neither an array nor lists of numbers")]
    NoNumbers,
    #[error("lists of unequal length")]
    Ragged,
}

/// Encodes a numpy array.
pub(super) fn array(dtype: &str, shape: &[u32], data: &[u8]) -> Value {
    let key = |name: &str| Value::Binary(name.as_bytes().to_vec());
    Value::Map(vec![
        (key("__ndarray__"), Value::Boolean(true)),
        (key("data"), Value::Binary(data.to_vec())),
        (key("dtype"), dtype.into()),
        (key("shape"), Value::Array(shape.iter().map(|n| Value::from(*n)).collect())),
    ])
}

pub(super) fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    drop(rmpv::encode::write_value(&mut bytes, value));
    bytes
}

pub(super) fn decode(mut bytes: &[u8]) -> Result<Value, MsgpackDecodeError> {
    let value = rmpv::decode::read_value_with_max_depth(&mut bytes, MAX_REPLY_DEPTH)
        .map_err(|error| MsgpackDecodeError::Msgpack(error.to_string()))?;
    if bytes.is_empty() { Ok(value) } else { Err(MsgpackDecodeError::Trailing) }
}

/// Returns the value of a text key of a map.
pub(super) fn get<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    find(value, |key| matches!(key, Value::String(text) if text.as_str() == Some(name)))
}

/// Returns the value of a binary key of a map.
fn marked<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    find(value, |key| matches!(key, Value::Binary(bytes) if bytes == name.as_bytes()))
}

fn find(value: &Value, is_key: impl Fn(&Value) -> bool) -> Option<&Value> {
    value.as_map()?.iter().find(|(key, _)| is_key(key)).map(|(_, value)| value)
}

pub(super) fn is_array(value: &Value) -> bool {
    marked(value, "__ndarray__").is_some()
}

/// Reads a numpy array, a numpy scalar, or lists of numbers.
pub(super) fn to_array(value: &Value) -> Result<NumberArray, MsgpackDecodeError> {
    if is_array(value) {
        let dtype = marked(value, "dtype").and_then(Value::as_str).ok_or(MsgpackDecodeError::Missing("dtype"))?;
        let data = match marked(value, "data") {
            Some(Value::Binary(data)) => data,
            _ => return Err(MsgpackDecodeError::Missing("data")),
        };
        let shape = marked(value, "shape").and_then(Value::as_array).ok_or(MsgpackDecodeError::Missing("shape"))?;
        let length =
            |n: &Value| n.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or(MsgpackDecodeError::Missing("shape"));
        if shape.len() > MAX_DIMENSIONS {
            return Err(ArrayError::TooLarge.into());
        }
        return Ok(NumberArray::decode(dtype, shape.iter().map(length).collect::<Result<_, _>>()?, data)?);
    }
    let mut array = NumberArray { shape: Vec::new(), values: Vec::new() };
    flatten(value, &mut Vec::new(), &mut array)?;
    Ok(array)
}

/// Adds the numbers of nested lists; the first list of each depth determines the length of all. `path` is the place of
/// `value` in them.
fn flatten(value: &Value, path: &mut Vec<usize>, into: &mut NumberArray) -> Result<(), MsgpackDecodeError> {
    let depth = path.len();
    let Some(list) = value.as_array() else {
        let scalar = marked(value, "__npgeneric__").and_then(|_| marked(value, "data")).unwrap_or(value);
        let number = scalar.as_f64().or_else(|| scalar.as_bool().map(f64::from));
        into.values.push(number.ok_or_else(|| not_a_number(scalar, path))?);
        return if depth == into.shape.len() { Ok(()) } else { Err(MsgpackDecodeError::Ragged) };
    };
    if depth >= MAX_DIMENSIONS || list.len() > MAX_HORIZON {
        return Err(ArrayError::TooLarge.into());
    }
    match into.shape.get(depth) {
        Some(length) if *length == list.len() => {}
        None if into.values.is_empty() => into.shape.push(list.len()),
        _ => return Err(MsgpackDecodeError::Ragged),
    }
    list.iter().enumerate().try_for_each(|(number, item)| {
        path.push(number);
        let done = flatten(item, path, into);
        path.pop();
        done
    })
}

fn not_a_number(value: &Value, path: &[usize]) -> MsgpackDecodeError {
    match value {
        Value::String(text) => ElementError::new(path, text.as_str().unwrap_or("?"), "a string").into(),
        Value::Nil => ElementError::new(path, "nil", "").into(),
        _ if !path.is_empty() => ElementError::new(path, "another value", "").into(),
        _ => MsgpackDecodeError::NoNumbers,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use assay_model::from_hex;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        digits.chunks(2).map(|pair| from_hex::<1>(std::str::from_utf8(pair).unwrap()).unwrap()[0]).collect()
    }

    fn named(text: &str) -> String {
        text.bytes().map(|b| format!("{b:02x}")).collect()
    }

    /// Returns the bytes that openpi-client 0.1.2 sent for `{"observation/joint_position": float32[0, 1], "g":
    /// float64(0.5), "img": uint8[1, 2, 3], "prompt": "go"}`.
    fn captured_request() -> Vec<u8> {
        hex(&format!(
            "84 ba {} 84 c40b {} c3 c404 {} c408 000000000000803f c405 {} a3 {} c405 {} 9102
             a1 {} 83 c40d {} c3 c404 {} cb3fe0000000000000 c405 {} a3 {}
             a3 {} 84 c40b {} c3 c404 {} c406 000000000000 c405 {} a3 {} c405 {} 93010203
             a6 {} a2 {}",
            named("observation/joint_position"),
            named("__ndarray__"),
            named("data"),
            named("dtype"),
            named("<f4"),
            named("shape"),
            named("g"),
            named("__npgeneric__"),
            named("data"),
            named("dtype"),
            named("<f4"),
            named("img"),
            named("__ndarray__"),
            named("data"),
            named("dtype"),
            named("|u1"),
            named("shape"),
            named("prompt"),
            named("go"),
        ))
    }

    #[test]
    fn writes_the_bytes_that_the_public_client_writes() {
        let scalar = |value: f64| {
            let key = |name: &str| Value::Binary(name.as_bytes().to_vec());
            let dtype = (key("dtype"), "<f4".into());
            Value::Map(vec![(key("__npgeneric__"), true.into()), (key("data"), value.into()), dtype])
        };
        let request = Value::Map(vec![
            ("observation/joint_position".into(), array("<f4", &[2], &[0, 0, 0, 0, 0, 0, 0x80, 0x3f])),
            ("g".into(), scalar(0.5)),
            ("img".into(), array("|u1", &[1, 2, 3], &[0; 6])),
            ("prompt".into(), "go".into()),
        ]);
        assert_eq!(encode(&request), captured_request());
        assert_eq!(decode(&captured_request()), Ok(request));
    }

    #[test]
    fn reads_the_bytes_that_the_public_server_sends() {
        let metadata = decode(&hex(&format!(
            "82 ae {} 02 aa {} 92 cb0000000000000000 cb3ff8000000000000",
            named("action_horizon"),
            named("reset_pose")
        )))
        .unwrap();
        assert_eq!(get(&metadata, "action_horizon"), Some(&Value::from(2)));
        let reply = decode(&hex(&format!(
            "82 a7 {} 84 c40b {} c3 c404 {} c418 0000803f 00000040 00004040 00008040 0000a040 0000c040 c405 {} a3 {}
             c405 {} 920203 ad {} 81 a8 {} cb3fb00cb6c7b00000",
            named("actions"),
            named("__ndarray__"),
            named("data"),
            named("dtype"),
            named("<f4"),
            named("shape"),
            named("server_timing"),
            named("infer_ms"),
        )))
        .unwrap();
        let actions = to_array(get(&reply, "actions").unwrap()).unwrap();
        assert_eq!(actions, NumberArray { shape: vec![2, 3], values: vec![1., 2., 3., 4., 5., 6.] });
    }

    #[test]
    fn marker_keys_sent_as_text_do_not_make_an_array() {
        let text = Value::Map(vec![("__ndarray__".into(), true.into()), ("data".into(), Value::Binary(vec![0; 8]))]);
        assert!(!is_array(&text));
        assert_eq!(to_array(&text), Err(MsgpackDecodeError::NoNumbers));
    }

    #[test]
    fn lists_are_arrays_too() {
        let list = |numbers: &[f64]| Value::Array(numbers.iter().map(|x| Value::from(*x)).collect());
        let rows = Value::Array(vec![list(&[1., 2.]), list(&[3., 4.])]);
        assert_eq!(to_array(&rows), Ok(NumberArray { shape: vec![2, 2], values: vec![1., 2., 3., 4.] }));
        assert_eq!(to_array(&Value::from(3)), Ok(NumberArray { shape: vec![], values: vec![3.] }));
        for ragged in
            [vec![list(&[1., 2.]), list(&[3.])], vec![list(&[1.]), Value::from(2)], vec![Value::from(1), list(&[2.])]]
        {
            assert_eq!(to_array(&Value::Array(ragged)), Err(MsgpackDecodeError::Ragged));
        }
        for (element, error) in [
            ("x".into(), ElementError::new(&[1], "x", "a string")),
            (Value::Nil, ElementError::new(&[1], "nil", "")),
            (Value::Binary(vec![0; 8]), ElementError::new(&[1], "another value", "")),
        ] {
            assert_eq!(to_array(&Value::Array(vec![1.into(), element])), Err(error.into()));
        }
        assert_eq!(to_array(&Value::Array(vec![true.into()])).map(|array| array.values), Ok(vec![1.0]));
    }

    #[test]
    fn hostile_messages_are_refused_without_harm() {
        let deep = [0x91].repeat(100_000);
        // An array that claims 2^32 - 1 elements, and a binary that claims as many bytes.
        let long = [0xdd, 0xff, 0xff, 0xff, 0xff];
        let wide = [0xc6, 0xff, 0xff, 0xff, 0xff];
        for bytes in [deep.as_slice(), &long, &wide, &[], &[0xa5, b'x']] {
            assert!(matches!(decode(bytes), Err(MsgpackDecodeError::Msgpack(_))));
        }
        assert_eq!(decode(&[0x80, 0x80]), Err(MsgpackDecodeError::Trailing));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            if let Ok(value) = decode(&bytes) {
                drop(to_array(&value));
            }
        }
    }
}
