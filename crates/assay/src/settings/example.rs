//! The commented example file with all settings and their defaults.

use std::fmt::Write;

use super::keys::{SettingKey, SettingKind, headings};

/// Maximum length of a comment line.
const WIDTH: usize = 100;

const HEAD: &str = "\
# Settings of `assay serve`, with their defaults. Copy the settings that you change to assay.toml in the folder where
# the server is started, or give another file with --config FILE or ASSAY_CONFIG.
#
# Environment variables (named in parentheses) override this file, and flags override both. Some settings have a flag of
# their own; --set PATH=VALUE sets any setting, as in --set limits.rate.get_per_minute=600.
# `assay serve --check` prints the effective settings and their sources.
";

/// Returns the content of the file.
pub(crate) fn example() -> String {
    let mut text = HEAD.to_owned();
    for heading in headings() {
        text.push('\n');
        comment(&mut text, &heading.about);
        // Writing to a string can't fail.
        let _ = writeln!(text, "[{}]", heading.path);
        for key in &heading.keys {
            setting(&mut text, key);
        }
    }
    text
}

fn setting(text: &mut String, key: &SettingKey) {
    comment(text, &format!("{} ({})", key.about, key.variable()));
    let name = key.path.rsplit('.').next().unwrap_or_default();
    let _ = match (&key.default, &key.example, &key.kind) {
        (Some(value), ..) => writeln!(text, "{name} = {value}"),
        (None, Some(example), _) => writeln!(text, "# {name} = {example}"),
        (None, None, SettingKind::OneOf(words)) => writeln!(text, "# {name} = \"{}\"", words[0]),
        (None, None, _) => writeln!(text, "# {name} = \"...\""),
    };
}

fn comment(text: &mut String, words: &str) {
    let mut line = "#".to_owned();
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = "#".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}
