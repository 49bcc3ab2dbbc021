//! Rewording of deserialisation errors for the author of the value, who does not know Rust types such as `u32`.

/// Rewords an error message of serde in plain language. Other messages are returned unchanged.
#[must_use]
pub fn plain_complaint(complaint: &str) -> String {
    let (what, place) = split_place(complaint.trim_end());
    let plain = missing(what).or_else(|| unknown(what)).or_else(|| mismatch(what));
    plain.map_or_else(|| complaint.to_owned(), |plain| format!("{plain}{place}"))
}

/// Splits off the position at the end of a JSON error message.
fn split_place(complaint: &str) -> (&str, &str) {
    complaint.rfind(" at line ").map_or((complaint, ""), |at| complaint.split_at(at))
}

fn missing(complaint: &str) -> Option<String> {
    if let Some(name) = complaint.strip_prefix("missing field `") {
        return Some(format!("{} is missing", name.strip_suffix('`')?));
    }
    let name = complaint.strip_prefix("duplicate field `")?.strip_suffix('`')?;
    Some(format!("{name} is given twice"))
}

/// Rewords an unknown variant or field.
fn unknown(complaint: &str) -> Option<String> {
    let (kind, rest) = ["unknown variant `", "unknown field `"]
        .into_iter()
        .find_map(|start| complaint.strip_prefix(start).map(|rest| (start, rest)))?;
    let (name, known) = rest.split_once("`, ")?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let known = known.join(", ");
    Some(match (kind, known.is_empty()) {
        ("unknown variant `", _) => format!("must be one of {known}, not {name}"),
        (_, true) => format!("{name} is not known; no names are allowed here"),
        _ => format!("{name} is not known; use one of {known}"),
    })
}

fn mismatch(complaint: &str) -> Option<String> {
    if let Some(rest) = complaint.strip_prefix("invalid length ") {
        let (found, wanted) = rest.split_once(", expected ")?;
        return Some(format!("must be {}, not {found}", wanted_value(wanted)));
    }
    let rest = ["invalid type: ", "invalid value: "].into_iter().find_map(|start| complaint.strip_prefix(start))?;
    let (found, wanted) = rest.rsplit_once(", expected ")?;
    Some(format!("must be {}, not {}", wanted_value(wanted), found_value(found)))
}

fn wanted_value(wanted: &str) -> String {
    let plain = match wanted {
        "u8" | "a u8" => "a whole number from 0 to 255",
        "u16" | "a u16" => "a whole number from 0 to 65535",
        "u32" | "a u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" | "a u64" | "a usize" => "a whole number, 0 or more",
        "a nonzero u32" | "a nonzero u64" | "a nonzero usize" | "a nonzero u16" => "a whole number, 1 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a borrowed string" | "string or map" => "a string",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table of names and values",
        "unit" | "null" => "nothing",
        _ => {
            let of = |start: &str, what: &str| wanted.strip_prefix(start).map(|_| what.to_owned());
            let list = |n: &str| format!("a list of {n} elements");
            return of("struct ", "a table of names and values")
                .or_else(|| of("internally tagged enum ", "a table of names and values"))
                .or_else(|| wanted.strip_suffix(" elements")?.rsplit(' ').next().map(list))
                .or_else(|| wanted.strip_prefix("an array of length ").map(list))
                .unwrap_or_else(|| wanted.to_owned());
        }
    };
    plain.to_owned()
}

fn found_value(found: &str) -> String {
    let quoted = |start: &str| found.strip_prefix(start)?.strip_suffix('`').map(str::to_owned);
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" | "Option value" => "empty".to_owned(),
        _ => quoted("integer `")
            .or_else(|| quoted("floating point `"))
            .or_else(|| quoted("boolean `"))
            .or_else(|| found.strip_prefix("string ").map(|text| format!("the string {text}")))
            .unwrap_or_else(|| found.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_expected_and_the_actual_value() {
        for (complaint, plain) in [
            (
                "invalid type: string \"ten\", expected u32",
                "must be a whole number from 0 to 4294967295, not the string \"ten\"",
            ),
            ("invalid value: integer `-1`, expected u64", "must be a whole number, 0 or more, not -1"),
            ("invalid value: integer `0`, expected a nonzero u32", "must be a whole number, 1 or more, not 0"),
            (
                "invalid type: floating point `1.5`, expected i64 at line 1 column 9",
                "must be a whole number, not 1.5 at line 1 column 9",
            ),
            ("invalid type: map, expected a sequence", "must be a list, not a table"),
            ("invalid type: null, expected a boolean", "must be true or false, not empty"),
            ("invalid type: sequence, expected struct Camera", "must be a table of names and values, not a list"),
            ("invalid length 2, expected an array of length 3", "must be a list of 3 elements, not 2"),
            ("invalid length 2, expected a tuple of size 3", "must be a tuple of size 3, not 2"),
            ("unknown variant `fast`, expected `slow` or `none`", "must be one of slow, none, not fast"),
            ("unknown variant `a`, expected one of `b`, `c`, `d`", "must be one of b, c, d, not a"),
            ("unknown field `colour`, expected one of `id`, `name`", "colour is not known; use one of id, name"),
            ("unknown field `colour`, there are no fields", "colour is not known; no names are allowed here"),
            ("missing field `difficulty`", "difficulty is missing"),
            ("duplicate field `id`", "id is given twice"),
            ("the moon is full", "the moon is full"),
        ] {
            assert_eq!(plain_complaint(complaint), plain);
        }
    }

    /// serde may change its wording.
    #[test]
    fn no_wording_of_serde_remains() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Wish {
            #[expect(dead_code, reason = "only read")]
            count: u32,
            #[expect(dead_code, reason = "only read")]
            kind: Option<Kind>,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Kind {
            One,
            Two,
        }
        let texts = ["{}", r#"{"count":"a"}"#, r#"{"count":-1}"#, r#"{"count":1,"kind":"x"}"#, r#"{"count":1,"x":2}"#];
        for text in texts {
            let error = serde_json::from_str::<Wish>(text).err().map(|error| plain_complaint(&error.to_string()));
            let plain = error.unwrap_or_default();
            let left =
                ["u32", "variant", "field", "expected", "invalid", "`"].iter().find(|word| plain.contains(**word));
            assert!(!plain.is_empty() && left.is_none(), "{text}: {plain}");
        }
    }
}
