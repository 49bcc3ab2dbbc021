//! The grammar of the texts of a scenario or robot. Names and units are shown in terminals, logs, pages and generated
//! code, none of which they may leave: they are one line of printable characters without quotes and backslashes. Prose
//! may have several lines.

use toml::{Table, Value};

/// Maximum length of a name or unit, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Characters of names that delimit a text in some language, besides what cannot be printed.
const DELIMITERS: [char; 4] = ['"', '\'', '`', '\\'];
/// Characters that count as letters, but take up space without being seen.
const BLANKS: [char; 5] = ['\u{115f}', '\u{1160}', '\u{2800}', '\u{3164}', '\u{ffa0}'];
/// Keys of prose, which may have several lines.
const PROSE: [&str; 4] = ["description", "instruction", "title", "standard"];
/// Keys of lists of prose.
const PROSE_LISTS: [&str; 1] = ["sources"];
/// Keys of formulas, which may have several lines and are parsed by themselves.
const FORMULAS: [&str; 2] = ["formula", "when"];
/// Key of the display name at the top of a file, one line of prose.
const DISPLAY_NAME: &str = "name";

/// Checks every text of a TOML file. Returns the path of a key and what is wrong with its text.
pub(super) fn check(table: &Table) -> Result<(), (String, String)> {
    for (key, value) in table {
        match value {
            Value::String(text) if key == DISPLAY_NAME => line(text).map_err(|problem| (key.clone(), problem))?,
            value => entry("", key, value)?,
        }
    }
    Ok(())
}

/// Checks a name that other files of a scenario give to something; `""` is no name.
pub(super) fn check_name(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { name(text) }
}

fn entry(place: &str, key: &str, value: &Value) -> Result<(), (String, String)> {
    name(key).map_err(|problem| (place.to_owned(), format!("has the key {key:?}, which {problem}")))?;
    let path = if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    let at = |problem| (path.clone(), problem);
    match value {
        Value::String(text) if PROSE.contains(&key) || FORMULAS.contains(&key) => prose(text).map_err(at),
        // The author is told that it is missing.
        Value::String(text) if text.chars().all(|c| c == ' ') => Ok(()),
        Value::String(text) => name(text).map_err(|problem| at(format!("{text:?} {problem}"))),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                match item {
                    Value::String(text) if PROSE_LISTS.contains(&key) => prose(text).map_err(at)?,
                    Value::Table(table) => {
                        let place = format!("{path}[{index}]");
                        table.iter().try_for_each(|(key, value)| entry(&place, key, value))?;
                    }
                    item => entry(place, key, item)?,
                }
            }
            Ok(())
        }
        Value::Table(table) => table.iter().try_for_each(|(key, value)| entry(&path, key, value)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => Ok(()),
    }
}

fn name(text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > MAX_NAME_BYTES {
        return Err(format!("must have 1 to {MAX_NAME_BYTES} bytes"));
    }
    // The standard library escapes whatever cannot be printed as a character of its own.
    let is_seen = |c: char| c.escape_debug().count() == 1 && !BLANKS.contains(&c);
    match text.chars().find(|c| DELIMITERS.contains(c) || !is_seen(*c)) {
        Some(c) => Err(format!("must not contain {}: use letters, digits and signs such as _ - / . : *", shown(c))),
        None if text.trim() != text => Err("must not begin or end with a space".to_owned()),
        None => Ok(()),
    }
}

/// Checks one line of prose.
fn line(text: &str) -> Result<(), String> {
    match text.chars().find(|c| matches!(c, '\n' | '\t')) {
        Some(c) => Err(format!("must not contain {}: write one line", shown(c))),
        None => prose(text),
    }
}

fn prose(text: &str) -> Result<(), String> {
    let clean = assay_model::sanitise(text, usize::MAX);
    // TOML may end its lines like Windows does.
    let kept = text.replace("\r\n", "\n");
    let mut pairs = kept.chars().zip(clean.chars());
    match pairs.find(|(own, clean)| own != clean) {
        Some((c, _)) => Err(format!("must not contain {}", shown(c))),
        None if kept.len() != clean.len() => Err("must not end with a control character".to_owned()),
        None => Ok(()),
    }
}

