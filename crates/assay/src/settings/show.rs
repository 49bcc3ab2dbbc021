//! The settings that count, for people and for programs. Secrets are never shown.

use serde_json::{Map, Value, json};

use super::layers::{Entry, Origin};
use super::load::Effective;

impl Effective {
    /// A line a setting: path, value, origin.
    pub(crate) fn lines(&self) -> String {
        let widest = self.entries.iter().map(|entry| entry.key.path.len()).max().unwrap_or_default();
        let values: Vec<_> = self.entries.iter().map(Entry::shown).collect();
        let wide = values.iter().map(String::len).filter(|n| *n <= 40).max().unwrap_or_default();
        let line = |(entry, value): (&Entry, &String)| {
            format!("{:widest$}  {value:wide$}  {}\n", entry.key.path, entry.origin)
        };
        self.entries.iter().zip(&values).map(line).collect()
    }

    /// An object a setting, by path: `value` and `origin` (`default`, `file`, `environment`, `flag`) with its `name`.
    pub(crate) fn json(&self) -> Value {
        let object = |entry: &Entry| {
            let value = match &entry.value {
                Some(_) if entry.key.secret => json!("[secret]"),
                value => json!(value),
            };
            let (origin, name) = match &entry.origin {
                Origin::Default => ("default", None),
                Origin::File(name) => ("file", Some(name)),
                Origin::Variable(name) => ("environment", Some(name)),
                Origin::Flag(name) => ("flag", Some(name)),
            };
            (entry.key.path.clone(), json!({ "value": value, "origin": origin, "name": name }))
        };
        let settings: Map<_, _> = self.entries.iter().map(object).collect();
        json!({ "settings": settings, "warnings": self.warnings })
    }
}
