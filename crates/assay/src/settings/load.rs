//! Loading of the settings from their sources.

use assay_model::plain_complaint;

use super::layers::{EffectiveSetting, Layers, Origin};
use super::{SettingSources, Settings, keys};

/// The effective settings, and the origin of each.
#[derive(Debug)]
pub(crate) struct Effective {
    pub(crate) settings: Settings,
    /// Warnings, such as about unknown environment variables.
    pub(crate) warnings: Vec<String>,
    pub(super) entries: Vec<EffectiveSetting>,
}

/// Invalid settings: all problems, one line each.
#[derive(Debug)]
pub(crate) struct InvalidSettings(Vec<String>);

impl std::error::Error for InvalidSettings {}

impl std::fmt::Display for InvalidSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the settings are invalid:")?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl Effective {
    /// Loads the settings from `sources`. The error lists all problems.
    pub(crate) fn load(sources: &SettingSources) -> Result<Self, InvalidSettings> {
        let layers = Layers::of(keys::all(), sources);
        if !layers.problems.is_empty() {
            return Err(InvalidSettings(layers.problems));
        }
        let settings = deserialize(&layers).map_err(|problem| InvalidSettings(vec![problem]))?;
        Ok(Self { settings, warnings: layers.warnings, entries: layers.entries })
    }
}

/// Deserializes and validates the settings.
fn deserialize(layers: &Layers) -> Result<Settings, String> {
    let table = toml::Value::Table(layers.table_of_values());
    let settings: Settings = serde_path_to_error::deserialize(table).map_err(|error| {
        let path = error.path().to_string();
        let is_secret = layers.entries.iter().any(|entry| entry.key.path == path && entry.key.secret);
        // The complaint may repeat the value.
        let complaint = if is_secret { "can't be read".to_owned() } else { plain_complaint(error.inner().message()) };
        describe(layers, &path, &complaint)
    })?;
    settings.validate().map_err(|bad| {
        let allowed = format!("must be {}", bad.allowed);
        describe(layers, &bad.key, &allowed)
    })?;
    Ok(settings)
}

/// Describes a problem with its setting, the value, and the origin.
fn describe(layers: &Layers, path: &str, wrong: &str) -> String {
    // The path of a list item ends with its index.
    let entry =
        layers.entries.iter().find(|entry| path == entry.key.path || path.starts_with(&format!("{}[", entry.key.path)));
    let Some(entry) = entry else { return format!("{path}: {wrong}") };
    let value = entry.shown();
    match &entry.origin {
        Origin::Default => format!("{path} = {value}: {wrong}"),
        origin => format!("{origin}: {path} = {value}: {wrong}"),
    }
}