/// Returns a character as it is written in code.
fn shown(c: char) -> String {
    match c {
        ' '..='~' => format!("{c:?}"),
        c => format!("the character U+{:04X}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Names of published scenarios and of MJCF.
    const NAMES: [&str; 22] = [
        "panda/link5",
        "object0:joint",
        "arm/*",
        "robot0_r_gripper_palm_link",
        "left wheel",
        "B3M-SC-1170-A",
        "m/s2",
        "m/s^2",
        "m·s⁻²",
        "rad/s",
        "°",
        "°/s",
        "µm",
        "%",
        "1",
        "N*m",
        "(1, 2)",
        "site:arm/tcp",
        "0.1.0+build.7",
        "écran",
        "テーブル",
        "#1 & <2>",
    ];

    /// Names that leave a line, a string, a comment or a terminal's plain text. The first was seen: an action's name that
    /// became code.
    const NOT_NAMES: [&str; 20] = [
        "force\n        pass\nimport os; os.system('id')\n#",
        "a\rb",
        "a\u{1b}]0;x\u{7}",
        "a\u{2028}b",
        "a\u{85}b",
        "say \"hello\"",
        "it's",
        "`id`",
        "C:\\x",
        "a\u{202e}b",
        "a\u{61c}b",
        "a\u{200b}b",
        "a\u{2060}b",
        "a\u{2064}b",
        "a\u{ad}b",
        "a\u{a0}b",
        " a",
        "a\tb",
        "a\u{e0041}b",
        "a\u{3164}b",
    ];

    fn checked(text: &str) -> Result<(), (String, String)> {
        check(&toml::from_str(text).unwrap())
    }

    #[test]
    fn names_of_published_scenarios_are_names() {
        for text in NAMES {
            name(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        }
    }

    #[test]
    fn a_text_that_could_leave_its_line_or_string_is_no_name() {
        for text in NOT_NAMES {
            assert!(name(text).is_err(), "{text:?}");
            let quoted = Value::from(text).to_string();
            for place in ["unit = ", "[[control.action]]\nname = ", "[camera]\nname = ", "tags = [\"a\", "] {
                let end = if place.starts_with("tags") { "]" } else { "" };
                let (_, problem) = checked(&format!("{place}{quoted}{end}\n")).unwrap_err();
                assert!(problem.chars().all(|c| c.escape_debug().count() == 1 || c == '"' || c == '\'' || c == '\\'));
            }
            let mut table = Table::new();
            table.insert(text.to_owned(), Value::from(1));
            assert!(check(&table).is_err(), "as a key: {text:?}");
        }
        assert!(name(&"x".repeat(MAX_NAME_BYTES + 1)).is_err());
        let (key, problem) =
            checked("[[control.action]]\nname = \"a\"\n[[control.action]]\nname = \"b\\n\"").unwrap_err();
        assert_eq!((key.as_str(), problem.contains("U+000A")), ("control.action[1].name", true), "{problem}");
    }

    #[test]
    fn prose_may_have_lines_and_quotes_and_no_control_characters() {
        let good = "name = \"Carry a bowl, it's \\\"full\\\"\"\ndescription = \"\"\"\nTwo\r\nlines, नमस्ते\n\"\"\"\n\
                    [[clause]]\ntitle = 'At rest, \"still\"'\nformula = \"\"\"\nalways (x <= limit)\n\"\"\"\n";
        checked(good).unwrap();
        for bad in [
            "name = \"two\\nlines\"",
            "description = \"a\\u001b[31m\"",
            "instruction = \"a\\u202Eb\"",
            "[[clause]]\nstandard = \"a\\u0007\"",
            "[[clause]]\nformula = \"x >= 0\\u0000\"",
            "sources = [\"a\\u001b\"]",
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
