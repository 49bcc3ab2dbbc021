//! The effective settings as a table and as JSON. Secrets are never shown.

use assay_report::terminal::Layout;
use serde_json::{Map, Value, json};

use super::layers::{EffectiveSetting, Origin};
use super::load::Effective;

impl Effective {
    /// Returns a table with a row per setting: path, value, origin.
    pub(crate) fn table(&self, screen: Layout) -> String {
        let row = |entry: &EffectiveSetting| vec![entry.key.path.clone(), entry.shown(), entry.origin.to_string()];
        let rows: Vec<_> = self.entries.iter().map(row).collect();
        screen.table(&["setting", "value", "from"], &rows, 0)
    }

    /// Returns an object with an entry per setting, by path: `value`, `origin` (`default`, `file`, `environment`,
    /// `flag`), and the `name` of the origin.
    pub(crate) fn json(&self) -> Value {
        let object = |entry: &EffectiveSetting| {
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
