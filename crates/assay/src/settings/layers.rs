//! Layering of setting values: defaults, then the file, then the environment, then flags.

use std::collections::BTreeSet;
use std::fmt;

use toml::Value;

use super::keys::{SettingKey, SettingKind};
use super::sources::SettingSources;

/// Environment variables that are not settings of the service.
const OTHER_VARIABLES: [&str; 14] = [
    "ASSAY_CONFIG",
    "ASSAY_HOME",
    "ASSAY_LOG",
    "ASSAY_BOOTSTRAP_KEY",
    "ASSAY_SIGNING_KEYS",
    "ASSAY_POLICY_API_KEY",
    // Of commands that talk to a service.
    "ASSAY_KEY",
    "ASSAY_URL",
    // Of the Python package.
    "ASSAY_PROGRAM",
    "ASSAY_LAUNCHER",
    "ASSAY_SEAL_FD",
    // Without effect since 0.1.0, and still set in existing installations.
    "ASSAY_PYTHON_RUNTIME",
    "ASSAY_RUNTIMES",
    "ASSAY_MEMORY_DIR",
];
/// Minimum similarity of a name that is suggested instead of an unknown one.
const MIN_SIMILARITY: f64 = 0.85;

/// The origin of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    /// The file's path.
    File(String),
    /// The variable's name.
    Variable(String),
    /// The flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(name) | Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A setting with its effective value.
#[derive(Clone)]
pub(super) struct EffectiveSetting {
    pub(super) key: SettingKey,
    pub(super) value: Option<Value>,
    pub(super) origin: Origin,
}

impl EffectiveSetting {
    /// Returns a printable form of the value.
    pub(super) fn shown(&self) -> String {
        self.value.as_ref().map_or_else(|| "(not set)".to_owned(), |value| self.key.shown(value))
    }
}

impl fmt::Debug for EffectiveSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({})", self.key.path, self.shown(), self.origin)
    }
}

