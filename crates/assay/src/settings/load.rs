//! From sources to settings.

use assay_model::plain_complaint;

use super::layers::{EffectiveSetting, Layers, Origin};
use super::{SettingSources, Settings, keys};

/// The settings that count, and where each of them comes from.
#[derive(Debug)]
pub(crate) struct Effective {
    pub(crate) settings: Settings,
    /// Warnings about unusual settings.
    pub(crate) warnings: Vec<String>,
    pub(super) entries: Vec<EffectiveSetting>,
}

/// Settings that can't be: all that is wrong, a line each.
#[derive(Debug)]
pub(crate) struct Refused(Vec<String>);

impl std::error::Error for Refused {}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the settings can't be used:")?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl Effective {
    /// Understands `sources`, or says everything that is wrong with them.
    pub(crate) fn load(sources: &SettingSources) -> Result<Self, Refused> {
        let layers = Layers::of(keys::all(), sources);
        if !layers.problems.is_empty() {
            return Err(Refused(layers.problems));
        }
        let settings = understand(&layers).map_err(|problem| Refused(vec![problem]))?;
        Ok(Self { settings, warnings: layers.warnings, entries: layers.entries })
    }
}

fn understand(layers: &Layers) -> Result<Settings, String> {
    let table = toml::Value::Table(layers.table_of_values());
    let settings: Settings = serde_path_to_error::deserialize(table).map_err(|error| {
        let path = error.path().to_string();
        told(layers, &path, &plain_complaint(error.inner().message()))
    })?;
    settings.validate().map_err(|bad| {
        let allowed = format!("must be {}", bad.allowed);
        told(layers, &bad.key, &allowed)
    })?;
    Ok(settings)
}

/// Says who set what to what, and what is wrong with it.
fn told(layers: &Layers, path: &str, wrong: &str) -> String {
    // A list's item is named by its number.
    let entry =
        layers.entries.iter().find(|entry| path == entry.key.path || path.starts_with(&format!("{}[", entry.key.path)));
    let Some(entry) = entry else { return format!("{path}: {wrong}") };
    let value = entry.shown();
    let secret = entry.key.secret && entry.value.is_some();
    let wrong = if secret { "can't be read" } else { wrong };
    match &entry.origin {
        Origin::Default => format!("{path} = {value}: {wrong}"),
        origin => format!("{origin}: {path} = {value}: {wrong}"),
    }
}