/// All settings, with the problems and warnings found.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) entries: Vec<EffectiveSetting>,
    pub(super) problems: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl Layers {
    /// Applies all sources to the defaults.
    pub(super) fn of(keys: Vec<SettingKey>, sources: &SettingSources) -> Self {
        let entry = |key: SettingKey| EffectiveSetting { value: key.default.clone(), key, origin: Origin::Default };
        let entries = keys.into_iter().map(entry).collect();
        let mut layers = Self { entries, problems: Vec::new(), warnings: Vec::new() };
        if let Some((path, text)) = &sources.file {
            layers.file(&path.display().to_string(), text);
        }
        for (name, value) in &sources.variables {
            layers.variable(name, value);
        }
        for (flag, path, value) in &sources.flags {
            let parsed = layers.kind(path).map_or(Value::String(value.clone()), |kind| kind.parse(value));
            layers.set(path, parsed, Origin::Flag(flag.clone()));
        }
        layers
    }

    fn file(&mut self, name: &str, text: &str) {
        match text.parse::<toml::Table>() {
            Ok(table) => self.table("", &table, name),
            // The error's own text quotes the line, which may contain a secret.
            Err(error) => {
                let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
                let place = line.map_or_else(|| name.to_owned(), |line| format!("{name}, line {line}"));
                self.problems.push(format!("{place}: {}", error.message()));
            }
        }
    }

    fn table(&mut self, path: &str, table: &toml::Table, file: &str) {
        for (name, value) in table {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match value {
                Value::Table(table) if self.kind(&inner).is_none() && self.is_section(&inner) => {
                    self.table(&inner, table, file);
                }
                _ => self.set(&inner, value.clone(), Origin::File(file.to_owned())),
            }
        }
    }

    /// Applies an environment variable. An unknown name is an error if it begins with the name of a section, and a
    /// warning otherwise: an orchestrator sets `ASSAY_PORT` for a service that is called assay.
    fn variable(&mut self, name: &str, text: &str) {
        if OTHER_VARIABLES.contains(&name) {
            return;
        }
        let key = self.entries.iter().map(|entry| &entry.key).find(|key| key.variable() == name);
        if let Some((path, value)) = key.map(|key| (key.path.clone(), key.kind.parse(text))) {
            return self.set(&path, value, Origin::Variable(name.to_owned()));
        }
        let sections = self.entries.iter().filter_map(|entry| entry.key.path.split_once('.'));
        let of_section = |section: &str| name.starts_with(&format!("ASSAY_{}_", section.to_ascii_uppercase()));
        let is_of_section =
            sections.map(|(section, _)| section).any(|section| section != "server" && of_section(section));
        let variables: Vec<_> = self.entries.iter().map(|entry| entry.key.variable()).collect();
        let message = format!("{name} in the environment is not a setting{}", suggestion(name, variables.iter()));
        if is_of_section { self.problems.push(message) } else { self.warnings.push(message) }
    }

    fn set(&mut self, path: &str, value: Value, origin: Origin) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.key.path == path) else {
            let problem = self.unknown(path, &value);
            self.problems.push(format!("{origin}: {problem}"));
            return;
        };
        if entry.key.kind.fits(&value) {
            (entry.value, entry.origin) = (Some(value), origin);
        } else {
            let (shown, allowed) = (entry.key.shown(&value), entry.key.kind.allowed());
            self.problems.push(format!("{origin}: {path} = {shown}: must be {allowed}"));
        }
    }

    /// Describes a setting, or a section with settings, that does not exist.
    fn unknown(&self, path: &str, value: &Value) -> String {
        let (mut path, mut value) = (path.to_owned(), value);
        // `[limit.rate]` is a table in a table: the whole name is what was written.
        while let Value::Table(table) = value
            && let Some((name, inner)) = table.iter().next()
            && table.len() == 1
            && inner.is_table()
        {
            path = format!("{path}.{name}");
            value = inner;
        }
        if !value.is_table() {
            let advice = suggestion(&path, self.entries.iter().map(|entry| &entry.key.path));
            return format!("there is no setting {path}{advice}");
        }
        let sections: BTreeSet<String> =
            self.entries.iter().filter_map(|entry| Some(entry.key.path.rsplit_once('.')?.0.to_owned())).collect();
        let roots: BTreeSet<String> =
            sections.iter().filter_map(|section| Some(section.split('.').next()?.to_owned())).collect();
        let advice = suggestion(&path, sections.union(&roots));
        format!("there is no section {path}{advice}")
    }

    fn kind(&self, path: &str) -> Option<SettingKind> {
        self.entries.iter().find(|entry| entry.key.path == path).map(|entry| entry.key.kind.clone())
    }

    fn is_section(&self, path: &str) -> bool {
        let start = format!("{path}.");
        self.entries.iter().any(|entry| entry.key.path.starts_with(&start))
    }

    /// Returns the values as a settings file would contain them.
    pub(super) fn table_of_values(&self) -> toml::Table {
        let mut whole = toml::Table::new();
        for entry in &self.entries {
            let Some(value) = &entry.value else { continue };
            let names: Vec<_> = entry.key.path.split('.').collect();
            insert(&mut whole, &names, value);
        }
        whole
    }
}

/// Inserts `value` at the path `names`.
fn insert(table: &mut toml::Table, names: &[&str], value: &Value) {
    match names {
        [] => {}
        [name] => drop(table.insert((*name).to_owned(), value.clone())),
        [section, rest @ ..] => {
            let inner = table.entry(*section).or_insert_with(|| Value::Table(toml::Table::new()));
            if let Value::Table(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// Returns a suggestion of the most similar name, or an empty text.
fn suggestion<'a>(wrong: &str, known: impl Iterator<Item = &'a String>) -> String {
    let scored = known.map(|name| (strsim::jaro_winkler(wrong, name), name));
    let best = scored.filter(|(score, _)| *score >= MIN_SIMILARITY).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"))
}
